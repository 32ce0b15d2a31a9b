"""Correspondence a second time: the candidates of some people, counted slowly and by code that the attack does not use.

The BCF-anonymizer plans with the cracks and candidates by which the attack measures (see the room's `__init__`), so a
fault there would deceive both. Here the paper's sets are built one by one, for everybody where there are few people,
else for a seeded sample: G1, the older records that could be of a group, and G2, the newer ones that those of G1 could
be. Where the classes of two small releases are no global cuts, rows are placed one at a time instead.

Over three and more releases the sum over values of the smallest group, less what must be older than the person, bounds
the candidates from above, and where classes cross that is too much. There every way through the releases gets an
unknown number of rows, and for the weakest a program finds the most that can have gone theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log

import numpy as np

from reissue.arrays.types import Int64
from reissue.methods.plain_release import FEW, PlainRelease, draw_some, meet_boxes
from reissue.model.observed import Members, Observed

FEW_ROWS = 2_000
"""Where the newest release has so few rows, everybody's candidates are counted, and all by moving rows, too."""
PEOPLE = 12, 20_000
"""Else those of so many people and one more for so many rows, and of as many of those who came later."""
TOLERANCE = 1e-9
"""Entropies are compared in floating point, to the publisher's favour."""

WEAKEST = 6
"""For how many of them, those with the fewest candidates, rows are moved where sets do not tell all."""

JOINT = 12
"""For how many of them, where classes of three and more releases cross, every way through the releases is weighed."""
WAYS = 400
"""As long as there are so few ways."""

Group = tuple[int, int]
"""(position of a release in the chain, class)."""


def find_breach(series: Observed, promised: Mapping[str, float], seed: int) -> str | None:
    """Somebody who has too few candidates in the newest release and its chain; None if nobody was found.

    promised: k, and confidence, alpha, entropy_l, recursive_c with recursive_l, as far as they were asked for
    """
    rng, chain = np.random.default_rng(seed), _Chain(_find_chain(series))
    newest = chain.releases[-1].subjects
    later = newest[chain.releases[0].find_classes(newest) < 0]
    some, weakest = ((FEW_ROWS, 1), None) if len(newest) <= FEW_ROWS else (PEOPLE, WEAKEST)
    chosen = np.concatenate([who[draw_some(rng, len(who), some, len(newest))] for who in (newest, later)])
    paths = np.stack([release.find_classes(chosen) for release in chain.releases], axis=1)
    counted = [(chain.count_candidates(groups), groups) for groups in sorted({*map(_find_groups, paths.tolist())})]
    counted.sort(key=lambda item: int(item[0].sum()))
    weak = [groups for _, groups in counted]
    counted += [(chain.count_candidates(groups, exactly=True), groups) for groups in weak[:weakest]]
    counted += [(chain.count_jointly(groups), groups) for groups in weak[: JOINT if chain.ways else 0]]
    for candidates, groups in counted:
        broken = _find_broken(candidates, promised)
        if broken is not None:
            came = chain.releases[groups[0][0]].number
            left = int(candidates.sum())
            return f"somebody who came with {{release:{came}}} has {left} candidates: {broken} (correspondence)"
    return None


def _find_groups(path: list[int]) -> tuple[Group, ...]:
    """Where somebody is from the arrival on; path: the class in each release of the chain, -1 before the arrival."""
    return tuple((position, own) for position, own in enumerate(path) if own >= 0)


def _find_chain(series: Observed) -> list[PlainRelease]:
    """The newest release and those before it as long as everybody stays, with the same value."""
    chain: list[PlainRelease] = []
    for release in reversed(series.releases):
        if release.anatomized or release.members is None:
            break
        plain = PlainRelease(release, series.value_count)
        if chain and not _contains(chain[0].members, plain.members):
            break
        chain.insert(0, plain)
    return chain


def _contains(later: Members, earlier: Members) -> bool:
    """Whether everybody is still there, with the same attributes and value."""
    many = len(earlier.subjects)
    if np.array_equal(later.subjects[:many], earlier.subjects):  # those who came since have higher numbers
        at: slice | Int64 = slice(many)
    else:
        at = np.minimum(np.searchsorted(later.subjects, earlier.subjects), len(later.subjects) - 1)
    pairs = (later.subjects, earlier.subjects), (later.values, earlier.values), (later.codes, earlier.codes)
    return all(np.array_equal(new[at], old) for new, old in pairs)


