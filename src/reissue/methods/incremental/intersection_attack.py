"""The intersection attack: a person's value is in every class the person was in (Byun et al., section 4.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar
from weakref import ReferenceType, WeakKeyDictionary, ref

import numpy as np

from reissue.arrays.sets import lookup, union
from reissue.arrays.types import NO_NUMBERS, Bool, Float64, Int64
from reissue.methods.attack import (
    Attack,
    Finding,
    Outcome,
    WorkDivision,
    begin_sentence,
    call_people,
    count_people,
    name_all_of,
    name_subjects,
)
from reissue.methods.incremental.running_knowledge import RunningKnowledge, most_frequent
from reissue.methods.incremental.sides import Side, prepare_sides
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.settings import Share, as_fraction


@dataclass(frozen=True, kw_only=True)
class Intersection(Attack):
    """Intersect, as multisets, the values of all classes a person was in; breach if one value exceeds c of the rest.

    c: the largest share one value may have
    """

    c: Share = 0.5

    name: ClassVar[str] = "intersection"
    assumes: ClassVar[str] = "The attacker knows who is in which class of every release, and that values do not change."
    divisions: ClassVar[Mapping[WorkDivision, str]] = {WorkDivision.PARTS: "a person's classes lie in one part"}
    combines: ClassVar[Mapping[str, str]] = {"highest_share": "max", "subjects_at_risk": "sum"}

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        """Follow every person through the releases; people who shared all their classes are followed as one."""
        sides, attributes = prepare_sides(series, involving), len(series.domains)
        findings: list[Finding] = []
        at_risk: dict[int, Int64] = {}
        total, highest, lost, told = 0, 0.0, 0, NO_NUMBERS
        for i, running in _follow(sides, attributes) if involving is None else _follow_to_last(sides, attributes):
            side = sides[i]
            here = np.isin(running.subjects, side.members.subjects, assume_unique=True)
            broken, share = self._broken(running)
            exposed = here & broken[running.cell]
            at_risk[side.number] = running.subjects[exposed]
            highest = max(highest, float(share[running.cell[here]].max(initial=0.0)))
            lost += int((running.values.sizes[running.cell[here]] == 0).sum())
            new = exposed & ~np.isin(running.subjects, told)
            told = union(told, running.subjects[exposed])
            some, count = self._findings(series, sides[: i + 1], running, new, share)
            findings, total = findings + some, total + count
        findings.sort(key=lambda finding: finding.rank)
        tallies = {"lost": lost}
        return Outcome(
            attack=self.name,
            findings=tuple(findings[: self.limit]),
            total=total,
            at_risk=at_risk,
            measures={"highest_share": highest, "subjects_at_risk": float(len(told))},
            notes=self.notes(tallies),
            tallies=tallies,
        )

    def notes(self, tallies: Mapping[str, int]) -> tuple[str, ...]:
        lost = tallies["lost"]
        return (f"The classes of {count_people(lost)} have no value in common: values have changed.",) if lost else ()

    def _broken(self, running: RunningKnowledge) -> tuple[Bool, Float64]:
        """bool[cells], float64[cells]: whether and how far one value stands out, for people seen more than once."""
        share, size = as_fraction(self.c), running.values.sizes
        _, most = most_frequent(running.values)
        broken = (most * share.denominator > size * share.numerator) & (running.seen > 1)
        return broken, np.where(running.seen > 1, most / np.maximum(size, 1), 0.0)

    def _findings(
        self, series: Observed, sides: list[Side], running: RunningKnowledge, new: Bool, share: Float64
    ) -> tuple[list[Finding], int]:
        """One finding for the people who share all their classes, the worst first; and how many there were.

        Equals come by the releases they were in, then by their first person: the order of their ranks.
        """
        cells, first = np.unique(running.cell[new], return_index=True)
        absent = running.chain[cells] < 0
        worst = np.lexsort((first, *absent.T[::-1], -share[cells]))[: self.limit]
        top, most = most_frequent(running.values)
        subjects = running.subjects[new]
        found = [
            self._finding(
                series,
                sides,
                subjects[running.cell[new] == cells[i]],
                int(top[cells[i]]),
                (int(most[cells[i]]), int(running.values.sizes[cells[i]])),
            )
            for i in worst
        ]
        return found, len(cells)

    def _finding(
        self, series: Observed, sides: list[Side], subjects: Int64, value: int, counts: tuple[int, int]
    ) -> Finding:
        """counts: rows of the value, and all rows, of what the classes of these people have in common"""
        level = counts[0] / counts[1]
        classes = []
        for side in sides:
            at = np.searchsorted(side.members.subjects, subjects[0])
            if at < len(side.members.subjects) and side.members.subjects[at] == subjects[0]:
                classes.append((side.number, side.release.called(side.members.classes[at])))
        absent = [float(side.number not in dict(classes)) for side in sides]
        words, who = series.words, name_subjects(series.words, subjects)
        where = name_all_of(words, [number for number, _ in classes])
        has, whose = ("has", "this person's class") if len(subjects) == 1 else ("have", "their class")
        if level >= 1:
            says = f"certainly {has} {words.value(value)}: no other value appears in {whose} in {where}"
        else:
            says = (
                f"{has} {words.value(value)} with a chance of {100 * level:.0f}%: {counts[0]} of the {counts[1]} rows "
                f"that {whose} has in common in {where}"
            )
        return Finding(
            attack=self.name,
            releases=tuple(number for number, _ in classes),
            subjects=who,
            classes=tuple(classes),
            value=words.value(value),
            level=level,
            unit="share of one value",
            threshold=self.c,
            sentence=begin_sentence(f"{call_people(who, len(subjects))} {says} (limit: {100 * self.c:.0f}%)."),
            details={"people": len(subjects)},
            rank=(-level, len(sides), *absent, int(subjects[0])),
        )


def _follow(sides: list[Side], attributes: int) -> Iterator[tuple[int, RunningKnowledge]]:
    """What is known after each release but the first, of those who are in it or in a later one."""
    (people, last), running = _find_last(sides), RunningKnowledge.empty(attributes)
    for i, side in enumerate(sides):
        there = last[lookup(people, running.subjects)[0]] >= i  # of a long series, most people have left for good
        running = _add(running if there.all() else running.only(there), side)
        if i:
            yield i, running


_FOLLOWED: WeakKeyDictionary[ObservedRelease, tuple[list[ReferenceType[ObservedRelease]], RunningKnowledge]]
_FOLLOWED = WeakKeyDictionary()
"""What is known after a release and those before it, which publish sees again: they stay as they are."""


def _follow_to_last(sides: list[Side], attributes: int) -> Iterator[tuple[int, RunningKnowledge]]:
    """What is known after the last release, if it is not the first. Near linear in the rows of those not seen before.

    Only what this check has folded itself is used again, and only for the very same releases in memory.
    """
    if len(sides) < 2:
        return
    *earlier, newest = sides
    releases, running, seen = [side.release for side in earlier], RunningKnowledge.empty(attributes), 0
    for place in reversed(range(len(releases))):
        before, known = _FOLLOWED.get(releases[place], ([], running))
        if len(before) == place + 1 and all(one() is release for one, release in zip(before, releases, strict=False)):
            running, seen = known, place + 1
            break
    for side in earlier[seen:]:
        running = _add(running, side)
    if seen:
        _FOLLOWED.pop(releases[seen - 1], None)
    _FOLLOWED[releases[-1]] = [ref(release) for release in releases], running
    yield len(earlier), _add(running, newest)


def _add(running: RunningKnowledge, side: Side) -> RunningKnowledge:
    return running.after(side.number, side.members.subjects, side.members.classes, side.groups, side.release.boxes)


def _find_last(sides: list[Side]) -> tuple[Int64, Int64]:
    """(int64[people] ascending, int64[people]): everybody, and the place of the last release that each is in."""
    people = union(*(side.members.subjects for side in sides))
    last = np.zeros(len(people), np.int64)
    for place, side in enumerate(sides):
        last[lookup(people, side.members.subjects)[0]] = place
    return people, last
