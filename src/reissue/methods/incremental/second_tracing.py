"""Record tracing a second time: rows are moved one at a time, in plain dictionaries (see `second_check`)."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from reissue.arrays.types import Bool, Int32
from reissue.methods.plain_release import FEW, PlainRelease

STARTS = 3, 20_000
"""Of larger ones, so many classes and one more for so many rows, with all classes that their boxes meet."""


def find_trace(older: PlainRelease, newer: PlainRelease, k: int, rng: np.random.Generator) -> str | None:
    """A row of the older release that boxes and values narrow down to fewer than k people; None if none was found.

    Only where every row of the older release is that of somebody who is still there with the same value: then the true
    places of all rows are one way to place them, and every other way is reached by moving rows one at a time.
    """
    many = len(older.subjects)
    if many == 0 or not (older.all_real and np.array_equal(older.subjects, newer.subjects[:many])):
        return None
    if not np.array_equal(older.members.values, newer.members.values[:many]):
        return None
    known = _Known(older, newer, rng)
    for value in sorted(known.places):
        found = _Placing(known, value, k).find_trace()
        if found is not None:
            return found
    return None


class _Known:
    """The classes that are looked at, and where the people of the older release are in them.

    lefts: classes of the older release whose rows are traced; rights: newer classes whose rows are known; a row may
    always go to another one. places: value -> newer class -> how many of its rows come from each older class;
    shared: how many people (older class, newer class) have in common, who fit both boxes for sure
    """

    def __init__(self, older: PlainRelease, newer: PlainRelease, rng: np.random.Generator) -> None:
        self.older, self.newer = older, newer
        self._meets: dict[int, list[int]] = {}
        left, right, many = len(older.boxes), len(newer.boxes), len(older.subjects)
        if left + right <= FEW:
            self.lefts, self.rights = [*range(left)], [*range(right)]
        else:
            some = min(left, STARTS[0] + many // STARTS[1])
            self.lefts = np.sort(rng.choice(left, some, replace=False)).tolist()
            self.rights = sorted(set().union(*(self.reach(own) for own in self.lefts)))
        newer.count_values(self.rights)
        newer.find_people(self.rights)
        self.places: dict[int, dict[int, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
        self.shared: Counter[tuple[int, int]] = Counter()
        rows = np.concatenate([newer.people[own] for own in self.rights])
        rows = rows[rows < many]
        home, values = newer.classes[rows].tolist(), newer.members.values[rows].tolist()
        for value, own, came in zip(values, home, older.classes[rows].tolist(), strict=True):
            self.places[value][own][came] += 1
            self.shared[came, own] += 1
        self._near = older.members.codes[rows]

    def reach(self, left: int) -> list[int]:
        """The newer classes that the box of a class of the older release meets."""
        if left not in self._meets:
            self._meets[left] = self.newer.find_meeting(self.older.boxes[left])
        return self._meets[left]

    def count_people(self, box: Int32, others: Int32, k: int) -> int:
        """How many people of the older release lie in a box and in one of some others; k stands for k and more."""
        near = _count_inside(self._near, box, others)
        return k if near >= k else _count_inside(self.older.members.codes, box, others)


class _Placing:
    """All rows of one value at their true places, and how they can be moved.

    flow: of each newer class, how many of its rows come from each older one; room: rows of it that are new
    """

    def __init__(self, known: _Known, value: int, k: int) -> None:
        self.known, self.value, self.k = known, value, k
        self.flow = {own: known.places[value][own].copy() for own in known.rights}
        self.room = {own: int(known.newer.counts[own][value]) - self.flow[own].total() for own in known.rights}
        self.sends: dict[int, list[int]] = defaultdict(list)
        for right, rows in self.flow.items():
            for left in rows:
                self.sends[left].append(right)

    def find_trace(self) -> str | None:
        """A row whose possible classes, one class it must be in, or one class it must come from leave fewer than k."""
        older, newer = self.known.older, self.known.newer
        for left in self.known.lefts:
            thin = [right for right in self.sends[left] if self.known.shared[left, right] < self.k]
            if thin and len(thin) == len(self.sends[left]) and self._narrows(left, thin):
                return self._tell(f"class {left} of {{release:{older.number}}}")
            for right in thin:
                few = self._few(older.boxes[left], newer.boxes[[right]])
                if few and not self._can_move([left], right, shut=False):
                    return self._tell(f"class {left} of {{release:{older.number}}} in class {right}")
        for right in self.known.rights:
            come = [left for left, rows in self.flow[right].items() if rows]
            wide = any(self.known.shared[left, right] >= self.k for left in come)
            if come and not wide and self._narrows_back(right, come) and not self._can_move(come, right, shut=True):
                return self._tell(f"class {right} of {{release:{newer.number}}}")
        return None

    def _narrows(self, left: int, sent: list[int]) -> bool:
        """Whether fewer than k people fit the box of a left class cut with all that its rows can be in."""
        box, boxes = self.known.older.boxes[left], self.known.newer.boxes
        if not self._few(box, boxes[sent]):
            return False
        possible = [right for right in self.known.reach(left) if self._is_possible(left, right)]
        return self._few(box, boxes[possible])

    def _narrows_back(self, right: int, come: list[int]) -> bool:
        """Whether fewer than k people fit the box of a right class cut with all that its rows can come from."""
        box, older = self.known.newer.boxes[right], self.known.older
        if not self._few(box, older.boxes[come]):
            return False
        meeting = older.find_meeting(box)
        older.count_values(meeting)
        possible = [left for left in meeting if older.counts[left][self.value] and self._is_possible(left, right)]
        return self._few(box, older.boxes[possible])

    def _is_possible(self, left: int, right: int) -> bool:
        """Whether one row of the left class could be in the right one, others making way."""
        if right not in self.room or self.flow[right][left]:
            return True
        if self.known.newer.counts[right][self.value] == 0:
            return False
        return self._find_way(left, right, {*self.sends[left]}, None) is not None

    def _can_move(self, lefts: list[int], right: int, *, shut: bool) -> bool:
        """Whether all rows of some lefts in one class can be elsewhere; shut: no other may come there instead."""
        flow, room = {own: rows.copy() for own, rows in self.flow.items()}, self.room.copy()
        try:
            for left in lefts:
                rows, self.flow[right][left] = self.flow[right][left], 0
                self.room[right] += 0 if shut else rows
                if not all(self._move_one(left, right, shut) for _ in range(rows)):
                    return False
            return True
        finally:
            self.flow, self.room = flow, room

    def _move_one(self, left: int, avoided: int, shut: bool) -> bool:
        """Place one row of a left class without the avoided class; whoever makes way may go there unless it is shut."""
        for start in self.known.reach(left):
            if start == avoided or (start in self.room and self.known.newer.counts[start][self.value] == 0):
                continue
            way = self._find_way(left, start, set(), avoided if shut else None)
            if way is not None:
                self._take(left, way)
                return True
        return False

    def _find_way(self, own: int, start: int, ends: set[int], shut: int | None) -> list[tuple[int, int]] | None:
        """Who makes way so that a row of a left class finds room in a right one: (who moves on, from where), in order.

        Breadth first; the end of the way is (-1, where there is room). ends: classes that count as having room, as does
        one that is not known; shut: a class that nobody may go to.
        """
        came: dict[int, tuple[int, int] | None] = {start: None}
        for right in (queue := [start]):
            if right not in self.room or self.room[right] > 0 or right in ends:
                way, at = [(-1, right)], came[right]
                while at is not None:
                    way.append(at)
                    at = came[at[1]]
                return way[::-1]
            for left in [left for left, rows in self.flow[right].items() if rows and left != own]:
                for other in self.known.reach(left):
                    empty = other in self.room and self.known.newer.counts[other][self.value] == 0
                    if other not in came and other != shut and not empty:
                        came[other] = (left, right)
                        queue.append(other)
        return None

    def _take(self, left: int, way: list[tuple[int, int]]) -> None:
        """Let a row of a left class come to the first class of a way, and those that make way move on."""
        for mover, right in way:
            if right in self.room:
                self.flow[right][left] += 1
                if mover < 0:
                    self.room[right] -= 1
                else:
                    self.flow[right][mover] -= 1
            left = mover

    def _few(self, box: Int32, others: Int32) -> bool:
        """Whether fewer than k people lie in a box and in one of some others."""
        return self.known.count_people(box, others, self.k) < self.k

    def _tell(self, what: str) -> str:
        return f"rows of {{value:{self.value}}} of {what} can be those of fewer than {self.k} people (record tracing)"


def _inside(codes: Int32, box: Int32) -> Bool:
    inside = np.ones(len(codes), dtype=np.bool_)
    for a in range(codes.shape[1]):
        inside &= (codes[:, a] >= box[a, 0]) & (codes[:, a] <= box[a, 1])
    return inside


def _count_inside(codes: Int32, box: Int32, others: Int32) -> int:
    codes = codes[_inside(codes, box)]
    return int(np.any([_inside(codes, other) for other in others], axis=0).sum())
