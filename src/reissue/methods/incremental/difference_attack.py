"""The difference attack: classes of one release taken out of those of another (Byun et al., section 4.3)."""

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
    PEOPLE,
    Attack,
    Finding,
    Outcome,
    WorkDivision,
    call_nobody,
    count_people,
    merge_steps,
    name_subjects,
    put_in_brackets,
)
from reissue.methods.incremental.difference import Gaps, gaps
from reissue.methods.incremental.difference_regions import Gap
from reissue.methods.incremental.sides import QuietParts, Side, is_short, list_side_pairs, prepare_sides
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.overlap import Overlap
from reissue.model.settings import PeopleCount, Share, as_fraction

SOME_SETS = (
    "Some classes exceed c by themselves. Where more than 10 classes are tied to each other, only single classes, all "
    "of them together and the sets that flows at several shares find were tested, not every set."
)


@dataclass(frozen=True, kw_only=True)
class Difference(Attack):
    """Find classes E inside classes N(E) of another release that leave fewer than k people, or one value above c.

    k, c: what the people left over must satisfy
    """

    k: PeopleCount = 2
    c: Share = 0.5

    name: ClassVar[str] = "difference"
    assumes: ClassVar[str] = "The attacker knows who is in which class of every release, and that values do not change."
    divisions: ClassVar[Mapping[WorkDivision, str]] = {
        WorkDivision.PARTS: "a smallest difference and a greatest share lie among classes that share people",
        WorkDivision.STEPS: "classes of one release are taken out of those of one other",
    }
    combines: ClassVar[Mapping[str, str]] = {
        "smallest_difference": "min",
        "highest_share": "max",
        "subjects_at_risk": "sum",
    }
    adds: ClassVar[Mapping[str, str]] = {**combines, "subjects_at_risk": PEOPLE}

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        """Every pair of releases, in both directions; exact, by flows (see reissue.methods.incremental.difference)."""
        measures = {"smallest_difference": float(self.k), "highest_share": 0.0, "subjects_at_risk": 0.0}
        short = is_short(series, involving)
        nobody = {} if short else {release.number: NO_NUMBERS for release in series.releases}
        nothing = Outcome(self.name, (), 0, nobody, measures, tallies={"partly": 0})
        pairs = starmap(partial(self._pair, series), list_side_pairs(series, involving))
        return merge_steps(self, [nothing, *(pairs if short else self._attack_open_pairs(series))])

    def _attack_open_pairs(self, series: Observed) -> Iterator[Outcome]:
        """Pairs of releases in which something may be found, without the parts in which nothing can be.

        In an even part no difference has less than k people or a value above c if there are k values and 1/c; nor a
        larger share than was found before, which is what is left to know of it.
        """
        parts, share, highest = QuietParts.of(prepare_sides(series, None)), as_fraction(self.c), -1.0
        enough = [n for n in parts.list_even() if n >= max(2, self.k) and n * share.numerator >= share.denominator]
        quiet: list[int] | None = None
        for newer in range(len(series)):
            for older in range(newer):
                if quiet is None or len(quiet) < sum(1 / n <= highest for n in enough):
                    quiet = [n for n in enough if 1 / n <= highest]
                    kept = [~np.isin(even, quiet) for even in parts.even]
                    sides, meeting = parts.pick(kept), parts.find_meeting(kept, whole=True)
                if meeting[older, newer]:
                    yield (outcome := self._pair(series, sides[older], sides[newer]))
                    highest = max(highest, outcome.measures["highest_share"])

    def notes(self, tallies: Mapping[str, int]) -> tuple[str, ...]:
        return (SOME_SETS,) if tallies["partly"] else ()

    def _pair(self, series: Observed, older: Side, newer: Side) -> Outcome:
        share = as_fraction(self.c)
        findings: list[Finding] = []
        at_risk: dict[int, Int64] = {}
        total, smallest, highest, open_, forward = 0, self.k, 0.0, 0, older.overlap_with(newer)
        for left, right, overlap in ((older, newer, forward), (newer, older, forward.swap_sides())):
            exactly = (share.numerator, share.denominator)
            found = gaps(left.groups, right.groups, overlap, self.k, exactly, self.limit, sharp=True)
            smallest, total = min(smallest, found.smallest), total + found.total
            highest, open_ = max(highest, found.share), open_ + int(found.partly[right.members.classes].sum())
            at_risk[right.number] = _risky(found, right, overlap)
            findings += self._findings(series, left, right, found)
        return Outcome(
            attack=self.name,
            findings=tuple(findings),
            total=total,
            at_risk=at_risk,
            measures={
                "smallest_difference": float(smallest),
                "highest_share": highest,
                "subjects_at_risk": float(len(union(*at_risk.values()))),
            },
            notes=self.notes({"partly": open_}),
            tallies={"partly": open_},
            unfinished=open_,
        )

    def _findings(self, series: Observed, left: Side, right: Side, found: Gaps) -> list[Finding]:
        """The worst gaps; where a set breaks both k and c, the value tells more."""
        sets: dict[bytes, Gap] = {}
        for gap in sorted(found.gaps, key=_order):
            sets.setdefault(gap.lefts.tobytes() + b"|" + gap.rights.tobytes(), gap)
        return [self._finding(series, left, right, gap) for gap in list(sets.values())[: self.limit]]

    def _finding(self, series: Observed, left: Side, right: Side, gap: Gap) -> Finding:
        words = series.words
        inside = np.isin(left.members.classes, gap.lefts)
        over = np.isin(right.members.classes, gap.rights)
        over &= ~np.isin(right.members.subjects, left.members.subjects[inside])
        subjects = right.members.subjects[over]
        share = as_fraction(self.c)
        tells = gap.value >= 0 and gap.count * share.denominator > gap.size * share.numerator
        inner, outer = ([side.release.called(n) for n in of] for side, of in ((left, gap.lefts), (right, gap.rights)))
        releases = min(left.number, right.number), max(left.number, right.number)
        first, level, *_ = _order(gap)
        return Finding(
            attack=self.name,
            releases=releases,
            subjects=name_subjects(words, subjects),
            classes=tuple((left.number, e) for e in inner) + tuple((right.number, n) for n in outer),
            value=words.value(gap.value) if tells else None,
            level=gap.share if tells else float(gap.size),
            unit="share of one value" if tells else "people",
            threshold=self.c if tells else float(self.k),
            sentence=self._sentence(series, left, right, gap, subjects),
            details={"people": len(subjects), "rows": gap.size, "inside": tuple(inner), "around": tuple(outer)},
            rank=(first, level, *releases, left.number, left.release.called(gap.of), gap.value, *inner),
        )

    def _sentence(self, series: Observed, left: Side, right: Side, gap: Gap, subjects: Int64) -> str:
        words, one, other = series.words, series.words.release(left.number), series.words.release(right.number)
        boxes = right.release.boxes[gap.rights]
        hull = np.stack([boxes[..., 0].min(axis=0), boxes[..., 1].max(axis=0)], axis=-1)
        joined = left.number < right.number and not np.isin(subjects, left.members.subjects).any()
        not_in = one if joined else f"{_classes(left.release, gap.lefts)} of {one}"
        inside = f"{_classes(right.release, gap.rights)} of {other}{put_in_brackets(words.box(hull))}"
        nobody = gap.size - len(subjects)
        who = f"Everyone who is in {inside} but not in {not_in}"
        left_over = count_people(len(subjects)) + (f" and {call_nobody(nobody)}" if nobody else "")
        few = f", fewer than k = {self.k}" if gap.size < self.k else ""
        if gap.value < 0:
            return f"{who}: only {left_over}{few}."
        have = "the 1 row has" if gap.size == 1 else f"{gap.count:,} of the {gap.size:,} rows have"
        return f"{who}: {left_over}{few}; {have} {words.value(gap.value)} (limit: {100 * self.c:.0f}%)."


def _risky(found: Gaps, right: Side, overlap: Overlap) -> Int64:
    """The subjects of the right release who are among the people of some difference found."""
    if not found.loose_risk.any() and not found.link_risk.any():
        return NO_NUMBERS
    risk = found.loose_risk[right.members.classes]
    counted = found.inside[overlap.own]
    risk[overlap.at_right[counted]] = found.link_risk[overlap.link[counted]]
    return right.members.subjects[risk]


def _classes(release: ObservedRelease, numbers: Int64) -> str:
    if len(numbers) == 1:
        return f"class {release.called(numbers[0])}"
    some = ", ".join(str(release.called(number)) for number in numbers[:5])
    return f"classes {some}{', ...' if len(numbers) > 5 else ''}"


def _order(gap: Gap) -> tuple[int, float, int, int]:
    """Values first, the surest first; then the smallest sets."""
    return (0, -gap.share, gap.of, gap.value) if gap.value >= 0 else (1, float(gap.size), gap.of, -1)
