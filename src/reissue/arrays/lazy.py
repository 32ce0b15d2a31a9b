"""Sequences whose items are made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class LazySequence(Sequence[T_co]):
    """A sequence of known length whose items are made whenever one is asked for; none is kept.

    read: makes the item at a position from 0 on. Who keeps items gives none and overrides `at`: a method of its own
    would be a circle, and what it has read would outlive it.
    """

    def __init__(self, length: int, read: Callable[[int], T_co] | None = None) -> None:
        self._length, self._make = length, read

    def at(self, position: int) -> T_co:
        """The item at a position from 0 on."""
        assert self._make is not None
        return self._make(position)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        if isinstance(index, slice):
            return [self.at(position) for position in range(*index.indices(self._length))]
        return self.at(range(self._length)[index])

    def __iter__(self) -> Iterator[T_co]:
        """Not by asking until an IndexError comes: one that making an item raises must not end the sequence early."""
        return (self.at(position) for position in range(self._length))
