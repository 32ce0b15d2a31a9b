"""What was read of immutable files and is needed again: every publish lays the new release beside all earlier ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 1 << 26
"""Bytes that are kept in all."""
MOST_OF_ONE = MOST >> 4
"""What is larger is read again: few releases would fit beside it, and there are never so many of them."""


class Kept:
    """What was made of files, by their hashes, for as long as a series is open; what was used longest ago goes first.

    Nobody may change what it holds. It is not sent to workers: elsewhere it begins empty.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes, self._lock = 0, Lock()

    def take(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """What is kept by that key; else what `make` makes, of so many bytes."""
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
                made: T = found[0]
                return made
        made = make()
        most = size(made)
        if most <= MOST_OF_ONE:
            with self._lock:
                if key not in self._held:
                    self._held[key] = made, most
                    self._bytes += most
                while self._bytes > MOST:
                    self._bytes -= self._held.popitem(last=False)[1][1]
        return made

    def find(self, key: Hashable) -> Any:
        """What is kept by that key, or None."""
        with self._lock:
            return self._held.get(key, (None,))[0]

    def clear(self) -> None:
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()
