"""The simplest equivalence attack: two classes that show the same values, set against each other; and its findings.

Who is in both cancels; the rest of one class has, together, the values of the rest of the other. It needs no graph and
no small series, so it also serves where classes are many: split m-invariance, or releases of any other tool. The other
searches tell of people shown to be equal in the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.sets import distinct, lookup, sorted_unique
from reissue.arrays.types import Int32, Int64
from reissue.methods.attack import Finding, list_names
from reissue.methods.equivalence.person_matrix import list_everyone
from reissue.methods.equivalence.smallest_attack import AttackWeights, Block
from reissue.methods.invariance.signatures import Signatures, join_sets, number_sets
from reissue.model.observed import Observed, ObservedRelease, require_members

MOST_NAMES = 12
_NOBODY = "a row of nobody"


@dataclass(frozen=True, eq=False)
class ClassPairs:
    """Pairs of classes of two releases that share people and show proportional values.

    left, right: int32[n] class numbers; size: int64[n] people on each side of the attack (half of all shown);
    times: int64[n, 2] how often the people of each class count
    """

    earlier: int
    later: int
    left: Int32
    right: Int32
    size: Int64
    times: Int64


@dataclass(frozen=True, eq=False)
class _Described:
    """Per class of a release: the number of its normalized value counts, what they were divided by, rows, people."""

    kind: Int32
    factor: Int64
    size: Int64
    people: Int64


def find_class_pairs(releases: Sequence[ObservedRelease], *, involving: int | None = None) -> Iterator[ClassPairs]:
    """All such pairs, release by release (positions); `involving` restricts to pairs with that release.

    O(rows log rows) for each pair of releases.
    """
    later = range(1, len(releases)) if involving is None else [involving]
    kinds, known = Signatures.none(), np.empty(0, dtype=np.int64)
    shown: dict[int, _Described] = {}
    for j in later:
        for i in range(j + 1):
            if i not in shown:
                kinds, known, shown[i] = _describe_classes(releases[i], kinds, known)
        for i in range(j):
            yield _compare_classes(releases[i], releases[j], shown[i], shown[j], (i, j))


def _describe_classes(
    release: ObservedRelease, kinds: Signatures, known: Int64
) -> tuple[Signatures, Int64, _Described]:
    """Number the classes by their value counts divided by their greatest common divisor.

    known: int64[] the (value, count) pairs seen so far, in order of appearance; a class is a set of such pairs.
    """
    classes, values, count = release.groups
    start = np.searchsorted(classes, np.arange(release.class_count + 1)).astype(np.int64)
    filled = np.flatnonzero(np.diff(start))
    factor = np.ones(release.class_count, dtype=np.int64)
    if len(filled):
        factor[filled] = np.gcd.reduceat(count, start[filled])
    pair = values.astype(np.int64) << 32 | count // factor[classes]
    own_pairs = sorted_unique(pair)
    known = np.concatenate([known, own_pairs[~np.isin(own_pairs, known)]])
    order = np.argsort(known)
    name = order[np.searchsorted(known[order], pair)].astype(np.int32)
    by_class = np.lexsort((name, classes))
    own, number = number_sets(start, name[by_class])
    kinds, at = join_sets(kinds, own)
    who, their = list_everyone(release)
    people = np.bincount(their[who >= 0], minlength=release.class_count).astype(np.int64)
    return kinds, known, _Described(at[number], factor, release.sizes, people)


def _compare_classes(
    one: ObservedRelease, two: ObservedRelease, left: _Described, right: _Described, where: tuple[int, int]
) -> ClassPairs:
    first, first_class = list_everyone(one)
    second, second_class = list_everyone(two)
    at, there = lookup(first, second)
    a, b = first_class[at[there]], second_class[there]
    real = second[there] >= 0
    one_of, of = distinct((a, b))
    both = np.bincount(of, minlength=len(one_of))
    both_real = np.bincount(of[real], minlength=len(one_of))
    a, b = a[one_of], b[one_of]
    shared = np.gcd(left.factor[a], right.factor[b])
    times = np.stack([right.factor[b] // shared, left.factor[a] // shared], axis=1)
    total = _count_shown(times, left.size[a], right.size[b], both)
    useful = _count_shown(times, left.people[a], right.people[b], both_real) > 0
    kept = (left.kind[a] == right.kind[b]) & useful
    return ClassPairs(*where, a[kept], b[kept], total[kept] // 2, times[kept])


def _count_shown(times: Int64, left: Int64, right: Int64, both: Int64) -> Int64:
    """int64[n]: people shown, counted as often as they are."""
    apart = times[:, 0] * (left - both) + times[:, 1] * (right - both)
    return np.asarray(apart + np.abs(times[:, 0] - times[:, 1]) * both, dtype=np.int64)


def find_exposed(releases: Sequence[ObservedRelease], pairs: ClassPairs, chosen: Int64) -> tuple[Int64, Int64]:
    """(int64[] subjects, int64[] which chosen pair): real people who stand on a side of the chosen pairs' attacks."""
    one, two = list_everyone(releases[pairs.earlier]), list_everyone(releases[pairs.later])
    most = max(releases[pairs.earlier].class_count, releases[pairs.later].class_count)
    found = []
    for (who, classes), (others, other_classes), wanted, against in (
        (one, two, pairs.left[chosen], pairs.right[chosen]),
        (two, one, pairs.right[chosen], pairs.left[chosen]),
    ):
        asked = np.zeros(most, dtype=np.bool_)
        asked[wanted] = True
        inside = np.flatnonzero(asked[classes])  # few of many: only they are sorted
        order = inside[np.argsort(classes[inside], kind="stable")]
        low = np.searchsorted(classes[order], wanted, side="left")
        size = np.searchsorted(classes[order], wanted, side="right") - low
        pair = np.repeat(np.arange(len(wanted)), size)
        rank = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
        person = order[low[pair] + rank] if len(pair) else np.empty(0, dtype=np.int64)
        at, there = lookup(others, who[person])
        same = there & (other_classes[at] == against[pair]) if len(others) else there
        uneven = pairs.times[chosen][pair, 0] != pairs.times[chosen][pair, 1]
        kept = (~same | uneven) & (who[person] >= 0)
        found.append((who[person][kept], pair[kept]))
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


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
        return tuple((number, self.series.find(number).called(own)) for number, own in where)

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
        sentence = f"However the values are dealt to people, from {finding.sentence.removeprefix('From ')}"
        return replace(finding, sentence=sentence, details={**finding.details, "by": "worlds"})

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
