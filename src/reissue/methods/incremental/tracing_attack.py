"""The record-tracing attack: follow rows by value and box from release to release (Byun et al., section 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import ClassVar

import numpy as np

from reissue.arrays.sets import union
from reissue.arrays.types import NO_NUMBERS, Int64
from reissue.methods.attack import (
    Attack,
    Finding,
    Outcome,
    WorkDivision,
    count_people,
    count_rows,
    merge_steps,
    name_subjects,
)
from reissue.methods.incremental.sides import QuietParts, Side, is_short, list_side_pairs, prepare_sides
from reissue.methods.incremental.tracing import Traces, traces
from reissue.methods.incremental.tracing_filter import Laid
from reissue.methods.incremental.tracing_graph import BACKWARD, FORCED
from reissue.model.observed import Observed
from reissue.model.settings import PeopleCount

MOST_BOXES = 3
"""Places of a row that a sentence spells out."""


@dataclass(frozen=True, kw_only=True)
class RecordTracing(Attack):
    """Find rows whose possible places in another release leave fewer than k people they can belong to.

    k: how many people of the older release must fit the boxes that a row can be in
    """

    k: PeopleCount = 2

    name: ClassVar[str] = "record-tracing"
    assumes: ClassVar[str] = (
        "The attacker knows who is in which release with which quasi-identifiers, and that rows stay with their value."
    )
    divisions: ClassVar[Mapping[WorkDivision, str]] = {
        WorkDivision.STEPS: "rows are followed from one release to one other, wherever boxes meet"
    }
    adds: ClassVar[Mapping[str, str]] = {"fewest_people": "min", "rows_traced": "sum"}

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        """Every pair of an older and a newer release; exact, by flows (see reissue.methods.incremental.tracing)."""
        short = is_short(series, involving)
        nobody = {} if short else {release.number: NO_NUMBERS for release in series.releases[:-1]}
        nothing = Outcome(self.name, (), 0, nobody, {"fewest_people": float(self.k), "rows_traced": 0.0})
        pairs = list_side_pairs(series, involving) if short else self._list_open_pairs(series)
        return merge_steps(self, [nothing, *starmap(partial(self._pair, series), pairs)])

    def _list_open_pairs(self, series: Observed) -> Iterator[tuple[Side, Side]]:
        """The pairs of releases in which something may be traced: the others share nobody, or only even parts."""
        parts = QuietParts.of(prepare_sides(series, None))
        kept = [even < self.k if parts.lasting else np.ones(len(even), np.bool_) for even in parts.even]
        meeting = parts.find_meeting(kept, whole=False)
        for newer, older in np.argwhere(np.tril(meeting, -1)).tolist():  # in the order in which releases came
            yield parts.sides[older], parts.sides[newer]

    def _pair(self, series: Observed, older: Side, newer: Side) -> Outcome:
        laid = self._lay(older, newer)
        if laid.quiet:
            nothing = {"fewest_people": float(self.k), "rows_traced": 0.0}
            return Outcome(self.name, (), 0, {older.number: NO_NUMBERS}, nothing)
        found = traces(laid, (older.release.boxes, newer.release.boxes), older.people)
        once, fit = _find_first(found), found.fit
        between = f"from {series.words.release(older.number)} to {series.words.release(newer.number)}"
        lost = () if found.complete else (f"Values have changed {between}: rows cannot be traced there.",)
        worst = once[np.lexsort((found.kind[once], fit[once]))][: self.limit]
        return Outcome(
            attack=self.name,
            findings=tuple(self._finding(series, older, newer, found, int(i)) for i in worst),
            total=len(once),
            at_risk={older.number: union(older.members.subjects[found.people])},
            measures={
                "fewest_people": float(fit.min(initial=self.k)),
                "rows_traced": float(found.rows[once].sum()),
            },
            notes=lost,
        )

    def _lay(self, older: Side, newer: Side) -> Laid:
        one, other = (older.release.boxes, older.groups), (newer.release.boxes, newer.groups)
        members = older.codes, older.members.classes, older.members.values
        return Laid.of(one, other, older.overlap_with(newer), members, older.value_count, self.k)

    def _finding(self, series: Observed, older: Side, newer: Side, found: Traces, i: int) -> Finding:
        words, kind, value = series.words, int(found.kind[i]), series.words.value(int(found.value[i]))
        who = name_subjects(words, older.members.subjects[found.people_of(i)])
        one, other = words.release(older.number), words.release(newer.number)
        count, fit = int(found.rows[i]), len(found.people_of(i))
        classes = [(older.number, int(found.left[i])), (newer.number, int(found.right[i]))]
        old, new = f"class {classes[0][1]} of {one}", f"class {classes[1][1]} of {other}"
        if kind == FORCED:
            what = f"{count_rows(count)} with {value} in {old} must be in {new}"
        elif kind == BACKWARD:
            what = f"{count_rows(count)} with {value} in {new} must come from {one}"
        else:
            what = f"{count_rows(count)} with {value} in {old} can be only in some classes of {other}"
        called = "nobody" if fit == 0 else f"only {count_people(fit)} ({', '.join(who)})"
        boxes = [words.box(box) for box in np.unique(found.boxes_of(i), axis=0)]
        where = " or ".join(boxes) if len(boxes) <= MOST_BOXES else f"one of these {len(boxes)} boxes"
        fits = f"{called} of {one} fit{'' if fit > 1 else 's'} {'there' if 'everyone' in boxes else where}"
        return Finding(
            attack=self.name,
            releases=(older.number, newer.number),
            subjects=who,
            classes=tuple(pair for pair in classes if pair[1] >= 0),
            value=value,
            level=float(fit),
            unit="people",
            threshold=float(self.k),
            sentence=f"{what}: {fits}, fewer than k = {self.k}.",
            details={"rows": count, "traced": ("forward", "forced", "backward")[kind]},
            rank=(fit, older.number, newer.number, kind, i),
        )


def _find_first(found: Traces) -> Int64:
    """int64[]: rows of one value traced to the same people are one finding; the way that names both classes is kept."""
    if not len(found):
        return NO_NUMBERS
    key = np.full((len(found), 1 + int(found.fit.max(initial=0))), -1, dtype=np.int64)
    key[:, 0] = found.value
    for i in range(len(found)):
        key[i, 1 : 1 + found.fit[i]] = found.people_of(i)
    order = np.lexsort((found.kind, found.kind != FORCED))
    return np.sort(order[np.unique(key[order], axis=0, return_index=True)[1]])
