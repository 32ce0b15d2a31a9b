"""Sequences whose items are made when they are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Asked(Sequence[T_co]):
    """A sequence that knows its length, and makes or reads an item when somebody asks for it."""

    @abstractmethod
    def at(self, position: int) -> T_co:
        """The item at a position from 0 on."""

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        if isinstance(index, slice):
            return [self.at(position) for position in range(*index.indices(len(self)))]
        return self.at(range(len(self))[index])

    def __iter__(self) -> Iterator[T_co]:
        """Not by asking until an IndexError comes: one that making an item raises must not end the sequence early."""
        return (self.at(position) for position in range(len(self)))
