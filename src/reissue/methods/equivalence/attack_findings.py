"""People shown to have the same values, in words: the findings of the value equivalence attack."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import Int64
from reissue.methods.attack import Finding
from reissue.methods.equivalence.class_pairs import ClassPairs
from reissue.methods.equivalence.person_matrix import Block, list_everyone
from reissue.methods.equivalence.smallest_attack import AttackWeights
from reissue.methods.invariance.attack import require_members
from reissue.methods.wording import list_names
from reissue.model.observed import Observed, ObservedRelease

MOST_NAMES = 12
_NOBODY = "a row of nobody"


@dataclass(frozen=True, eq=False)
class FindingWriter:
    """Describes what an attack shows; fewer than `e` people on each side are a breach."""

    attack: str
    e: int
    series: Observed

    def write_weights(self, block: Block, way: AttackWeights) -> Finding:
        """The people who remain when the classes of a block are weighed in this way."""
        sides: list[list[str]] = [[], []]
        for c in np.flatnonzero(way.shown):
            nobody = [_NOBODY] * int(block.weight[c])
            names = [self.series.words.subject(int(s)) for s in block.who(int(c))] if block.real[c] else nobody
            sides[0 if way.shown[c] > 0 else 1] += [name for name in names for _ in range(abs(int(way.shown[c])))]
        return self._finding(way.size, sides, self.name_classes(block, way.rows))

    def name_classes(self, block: Block, rows: Int64) -> tuple[tuple[int, int], ...]:
        """(release, class) of some rows of a block, as they were published."""
        where = [(int(block.release[row]), int(block.number[row])) for row in rows]
        return tuple((number, self.series.releases[number - 1].called(own)) for number, own in where)

    def write_pair(self, pairs: ClassPairs, i: int) -> Finding:
        """The people who remain when two classes are set against each other."""
        releases = self.series.releases
        earlier, later = releases[pairs.earlier], releases[pairs.later]
        inside = []
        for release, number in ((earlier, pairs.left[i]), (later, pairs.right[i])):
            members = require_members(release)
            inside.append(members.subjects[members.classes == number])
        sides: list[list[str]] = [[], []]
        for side in (0, 1):
            own, other = (int(times) for times in (pairs.times[i, side], pairs.times[i, 1 - side]))
            for subject in inside[side]:
                shown = own - (other if subject in inside[1 - side] else 0)
                sides[side] += [self.series.words.subject(int(subject))] * max(shown, 0)
            sides[side] += [_NOBODY] * (int(pairs.size[i]) - len(sides[side]))
        return self._finding(int(pairs.size[i]), sides, self.name_pair(pairs, i))

    def write_people(self, sides: tuple[Int64, Int64], size: int, *, by_worlds: bool = False) -> Finding:
        """Two sets of people shown to be equal by all classes together; the classes are those that they are in."""
        both = np.concatenate(sides)
        classes = [
            (release.number, release.called(int(own)))
            for release in self.series.releases
            for own in self._find_classes(release, both)
        ]
        names = [[self.series.words.subject(int(s)) if s >= 0 else _NOBODY for s in side] for side in sides]
        finding = self._finding(size, names, tuple(classes))
        if not by_worlds:
            return finding
        how = "However the values are dealt to people: "
        return replace(finding, sentence=how + finding.sentence, details={**finding.details, "by": "worlds"})

    @staticmethod
    def _find_classes(release: ObservedRelease, people: Int64) -> list[int]:
        who, classes = list_everyone(release)
        at, there = lookup(who, people)
        return sorted(set(classes[at[there]].tolist()))

    def name_pair(self, pairs: ClassPairs, i: int) -> tuple[tuple[int, int], ...]:
        """(release, class) of the two classes of a pair, as they were published."""
        both = ((pairs.earlier, pairs.left[i]), (pairs.later, pairs.right[i]))
        places = [(self.series.releases[position], own) for position, own in both]
        return tuple((release.number, release.called(int(own))) for release, own in places)

    def write_unproven(self, classes: tuple[tuple[int, int], ...], bound: int) -> Finding:
        """Nobody is shown, but fewer than `e` people could not be ruled out: for publish as good as broken."""
        sentence = (
            f"It could not be proven that no attack of fewer than {self.e} people exists on the class "
            f"{classes[-1][1]} of {self.series.words.release(classes[-1][0])}: the bound is {bound}."
        )
        return replace(self._finding(bound, [[], []], classes), breach=True, sentence=sentence)

    def _finding(self, size: int, sides: list[list[str]], classes: tuple[tuple[int, int], ...]) -> Finding:
        words = self.series.words
        numbers = tuple(sorted({number for number, _ in classes}))
        together = list_names(words.release(number) for number in numbers)
        left, right = (list_names(side, MOST_NAMES, "more") for side in sides)
        verb, value = ("has", "value") if size == 1 else ("have, together,", "values")
        return Finding(
            attack=self.attack,
            releases=numbers,
            subjects=tuple(dict.fromkeys(name for side in sides for name in side if name != _NOBODY)),
            classes=classes,
            level=float(size),
            unit="people on each side",
            threshold=float(self.e),
            breach=size < self.e,
            sentence=f"From {together}: {left} {verb} the same sensitive {value} as {right}.",
            details={"left": tuple(sides[0]), "right": tuple(sides[1])},
        )
