"""A series of standing classes as the strongest attacker sees it: one who knows everybody's class for life.

The form `told` tells the classes; of the form `flat` nobody outside knows them, so this is its worst case. A class that
was formed is the same in every release: its tokens stay, and they are the values of those who formed it, whether or not
these are still there. So a class that has anybody in a release is shown with everybody it was formed of and with all
its tokens; made-up tokens are rows of nobody, and nobody is told which rows those are. A person whose value changed has
entered another class, which everybody sees: from then on the attacks know them as a second person, whose value is the
new one, while the first one's is still among the tokens of the class that was left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.sets import lookup, mix_bits
from reissue.arrays.types import NO_NUMBERS, Bool, Int32, Int64
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from reissue.model.domain import Domain
from reissue.model.observed import Members, ObservedRelease, Words
from reissue.model.release import Facts
from reissue.model.standing_classes import StandingClasses

EPISODE = 1 << 40
"""A person's second place is known by its number and so much, the third by twice as much."""


@dataclass(frozen=True, eq=False)
class EpisodeWords:
    """Words in which a person is called the same in every place it had."""

    words: Words

    def box(self, box: Int32) -> str:
        return self.words.box(box)

    def value(self, code: int) -> str:
        return self.words.value(code)

    def subject(self, number: int) -> str:
        return self.words.subject(number % EPISODE)

    def release(self, number: int) -> str:
        return self.words.release(number)


@dataclass(frozen=True, eq=False)
class _Cohorts:
    """Every place that anybody ever had.

    subject: int64[places] ascending, with the number of the place (EPISODE); standing: int64[places]; value: int32[];
    codes: int32[places, attributes] when the place was taken: no box of a class is published that could follow them
    """

    subject: Int64
    standing: Int64
    value: Int32
    codes: Int32

    @staticmethod
    def none(attributes: int) -> _Cohorts:
        return _Cohorts(NO_NUMBERS, NO_NUMBERS, np.empty(0, np.int32), np.empty((0, attributes), np.int32, order="F"))

    def after(self, facts: Facts, kept: StandingClasses) -> _Cohorts:
        """With the places of this release; those of before stay. O(n log n)."""
        real = facts.real
        standing = kept.standing[real].astype(np.int64)
        subject = self._number(facts.subjects[real], facts.values[real])
        at, known = lookup(self.subject, subject)
        before = self.standing.copy()
        before[at[known]] = standing[known]  # the same, unless somebody was regrouped
        new = ~known
        both = np.concatenate([self.subject, subject[new]])
        order = np.argsort(both, kind="stable")
        return _Cohorts(
            both[order],
            np.concatenate([before, standing[new]])[order],
            np.concatenate([self.value, facts.values[real][new]])[order],
            np.concatenate([self.codes, facts.codes[real][new]])[order],
        )

    def _number(self, people: Int64, values: Int32) -> Int64:
        """int64[people]: which place of each person this is: the last one, or if the value is another, the next one."""
        who = self.subject % EPISODE
        latest = np.argsort(who, kind="stable")  # places of one person follow each other, the last one last
        ordered = who[latest]
        at = np.searchsorted(ordered, people, side="right") - 1
        known = at >= 0
        known[known] = ordered[at[known]] == people[known]
        number = people.copy()
        place = latest[at[known]]
        number[known] = self.subject[place] + EPISODE * (self.value[place] != values[known])
        return number

    def observe(self, facts: Facts, kept: StandingClasses, domains: Sequence[Domain]) -> ObservedRelease:
        """The classes that have somebody in the release, with all their people and tokens."""
        live, home = np.unique(kept.tokens.standing, return_inverse=True)
        at, here = lookup(live.astype(np.int64), self.standing)
        classes = at[here].astype(np.int32)
        members = Members(self.subject[here], classes, np.asfortranarray(self.codes[here]), self.value[here])
        boxes = widen_to_nodes(bounding_boxes(members.codes, classes, len(live)), domains)
        rows, values = (np.repeat(column, kept.tokens.count) for column in (home.astype(np.int32), kept.tokens.value))
        return ObservedRelease(facts.number, boxes, rows, values, members)


class _ShownClasses:
    """What every class was when it was last shown, as one number for its people and tokens."""

    def __init__(self) -> None:
        self._standing, self._mark = NO_NUMBERS, np.empty(0, dtype=np.uint64)

    def compare(self, live: Int64, release: ObservedRelease) -> Bool:
        """bool[classes]: which are as they were shown before; all are remembered as they are now. O(rows)."""
        mark = np.zeros(len(live), dtype=np.uint64)
        assert release.members is not None
        people, tokens = release.members.subjects.astype(np.uint64), release.values.astype(np.uint64)
        np.add.at(mark, release.members.classes, mix_bits(people * np.uint64(2) + np.uint64(2)))
        np.add.at(mark, release.classes, mix_bits(tokens * np.uint64(2) + np.uint64(1)))
        at, known = lookup(self._standing, live)
        same = known.copy()
        same[known] = self._mark[at[known]] == mark[known]
        others = ~lookup(live, self._standing)[1]
        both = np.concatenate([self._standing[others], live])
        order = np.argsort(both, kind="stable")
        self._standing, self._mark = both[order], np.concatenate([self._mark[others], mark])[order]
        return same


def observe_classes(releases: Iterable[Facts], domains: Sequence[Domain]) -> Iterator[ObservedRelease]:
    """Every release with its classes for life, one after the other; those without such classes as they are."""
    cohorts, shown = _Cohorts.none(len(domains)), _ShownClasses()
    for facts in releases:
        kept = StandingClasses.read(facts.extras)
        if kept is None:
            yield ObservedRelease.of(facts)
        else:
            cohorts = cohorts.after(facts, kept)
            release = cohorts.observe(facts, kept, domains)
            live = np.unique(kept.tokens.standing).astype(np.int64)
            yield replace(release, repeated=shown.compare(live, release))
