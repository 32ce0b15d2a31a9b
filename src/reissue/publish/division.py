"""The division of a series into fragments, chosen at its first release and never changed; and what each says of itself.

What fragments say is small enough to travel; here it becomes what is told of the release as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.coding import Coding
from reissue.errors import SettingsError
from reissue.history.public_files import Extent
from reissue.ledger import Document, Ledger, ReleaseRecord
from reissue.methods.registry import ADOPTED, find_strategy
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.fragments import Fragments, divide_by_identifier, find_owners
from reissue.model.release import Facts, Style
from reissue.model.requirement import Requirement
from reissue.publish.changes import ForbiddenChange, PermittedRows, SnapshotTraits, describe_renewal, measure_traits
from reissue.publish.fragment import FragmentRelease, SnapshotRows
from reissue.publish.self_check import CommonCheck, EarlierLoss
from reissue.utility.measure import Utility, measure

ROWS = 2_000_000
"""Rows of a fragment, where the series does not say how many fragments it wants."""

ROOM = 0.95
"""Fragments are cut so that each needs only this part of what the policy allows."""


@dataclass(frozen=True, eq=False)
class TableDivision:
    """Which fragment every row belongs to.

    tree:   for new subjects; None if the table is not divided
    starts: int64[releases * fragments] the first number of each fragment's new subjects, release after release: for
            those who are known
    """

    tree: Fragments | None
    starts: Int64

    @property
    def count(self) -> int:
        return 1 if self.tree is None else self.tree.count

    @staticmethod
    def read(ledger: Ledger, strategy: Strategy, coding: Coding) -> TableDivision | None:
        """The division of a series in today's codes; None before its first release."""
        _refuse_after_standing(strategy, ledger.releases)
        kept = ledger.fragments
        if kept is None:
            return TableDivision(None, np.zeros(0, dtype=np.int64)) if ledger.releases else None
        tree = Fragments.from_dict(cast("Mapping[str, Sequence[int]]", kept["tree"]))
        _refuse_strangers(strategy, tree.count, ledger.releases)
        version = int(str(kept["coding_version"]))
        if version != coding.version:
            tree = tree.recoded(_recode(coding, Coding.from_dict(ledger.coding(version))))
        starts = [cast("list[int]", record.counts["fragments"]) for record in ledger.releases]
        return TableDivision(tree, np.array(starts, dtype=np.int64).reshape(-1))

    @staticmethod
    def new(
        ledger: Ledger, strategy: Strategy, rows: int, cuts: Callable[[int, Requirement], Fragments]
    ) -> TableDivision:
        """The division that a first release of so many rows makes.

        cuts: makes that many fragments of a sample, each of which as one class is to satisfy the requirement
        """
        count = int(str(ledger.meta.get("fragments", 1))) or (1 if strategy.undivided else max(1, -(-rows // ROWS)))
        strategy.refuse_fragments(count)
        if count == 1:
            tree = None
        elif strategy.plans_for_all:
            tree = divide_by_identifier(count)  # where classes are common, any rows will do
        else:
            tree = cuts(count, strategy.side_of_a_cut(ROOM))
        return TableDivision(tree, np.zeros(0, dtype=np.int64))

    def of(self, rows: SnapshotRows) -> Int32:
        """int32[rows]: the fragment of each; known subjects stay where they are, whatever their codes are now."""
        if self.tree is None:
            return np.zeros(len(rows), dtype=np.int32)
        found = self.tree.of(rows.codes, rows.identifiers.hashes)
        known = rows.numbers >= 0
        found[known] = find_owners(self.starts, self.count, rows.numbers[known])
        return found

    def parts(self, rows: SnapshotRows) -> list[SnapshotRows]:
        """The rows of each fragment, in the order of the source."""
        if self.tree is None:
            return [rows]
        home = self.of(rows)
        # by counting, as NumPy does it for short numbers
        order = np.argsort(home.astype(np.min_scalar_type(self.count)), kind="stable")
        ends = np.cumsum(np.bincount(home, minlength=self.count))[:-1]
        return [rows.part(places) for places in np.split(order, ends)]

    def document(self, coding_version: int) -> Document:
        """What the ledger keeps of it."""
        assert self.tree is not None
        return {"coding_version": coding_version, "tree": self.tree.to_dict()}


def _refuse_after_standing(strategy: Strategy, releases: Sequence[ReleaseRecord]) -> None:
    """Raise SettingsError if classes that stand for life would be left: others would take dealt values for true."""
    standing = [record for record in releases if record.strategy != ADOPTED and find_strategy(record.strategy).stands]
    if standing and not strategy.stands:
        first = standing[0]
        raise SettingsError(
            f"Release {first.name} was made by '{first.strategy}': its classes stand for life, its rows show dealt "
            f"values, so '{strategy.name}' cannot build on it. Go on with '{first.strategy}', or begin a new series."
        )


def _refuse_strangers(strategy: Strategy, count: int, releases: Sequence[ReleaseRecord]) -> None:
    """Raise SettingsError if the strategy would need more of earlier releases than their fragments kept."""
    if count == 1:
        return
    strategy.refuse_fragments(count)
    apart = [record for record in releases if record.common_classes != strategy.plans_for_all]
    if apart:
        with_common, without = "makes one plan for all fragments", "makes every fragment by itself"
        one, other = (with_common, without) if apart[0].common_classes else (without, with_common)
        raise SettingsError(
            f"Release {apart[0].name} was made by '{apart[0].strategy}', which {one}; '{strategy.name}' {other}, and "
            f"cannot follow it in a series of {count} fragments. Begin a new series, or go on with a strategy like it."
        )
    follows = strategy.follows
    others = [record for record in releases if follows is not None and record.strategy not in follows]
    if others:
        raise SettingsError(
            f"Release {others[0].name} was made by '{others[0].strategy}'. In a series of {count} fragments "
            f"'{strategy.name}' can only follow {' and '.join(follows or ())}: others do not keep what it would need "
            "to know of all fragments. Begin a new series, or go on with another strategy."
        )


def _recode(now: Coding, then: Coding) -> Callable[[Int32], Int32]:
    """Codes of an earlier coding in those of today."""
    attributes = len(now.domains)

    def recode(codes: Int32) -> Int32:
        wide = np.zeros((len(codes), attributes), dtype=np.int32)
        wide[:, : codes.shape[1]] = codes
        return now.remap(then, np.empty((0, attributes, 2), dtype=np.int32), wide)[1]

    return recode


@dataclass(frozen=True, eq=False)
class FragmentChanges:
    """One fragment's rows compared with its past, and what cannot be protected.

    counts: rows, and how many subjects are new, gone, back, changed, renewed
    low, high: int32[attributes] the smallest and the largest code that occurs; None in a fragment without rows
    traits: what gates ask about the rows beside that
    """

    counts: Mapping[str, int]
    problems: tuple[ForbiddenChange, ...]
    low: Int32 | None
    high: Int32 | None
    traits: SnapshotTraits

    @property
    def new(self) -> int:
        return self.counts["new"]

    @staticmethod
    def of(permitted: PermittedRows, rows: SnapshotRows, coding: Coding) -> FragmentChanges:
        compared = permitted.compared
        counts = {
            "rows": len(rows),
            "new": int((compared.numbers < 0).sum()),
            "gone": len(compared.gone),
            "back": int(compared.back.sum()),
            "changed": int((compared.updated | compared.moved.any(axis=1)).sum()),
            "renewed": permitted.renewed,
        }
        return FragmentChanges(
            counts=counts,
            problems=permitted.problems,
            low=rows.codes.min(axis=0) if len(rows) else None,
            high=rows.codes.max(axis=0) if len(rows) else None,
            traits=measure_traits(rows.identifiers.hashes, rows.codes, rows.values, compared, coding),
        )


@dataclass(frozen=True, eq=False)
class FragmentSummary:
    """One fragment of the release, in numbers and sentences. values: int64[values] how often each is published.

    totals: int64[values] what it adds to published totals; None if there are none
    left_out: by value, how many rows are suppressed
    shared: by box that other fragments show, too, int64[values] how many rows show each value
    """

    tally: Mapping[str, int]
    steps: tuple[str, ...]
    stopped: tuple[str, ...]
    utility: Utility
    extent: Extent
    style: Style
    values: Int64
    totals: Int64 | None = None
    left_out: Mapping[int, int] = field(default_factory=dict)
    lost: EarlierLoss | None = None
    shared: Mapping[tuple[int, ...], Int64] = field(default_factory=dict)

    @staticmethod
    def of(made: FragmentRelease, observed: Sequence[Domain]) -> FragmentSummary:
        tally = {
            "snapshot": len(made.candidate.classes),
            "published": len(made.facts.subjects),
            "classes": made.facts.class_count,
            "suppressed": int((made.candidate.classes < 0).sum()),
            "counterfeits": len(made.candidate.counterfeits),
        }
        utility = measure(made.facts, made.coded, observed)
        extent, style = Extent.of(made.facts), made.facts.style
        kept = made.facts.standing
        if kept is not None:
            tally |= {"blended": kept.blended, "lost_before": 0 if made.lost is None else made.lost.people}
        shared = _count_shared(made.facts, made.coded.value_count)
        tally["classes"] -= len(shared)
        totals = None if kept is None else kept.totals
        absent = made.coded.values[made.candidate.classes < 0]
        left_out = {int(code): int(rows) for code, rows in zip(*np.unique(absent, return_counts=True), strict=True)}
        return FragmentSummary(
            tally, made.steps, made.stopped, utility, extent, style, made.values, totals, left_out, made.lost, shared
        )


def _count_shared(facts: Facts, values: int) -> dict[tuple[int, ...], Int64]:
    """By box that other fragments show, too: how many rows show each value, counted from the finished release."""
    kept = facts.standing
    if kept is None or kept.shared is None:
        return {}
    return {
        tuple(facts.boxes[box].reshape(-1).tolist()): np.bincount(kept.dealt[facts.classes == box], minlength=values)
        for box in np.flatnonzero(kept.shared)
    }


def sum_shared(results: Sequence[FragmentSummary]) -> dict[tuple[int, ...], Int64]:
    """The same of all fragments together."""
    found: dict[tuple[int, ...], Int64] = {}
    for one in results:
        for box, rows in one.shared.items():
            found[box] = found.get(box, np.zeros_like(rows)) + rows
    return found


def sum_tallies(results: Sequence[FragmentSummary]) -> dict[str, int]:
    """The tallies of all fragments, a box that several show counted once."""
    found = {key: sum(one.tally[key] for one in results) for key in results[0].tally}
    return {**found, "classes": found["classes"] + len(sum_shared(results))}


def sum_extents(results: Sequence[FragmentSummary]) -> Extent:
    """How large the release is, a box that several fragments show counted once."""
    boxes = np.array([rows.sum() for rows in sum_shared(results).values()], dtype=np.int64)
    together = replace(Extent.of_sizes(boxes), rows=0)
    return Extent.sum([*(one.extent for one in results), *([together] if results[0].style == "flat" else [])])


def number_new_subjects(next_subject: int, surveys: Sequence[FragmentChanges]) -> list[int]:
    """The number of each fragment's first new subject: fragment after fragment."""
    new = np.cumsum([0, *(survey.new for survey in surveys)])[:-1]
    return [next_subject + int(before) for before in new]


def narrow_domains(surveys: Sequence[FragmentChanges], coding: Coding) -> tuple[Domain, ...]:
    """The domains narrowed to the codes that occur in the snapshot."""
    lows = [survey.low for survey in surveys if survey.low is not None]
    highs = [survey.high for survey in surveys if survey.high is not None]
    if not lows:
        return coding.domains
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    return tuple(replace(d, lo=int(low[a]), hi=int(high[a])) for a, d in enumerate(coding.domains))


def describe_cost(cost: Utility) -> dict[str, float]:
    """What the release cost, by measure, for the log."""
    return {
        "ail": cost.ail,
        "gcp": cost.gcp_share,
        "discernibility": cost.discernibility_share,
        "class_size": cost.class_size,
    }


def describe_steps(
    strategy: Strategy,
    surveys: Sequence[FragmentChanges],
    results: Sequence[FragmentSummary],
    check: CommonCheck | None,
) -> list[str]:
    """`release.steps`: what was done, in plain sentences. check: where classes are common to all fragments."""
    rows, new, gone, back, changed, renewed = (
        sum(survey.counts[name] for survey in surveys) for name in ("rows", "new", "gone", "back", "changed", "renewed")
    )
    steps = [
        f"Read {rows:,} rows: {new:,} new subjects, {gone:,} gone, {back:,} back again, {changed:,} changed.",
        *([describe_renewal(strategy, renewed)] if renewed else []),
    ]
    if len(results) > 1:
        sizes = [survey.counts["rows"] for survey in surveys]
        how = "each anonymized by itself" if check is None else "counted by themselves and planned together"
        steps.append(
            f"Divided the rows into {len(results)} fragments of {min(sizes):,} to {max(sizes):,} rows, {how}; who is "
            "in which fragment never changes."
        )
    if len(results) == 1 or check is not None:
        steps += results[0].steps
    else:
        steps += [f"Fragment {i}: {step}" for i, one in enumerate(results, start=1) for step in one.steps]
    stopped = ", ".join(
        [name for name in results[0].stopped if all(name in one.stopped for one in results)]
        if check is None
        else check.stopped
    )
    against = f", and against the attacks it promises to stop ({stopped})" if stopped else ""
    return [*steps, f"Checked the finished release against the policy{against}."]
