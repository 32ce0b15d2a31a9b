"""The verbs every engine implements, and nothing more.

A table is a bag of rows under named columns: engines that spread rows over machines keep no order, so no verb may
depend on one. Where an order matters it is asked for, `order` names columns, and rows that tie are told apart by all
other columns in the order of their names; rows that still tie are equal and therefore interchangeable. Text sorts
by its UTF-8 bytes, false before true, NaN after every number, null before everything.
So every verb gives the same result on every engine, however the rows are partitioned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

    from reissue.engine.read import Source

Columns = Mapping[str, NDArray[np.generic]]
"""Named NumPy columns of equal length. Text is an object array of str and None."""

Kernel = Callable[[Columns], Columns]
"""Pure NumPy: the columns of one group in, columns of any common length out. It may run in another process."""

Kind = Literal["int32", "int64", "float64", "bool", "text"]
"""The kinds of column that kernels may return."""

How = Literal["inner", "left", "semi", "anti"]
Format = Literal["parquet", "csv"]

T = TypeVar("T")


class Engine(ABC, Generic[T]):
    """Tables of type T (a data frame of the engine), and the few things done with them."""

    @abstractmethod
    def read(self, source: Source, columns: Sequence[str]) -> T:
        """The named columns of a source; text files give text, and their empty fields are null."""

    @abstractmethod
    def join(self, left: T, right: T, on: Sequence[str], how: How) -> T:
        """Rows of `left` with the columns of their matches in `right`; null matches nothing.

        "left" keeps unmatched rows with nulls; "semi" and "anti" keep the left rows that have a match, or none.
        Columns other than `on` must have different names on both sides.
        """

    @abstractmethod
    def count(self, table: T, by: Sequence[str]) -> T:
        """One row per distinct combination of `by`, with its number of rows in `count` (int64); null is a value."""

    @abstractmethod
    def number(self, table: T, within: Sequence[str], order: Sequence[str], name: str) -> T:
        """The table with a column `name` (int64): 0, 1, ... for the rows of each group `within`, in `order`."""

    @abstractmethod
    def map_groups(
        self, table: T, by: Sequence[str], order: Sequence[str], kernel: Kernel, returns: Mapping[str, Kind]
    ) -> T:
        """Run the kernel on the rows of each group, in `order`; the result has `by` and the columns it `returns`.

        The kernel sees all columns. Meant for few large groups (fragments), not for millions of small ones.
        """

    @abstractmethod
    def write(self, table: T, path: Path, format: Format, order: Sequence[str]) -> None:
        """One file with the rows in `order`; the same rows give the same bytes."""

    @abstractmethod
    def columns(self, table: T, order: Sequence[str]) -> dict[str, NDArray[np.generic]]:
        """The table in this process as NumPy, rows in `order`. A column of numbers must not hold nulls."""

    @abstractmethod
    def arrow(self, table: T, order: Sequence[str]) -> pa.Table:
        """The table in this process as Arrow, rows in `order`."""

    @abstractmethod
    def table(self, columns: Columns | pa.Table) -> T:
        """A table from NumPy columns (see `Columns`) or from an Arrow table."""
