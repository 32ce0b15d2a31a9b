"""Rows that still need a signature, by value: which sets of values can go so that the rest stays m-eligible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from reissue.arrays.types import Int64


class ValuesLeft:
    """How many rows of each value are still to be assigned, the most frequent first, then by number.

    Counts only fall, so what the heap says of a value that was taken since is an upper bound, put right when it comes
    up. Every value is in it once.
    """

    def __init__(self, rest: Int64) -> None:
        self.left: list[int] = rest.tolist()
        self.rows: int = sum(self.left)
        self._heap = [(-count, value) for value, count in enumerate(self.left) if count]
        heapify(self._heap)

    def take(self, values: Sequence[int], number: int) -> None:
        """Rows of each of these go into `number` sets."""
        for value in values:
            self.left[value] -= number
        self.rows -= number * len(values)

    def take_most_frequent(self, m: int) -> tuple[list[int], int]:
        """The b >= m most frequent values go, in as many sets as leave the others m-eligible. O(b log values).

        b is m, unless more than m values tie at the limit: then the smallest b that lets at least one set go.
        """
        top: list[int] = []
        number, size = 0, m - 1
        while number <= 0:
            size += 1
            while len(top) <= size and self._heap:
                self._pop(top)
            if len(top) < size:
                raise RuntimeError("The rows to assign are not m-eligible.")
            following = self.left[top[size]] if len(top) > size else 0
            number = min(self.left[top[size - 1]], (self.rows - m * following) // size)
            if size > m:
                number = min(number, (self.rows - m * self.left[top[0]]) // (size - m))
        self.take(top[:size], number)
        self._push(top)
        return top[:size], number

    def count_sets(self, values: Sequence[int], m: int) -> int:
        """How many sets of these can go so that the rest stays m-eligible; it only ever falls, too. O(b log values).

        A set takes at least m rows and at most one of the most frequent value outside, so rows - m x that only falls.
        """
        counts, size = [self.left[value] for value in values], len(values)
        number = min(counts)
        if number <= 0:
            return 0
        top: list[int] = []
        while self._heap and (not top or top[-1] in values):
            self._pop(top)
        outside = [self.left[value] for value in top[-1:] if value not in values]  # it limits how many rows may go
        self._push(top)
        number = min(number, (self.rows - m * max(outside, default=0)) // size)
        if size > m:
            number = min(number, (self.rows - m * max(counts)) // (size - m))
        return number

    def _pop(self, top: list[int]) -> None:
        """Move the most frequent value to `top`, if any is left."""
        while self._heap:
            count, value = heappop(self._heap)
            if self.left[value] == -count:
                top.append(value)
                return
            self._push([value])

    def _push(self, values: Iterable[int]) -> None:
        for value in values:
            if self.left[value]:
                heappush(self._heap, (-self.left[value], value))