def _find_broken(candidates: Int64, promised: Mapping[str, float]) -> str | None:
    """The first promise that these candidates, int64[values], do not keep; in words."""
    counts = sorted(candidates[candidates > 0].tolist(), reverse=True)
    total, top = sum(counts), max(counts, default=0)
    most = f"{{value:{int(candidates.argmax())}}}"
    if total < promised["k"]:
        return f"fewer than k = {promised['k']:g}"
    for name in ("confidence", "alpha"):
        if name in promised and top > Fraction(promised[name]).limit_denominator(1_000_000) * total:
            return f"{top} of them have one value, {most}, more than {name} = {promised[name]:g}"
    if "entropy_l" in promised:
        entropy = -sum(count / total * log(count / total) for count in counts)
        if entropy < log(promised["entropy_l"]) - TOLERANCE:
            return f"their values have less entropy than that of {promised['entropy_l']:g}"
    if "recursive_c" in promised:
        tail = sum(counts[int(promised["recursive_l"]) - 1 :])
        if top >= Fraction(promised["recursive_c"]).limit_denominator(1_000_000) * tail:
            return f"the most frequent of their values, {most}, is too frequent ({top} against {tail})"
    return None


class _Chain:
    """Releases of which each has all people of the one before."""

    def __init__(self, releases: Sequence[PlainRelease]) -> None:
        self.releases = releases
        for release in releases:  # unless there are very many, all classes are counted at once
            release.count_values(range(len(release.boxes)) if 8 * len(release.boxes) < len(release.subjects) else ())
        self._placings: dict[tuple[int, int], list[Placing]] = {}
        self._older: dict[tuple[Group, int], Int64] = {}

    def count_candidates(self, groups: Sequence[Group], *, exactly: bool = False) -> Int64:
        """int64[values]: the candidates of somebody who is in these classes from the arrival on.

        exactly: by moving rows, where two releases are small and their classes no global cuts
        """
        arrival = groups[0][0]
        left = [self._count(group) for group in groups]
        left += [self._count(group) - self._count_older(group, older) for group in groups for older in range(arrival)]
        for later in groups if exactly else ():
            for older in range(later[0]):
                if rows := self._place(older, later[0]):
                    left.append(self._count_exactly(rows, dict(groups).get(older), later))
        return np.asarray(np.minimum.reduce(left), dtype=np.int64)

    def count_jointly(self, groups: Sequence[Group]) -> Int64:
        """int64[values]: the most rows that can have gone this way, while all rows of all releases go some way."""
        from scipy.optimize import LinearConstraint, milp

        sums = sorted({group for way in self.ways for group in way})
        passes = np.array([[group in way for way in self.ways] for group in sums], dtype=np.float64)
        wanted = np.array([-float(way == tuple(groups)) for way in self.ways])
        counts, most = np.stack([self._count(group) for group in sums]), np.zeros_like(self._count(groups[0]))
        for value in np.flatnonzero(np.minimum.reduce([self._count(group) for group in groups])).tolist():
            rows = LinearConstraint(passes, counts[:, value], counts[:, value])
            solved = milp(
                wanted, constraints=rows, integrality=np.ones(len(wanted), np.int8), options={"mip_rel_gap": 0.0}
            )
            most[value] = round(-solved.fun) if solved.success else self._count(groups[0])[value]
        return most

    @cached_property
    def ways(self) -> list[tuple[Group, ...]]:
        """Every way through three and more small releases: an arrival, and classes since that all meet; else none.

        None, too, if any two classes that meet are one in the other: then counting value by value is enough.
        """
        ways: list[tuple[Group, ...]] = []
        for position in range(len(self.releases) if len(self.releases) > 2 and self._cross() else 0):
            here = [(position, own) for own in range(len(self.releases[position].boxes))]
            ways = [(*way, group) for way in ways for group in here if all(self._meet(group, old) for old in way)]
            ways += [(group,) for group in here]
            if len(ways) > WAYS:
                return []
        return ways

    def _cross(self) -> bool:
        boxes = np.concatenate([release.boxes for release in self.releases])
        if len(boxes) > WAYS:
            return False
        for box in boxes:
            others = boxes[meet_boxes(boxes, box)]
            inside = ((others[..., 0] >= box[:, 0]) & (others[..., 1] <= box[:, 1])).all(axis=-1)
            around = ((others[..., 0] <= box[:, 0]) & (others[..., 1] >= box[:, 1])).all(axis=-1)
            if not (inside | around).all():
                return True
        return False

    def _meet(self, one: Group, other: Group) -> bool:
        boxes = [self.releases[position].boxes[own] for position, own in (one, other)]
        return bool(meet_boxes(boxes[0][None], boxes[1])[0])

    def _count_exactly(self, rows: list[Placing], older: int | None, later: Group) -> Int64:
        """int64[values]: rows of a later class that can be in an older one, too; if None, in none of that release."""
        if older is None:
            return self._count(later) - np.array([of_value.count_into(later[1]) for of_value in rows], dtype=np.int64)
        return np.array([of_value.count_along(older, later[1]) for of_value in rows], dtype=np.int64)

    def _count(self, group: Group) -> Int64:
        release = self.releases[group[0]]
        release.count_values([group[1]])
        return release.counts[group[1]]

    def _count_older(self, group: Group, older: int) -> Int64:
        """int64[values]: how many rows of a class must be those of people of an older release (B cracks)."""
        if (group, older) not in self._older:
            sets = _count_older_by_sets(self.releases[older], self.releases[group[0]], group[1])
            self._older[group, older] = sets
        return self._older[group, older]

    def _place(self, older: int, newer: int) -> list[Placing]:
        """The rows of each value in two releases; of none where sets of classes tell all, or there is too much."""
        if (older, newer) not in self._placings:
            left, right = self.releases[older], self.releases[newer]
            meets, values = [], range(0)
            if len(left.boxes) + len(right.boxes) <= FEW and len(right.subjects) <= FEW_ROWS:
                meets = [right.find_meeting(box) for box in left.boxes]
            if sum(map(len, {*map(tuple, meets)})) > len({other for around in meets for other in around}):
                left.count_values(range(len(left.boxes)))
                right.count_values(range(len(right.boxes)))
                values = range(len(right.counts[0]))
            counts = [[[int(row[v]) for _, row in sorted(of.counts.items())] for of in (left, right)] for v in values]
            self._placings[older, newer] = [Placing(supply, demand, meets) for supply, demand in counts]
        return self._placings[older, newer]


