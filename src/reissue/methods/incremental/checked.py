"""What the checked strategies have in common: the running history and the rows held back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.errors import InfeasiblePolicy
from reissue.methods.incremental.running_knowledge import RunningKnowledge
from reissue.methods.incremental.second_check import find_breach
from reissue.methods.strategy import INSERT_ONLY, Changes, Strategy
from reissue.model.feasible import refuse_infeasible
from reissue.model.observed import Groups, Observed
from reissue.model.release import Coded, Facts, History, Table
from reissue.model.requirement import Requirement
from reissue.model.settings import RowCount, Share, as_fraction

CHECKED = "checked"
"""In a release's extras: [k, numerator of c, denominator of c] that it was checked with."""


@dataclass(frozen=True, kw_only=True)
class CheckedStrategy(Strategy):
    """Settings and memory of a strategy that checks every step against all earlier releases.

    k:         rows at least in every class, people at least in every difference and for every traced row
    c:         the largest share one value may have in a class, in a difference and in what a person's classes share
    hold_back: if the new rows cannot stand alone (fewer than k, or one value above c), leave them out of this release;
               they count as new next time. False: refuse to publish instead
    """

    supports: ClassVar[Changes] = INSERT_ONLY
    stops: ClassVar[tuple[str, ...]] = ("intersection", "difference", "record-tracing")

    k: RowCount
    c: Share = 1.0
    hold_back: bool = True

    @property
    def requirement(self) -> Requirement:
        """What every class must satisfy."""
        return Requirement(k=self.k, c=self.c)

    @property
    def share(self) -> tuple[int, int]:
        """c as a fraction."""
        share = as_fraction(self.c)
        return share.numerator, share.denominator

    def thresholds(self) -> Mapping[str, float]:
        return {"k": float(self.k), "c": float(self.c)}

    def audit_notes(self) -> tuple[str, ...]:
        """The three checks are the paper's; exact as they are, they are made one by one."""
        return (
            f"{self.name} stops intersection, difference and record tracing one by one. Who reasons about all classes "
            "of all releases at once may still be certain of somebody: see possible-worlds, which standing stops, too.",
        )

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """Fold in one release: the cells of people who shared all classes, with their IS, IQ and chain of classes."""
        attributes = release.codes.shape[1]
        running, real = RunningKnowledge.of_tables(caches, attributes), release.real
        values = int(release.values.max(initial=0)) + 1
        groups = Groups.of(release.classes, release.values, release.class_count, values)
        running = running.after(release.number, release.subjects[real], release.classes[real], groups, release.boxes)
        checks = caches.get("checks", {"safe": np.empty(0, dtype=np.bool_)})["safe"]
        safe = bool(real.all()) and self._was_checked(release.extras)
        return {**caches, **running.tables(), "checks": {"safe": np.append(checks, safe)}}

    def second_check(self, series: Observed, seed: int) -> str | None:
        """Intersections, differences and traces by plain counting, as far as that is cheap."""
        return find_breach(series, self.k, self.c, seed)

    def _was_checked(self, extras: Table) -> bool:
        """Whether the release was checked for at least what is promised now."""
        checked = extras.get(CHECKED)
        if checked is None:
            return False
        k, top, bottom = (int(number) for number in checked)
        return k >= self.k and top * self.share[1] <= self.share[0] * bottom

    def extras(self) -> Table:
        return {CHECKED: np.array([self.k, *self.share], dtype=np.int64)}

    def new_rows(self, past: SnapshotHistory, outliers: Bool | None = None) -> tuple[Bool, str | None]:
        """(bool[rows]: which rows to publish, a sentence if new ones are held back).

        Whoever knows the whole table of the release before can take it out of this one: what is left are the new rows.
        So they must stand alone, whatever classes they are in; if they cannot, all of them wait. Leaving out only
        some would tell their values. outliers: bool[rows], new rows chosen without looking at values, which are left
        out in any case; if there are any and the other new rows cannot stand alone, InfeasiblePolicy is raised.
        """
        published = np.ones(len(past.snapshot), dtype=np.bool_) if outliers is None else ~outliers
        new = past.fresh & published
        counts = np.bincount(past.snapshot.values[new], minlength=past.snapshot.value_count).astype(np.int64)
        if not new.any():
            return published, None
        try:
            refuse_infeasible(self.requirement, counts, "new rows")
        except InfeasiblePolicy as error:
            if not self.hold_back or not len(past.running.subjects) or not published.all():
                raise
            return ~past.fresh, f"Held back all {int(past.fresh.sum()):,} new rows: {error}"
        return published, None


@dataclass(frozen=True, eq=False)
class SnapshotHistory:
    """A snapshot beside the history: what is known of each of its rows.

    cell: int64[rows], -1 for a row that was in no release
    """

    snapshot: Coded
    running: RunningKnowledge
    cell: Int64
    safe: bool

    @staticmethod
    def of(snapshot: Coded, history: History) -> SnapshotHistory:
        running = RunningKnowledge.of_tables(history.caches, len(snapshot.domains))
        at = np.searchsorted(running.subjects, snapshot.subjects)
        at[at == len(running.subjects)] = 0
        cell = np.full(len(snapshot), -1, dtype=np.int64)
        if len(running.subjects):
            known = running.subjects[at] == snapshot.subjects
            cell[known] = running.cell[at[known]]
        safe = bool(np.all(history.caches["checks"]["safe"])) if "checks" in history.caches else True
        return SnapshotHistory(snapshot, running, cell, safe)

    @property
    def whole(self) -> bool:
        """Whether history and snapshot tell all there is: checked releases without counterfeits, nobody gone."""
        return self.safe and int((self.cell >= 0).sum()) == len(self.running.subjects)

    @cached_property
    def fresh(self) -> Bool:
        """bool[rows]: rows that were in no release."""
        return np.asarray(self.cell < 0, dtype=np.bool_)

    @cached_property
    def last_class(self) -> Int32:
        """int32[rows]: the class in the last release, -1 if it was not there."""
        if self.running.chain.shape[1] == 0:
            return np.full(len(self.cell), -1, dtype=np.int32)
        return np.where(self.fresh, -1, self.running.chain[np.maximum(self.cell, 0), -1]).astype(np.int32)


def refuse_unsafe(reason: str, strategy: str) -> InfeasiblePolicy:
    """The error when even one class for everybody gives something away: the earlier releases already did."""
    return InfeasiblePolicy(
        f"No release is safe beside the earlier ones: even with one class for everybody, {reason}. The earlier "
        "releases do not keep these k and c among themselves; run an audit to see where, then lower k, raise c, or "
        f"start a new series with {strategy}."
    )


def compact_labels(classes: Int64) -> Int32:
    """Class numbers without gaps, in the order of the labels; -1 stays."""
    used = np.zeros(int(classes.max(initial=-1)) + 2, dtype=np.bool_)
    used[classes] = True  # -1 marks the last place
    place = np.cumsum(used[:-1]).astype(np.int32) - np.int32(1)
    return np.where(classes < 0, np.int32(-1), np.append(place, np.int32(-1))[classes])
