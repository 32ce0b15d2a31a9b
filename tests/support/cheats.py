"""Strategies that break their word, each in one way: what publish must notice by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

import reissue as ri
from reissue.model.fragment_counts import CountedSnapshot
from reissue.model.observed import Observed
from reissue.model.release import Candidate, Coded, Facts, History

Lie = Callable[[Facts, Coded], Facts]


def changed(array: np.ndarray, row: object, value: object) -> np.ndarray:
    """A copy with one entry changed."""
    copy = array.copy()
    copy[row] = value
    return copy


def lost(facts: Facts, _: Coded) -> Facts:
    return _rows(facts, np.arange(1, len(facts.subjects)))


def twice(facts: Facts, _: Coded) -> Facts:
    return _rows(facts, np.array([0, 0, *range(2, len(facts.subjects))]))


def in_two_classes(facts: Facts, _: Coded) -> Facts:
    """The first person stands in another class, too, in the row of the second."""
    both = _rows(facts, np.array([0, 0, *range(2, len(facts.subjects))]))
    return replace(both, classes=facts.classes)


def disordered(facts: Facts, _: Coded) -> Facts:
    return _rows(facts, np.arange(len(facts.subjects))[::-1])


def stranger(facts: Facts, _: Coded) -> Facts:
    """The last person is one who is not in the snapshot."""
    return replace(facts, subjects=changed(facts.subjects, -1, facts.subjects[-1] + 1))


def counterfeit(facts: Facts, _: Coded) -> Facts:
    """A person stands as a counterfeit."""
    return replace(facts, subjects=changed(facts.subjects, 0, -1))


def counted_as_a_person(facts: Facts, _: Coded) -> Facts:
    """A person is left out, and a counterfeit put in, which is to make up the number."""
    with_fake = _rows(facts, np.array([0, *range(1, len(facts.subjects))]))
    return replace(with_fake, subjects=changed(facts.subjects, 0, -1), classes=facts.classes)


def same_counterfeit_twice(facts: Facts, _: Coded) -> Facts:
    more = _rows(facts, np.array([0, 0, *range(len(facts.subjects))]))
    return replace(more, subjects=np.concatenate([[-1, -1], facts.subjects]))


def other_value(facts: Facts, snapshot: Coded) -> Facts:
    return replace(facts, values=changed(facts.values, 3, (facts.values[3] + 1) % snapshot.value_count))


def values_swapped(facts: Facts, _: Coded) -> Facts:
    """Two rows of one class exchange their values: every count stays as it was."""
    first = 0
    mates = np.flatnonzero((facts.classes == facts.classes[first]) & (facts.values != facts.values[first]))
    values = changed(facts.values, first, facts.values[mates[0]])
    values[mates[0]] = facts.values[first]
    return replace(facts, values=values)


def other_code(attribute: int) -> Lie:
    """A quasi-identifier moves within the box of its class, where a check of boxes does not see it."""

    def lie(facts: Facts, _: Coded) -> Facts:
        low, high = facts.boxes[facts.classes, attribute].T
        row = int(np.flatnonzero(low < high)[-1])
        code = facts.codes[row, attribute]
        return replace(facts, codes=changed(facts.codes, (row, attribute), code + 1 if code < high[row] else code - 1))

    return lie


def no_class(number: int) -> Lie:
    def lie(facts: Facts, _: Coded) -> Facts:
        return replace(facts, classes=changed(facts.classes, -1, number if number < 0 else facts.class_count))

    return lie


def outside(attribute: int, side: int) -> Lie:
    """The box of a class ends before its last row does."""

    def lie(facts: Facts, _: Coded) -> Facts:
        wide = np.flatnonzero(facts.boxes[:, attribute, 0] < facts.boxes[:, attribute, 1])[-1]
        rows = facts.codes[facts.classes == wide, attribute]
        end = int(rows.min()) + 1 if side == 0 else int(rows.max()) - 1
        return replace(facts, boxes=changed(facts.boxes, (wide, attribute, side), end))

    return lie


def empty(facts: Facts, _: Coded) -> Facts:
    return replace(facts, boxes=np.concatenate([facts.boxes, facts.boxes[-1:]]))


def no_node(facts: Facts, snapshot: Coded) -> Facts:
    """All leaves of the taxonomy but its last one, where the class has no row."""
    last = snapshot.domains[1].hi
    some = np.flatnonzero(facts.boxes[:, 1, 1] < last)[0]
    return replace(facts, boxes=changed(facts.boxes, (some, 1), (snapshot.domains[1].lo, last - 1)))


def _rows(facts: Facts, rows: np.ndarray) -> Facts:
    codes = np.asfortranarray(facts.codes[rows])
    return replace(
        facts, subjects=facts.subjects[rows], classes=facts.classes[rows], values=facts.values[rows], codes=codes
    )


WENT = "rows came in, {} would go out and 0 are suppressed"
ALTERED = "a sensitive value would be altered: {label} would be {label}"
TWICE = "a subject would be published twice, or one who is not in the snapshot"

LIES: Mapping[str, tuple[Lie, str]] = {
    "somebody is lost": (lost, WENT),
    "somebody is called a counterfeit": (counterfeit, WENT),
    "a counterfeit is counted as a person": (counted_as_a_person, WENT),
    "somebody is published twice": (twice, TWICE),
    "somebody is in two classes": (in_two_classes, TWICE),
    "somebody is not in the snapshot": (stranger, TWICE),
    "a counterfeit is published twice": (same_counterfeit_twice, TWICE),
    "the rows are in disorder": (disordered, TWICE),
    "somebody gets another value": (other_value, ALTERED),
    "two people exchange their values": (values_swapped, ALTERED),
    "somebody gets another age": (other_code(0), "a quasi-identifier would be altered: age {} would be age {}"),
    "somebody gets another zip": (other_code(1), "a quasi-identifier would be altered: zip {} would be zip {}"),
    "somebody is in a class that is not there": (no_class(1), "a row lies in no class"),
    "somebody is in a class before the first": (no_class(-1), "a row lies in no class"),
    "a box begins behind a row": (outside(0, 0), "a row lies outside the box of its class: age {}"),
    "a box ends before a row": (outside(0, 1), "a row lies outside the box of its class: age {}"),
    "a class is empty": (empty, "a class is empty"),
    "a box is no node": (no_node, "a box is not a node of its hierarchy: from zip {} to zip {}"),
}
"""What is done to the facts of an honest release, and what publish says of it: {} a number, {label} one of VALUES."""


@dataclass(frozen=True, eq=False)
class LyingCandidate(Candidate):
    lie: str = ""

    def facts(self, number: int, snapshot: Coded) -> Facts:
        return LIES[self.lie][0](super().facts(number, snapshot), snapshot)


@dataclass(frozen=True, kw_only=True)
class Liar(ri.Static):
    """Makes an honest release and tells something else."""

    lie: str

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        made = super().publish(snapshot, history)
        parts = (made.boxes, made.classes, made.counterfeits, made.steps, made.anatomized, made.extras)
        return LyingCandidate(*parts, lie=self.lie)


@dataclass(frozen=True, kw_only=True)
class Hider(ri.Static):
    """Says that somebody is suppressed who is published."""

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        made = super().publish(snapshot, history)

        class Both(Candidate):
            def facts(self, number: int, snapshot: Coded) -> Facts:
                return made.facts(number, snapshot)

        classes = changed(made.classes, 0, -1)
        return Both(made.boxes, classes, made.counterfeits, made.steps)


@dataclass(frozen=True, kw_only=True)
class Careless(ri.Static):
    """Keeps to nothing but a size of classes, `kept`, whatever it promises."""

    kept: int = 4

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        return ri.Static(k=self.kept).publish(snapshot, history)


@dataclass(frozen=True, kw_only=True)
class Boaster(ri.Static):
    """Promises to stop what it does not stop."""

    stops: ClassVar[tuple[str, ...]] = ("intersection", "difference")


@dataclass(frozen=True, kw_only=True)
class Honest(ri.Static):
    """Its own test of its promise fails, and says so."""

    def check(self, release: Facts, history: History) -> str | None:
        return f"{len(release.subjects)} rows, some of {{value:0}}, are too many after {{release:{len(history)}}}"


@dataclass(frozen=True, kw_only=True)
class Doubter(ri.Static):
    """The attack that it stops finds nothing, its second form does."""

    stops: ClassVar[tuple[str, ...]] = ("intersection",)

    def second_check(self, series: Observed, seed: int) -> str | None:
        many = len(series.releases[0].classes)
        return f"{many} people are too many in {{release:1}}, too few of them with {{value:{series.value_count}}}"


@dataclass(frozen=True, kw_only=True)
class CarelessPlanner(ri.BCF):
    """One plan for all fragments, of half of what is promised."""

    def plan(self, counted: CountedSnapshot, history: History) -> Candidate:
        return ri.BCF(k=self.k // 2).plan(counted, history)


@dataclass(frozen=True, kw_only=True)
class EmptyPlanner(ri.BCF):
    """One plan for all fragments, with a class that nobody gets into."""

    def plan(self, counted: CountedSnapshot, history: History) -> Candidate:
        made = super().plan(counted, history)
        return replace(made, boxes=np.concatenate([made.boxes, made.boxes[-1:]]))


@dataclass(frozen=True, kw_only=True)
class UnprovenPlanner(ri.BCF):
    """One plan for all fragments, with a promise that counts alone cannot prove."""

    stops: ClassVar[tuple[str, ...]] = ("difference",)