def _count_older_by_sets(left: PlainRelease, right: PlainRelease, own: int) -> Int64:
    """int64[values]: |G1| - (|G2| - |group|), where G1 could be of the group and G2 could be those of G1."""
    first = left.find_meeting(right.boxes[own])
    if not first:
        return np.zeros_like(right.counts[own])
    left.count_values(first)
    inner = np.stack([left.counts[one] for one in first])  # rows of the older classes that meet this one, by value
    meets = np.stack([meet_boxes(right.boxes, left.boxes[one]) for one in first])
    second = np.flatnonzero(meets.any(axis=0)).tolist()
    right.count_values(second)
    outer = np.stack([right.counts[one] for one in second])
    could = (meets[:, second].T.astype(np.int64) @ (inner > 0)) > 0  # newer class x value: whether in G2
    older: Int64 = inner.sum(axis=0) - (outer * could).sum(axis=0) + right.counts[own]
    return np.where(inner.any(axis=0), np.maximum(0, older), 0)


@dataclass(frozen=True)
class Placing:
    """The rows of one value: how many each older class has, each newer one has, and which newer ones each meets."""

    supply: Sequence[int]
    demand: Sequence[int]
    meets: Sequence[Sequence[int]]

    @cached_property
    def all_placed(self) -> int:
        return self._count_placed(self.supply, self.demand, None)

    def count_into(self, right: int) -> int:
        """The least number of older rows in a newer class: those that find no place elsewhere."""
        if self.demand[right] == 0:
            return 0
        rest = [0 if own == right else room for own, room in enumerate(self.demand)]
        return self.all_placed - self._count_placed(self.supply, rest, None)

    def count_along(self, left: int, right: int) -> int:
        """The most rows that can be in both classes while every other row still has a place."""
        for rows in range(min(self.supply[left], self.demand[right]), 0, -1):
            supply, demand = [*self.supply], [*self.demand]
            supply[left] -= rows
            demand[right] -= rows
            if self._count_placed(supply, demand, (left, right)) == self.all_placed - rows:
                return rows
        return 0

    def _count_placed(self, supply: Sequence[int], demand: Sequence[int], without: tuple[int, int] | None) -> int:
        """How many rows find a place: first where there is room, then one after the other, others making way."""
        room, placed = [*demand], 0
        flow: list[Counter[int]] = [Counter() for _ in demand]

        def place_one(left: int, tried: set[int]) -> bool:
            for right in self.meets[left]:
                if right in tried or demand[right] == 0 or (left, right) == without:
                    continue
                tried.add(right)
                others = [other for other, rows in flow[right].items() if rows and other != left]
                found = next((other for other in others if place_one(other, tried)), None) if not room[right] else left
                if found is not None:
                    room[right] -= int(found == left)
                    flow[right][found] -= int(found != left)
                    flow[right][left] += 1
                    return True
            return False

        for left, rows in enumerate(supply):
            for right in self.meets[left]:
                units = min(rows, room[right]) if (left, right) != without else 0
                rows, room[right], placed = rows - units, room[right] - units, placed + units
                flow[right][left] += units
            while rows and place_one(left, set()):
                rows, placed = rows - 1, placed + 1
        return placed
