"""Collects everything that is wrong with a snapshot, to tell it all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from reissue.arrays.types import Int64
from reissue.engine.text import Text
from reissue.errors import SnapshotError

SHOWN = 3
"""How many rows or values a problem names."""


class Check(IntEnum):
    """What is tested of a column, in this order. A column that fails one of the first four is not tested further."""

    TYPE = 0
    READABLE = 1
    SIZE = 2
    WHOLE = 3
    VALUE = 4
    FORM = 5
    LIMIT = 6
    EMPTY = 7
    RESERVED = 8
    REPEATED = 9

    @property
    def ends(self) -> bool:
        return self <= Check.WHOLE


@dataclass(frozen=True)
class SnapshotProblem:
    """A problem of the whole table ("" is its column), of a column, or of some of its rows.

    rows: the first few, from 0; total: of how many
    """

    column: str
    check: Check
    before: str
    rows: tuple[int, ...] = ()
    total: int = 0
    after: str = ""


@dataclass(frozen=True, eq=False)
class WrongLabels:
    """Labels of a column that are wrong, in the order in which they first occur.

    counts: int64[labels] rows of each; first: int64[labels] the first of them, from 0
    total: where only some labels are listed, of some of the rows: how many rows are wrong in all
    """

    column: str
    check: Check
    what: str
    after: str
    labels: Sequence[str]
    counts: Int64
    first: Int64
    total: int = 0

    @property
    def rows(self) -> int:
        """How many rows are wrong."""
        return self.total or int(self.counts.sum())

    def problems(self) -> list[SnapshotProblem]:
        shown = zip(self.labels[:SHOWN], self.counts[:SHOWN].tolist(), self.first[:SHOWN].tolist(), strict=True)
        head = f"Column '{self.column}':"
        told = [
            SnapshotProblem(self.column, self.check, f"{head} {label!r} is {self.what},", (row,), count, self.after)
            for label, count, row in shown
        ]
        if self.total:
            told = [replace(one, total=1) for one in told]
            told.append(SnapshotProblem(self.column, self.check, f"{head} {self.total:,} rows in all are {self.what}."))
        elif len(self.labels) > SHOWN:
            values, rows = len(self.labels[SHOWN:]), int(self.counts[SHOWN:].sum())
            sentence = f"{head} {values:,} more values, in {rows:,} rows, are {self.what}."
            told.append(SnapshotProblem(self.column, self.check, sentence))
        return told


@dataclass(eq=False)
class Problems:
    """name: what the source is called; lines: for text files, the line numbers of data rows (both from 1).

    ordered: whether its rows have an order, so that it says something which ones are wrong
    """

    name: str
    lines: Callable[[Sequence[int]], list[int]] | None
    ordered: bool = True
    found: list[SnapshotProblem | WrongLabels] = field(default_factory=list)

    def add(self, sentence: str, column: str = "", check: Check = Check.TYPE) -> None:
        """A problem of the whole table or column."""
        self.found.append(SnapshotProblem(column, check, sentence))

    def rows(self, column: str, check: Check, before: str, rows: Int64, after: str, total: int | None = None) -> None:
        """A problem of some rows (from 0), told as "<before> in row 3 (line 4) and 2 more. <after>".

        total: how many rows there are, if not all are given
        """
        if len(rows):
            shown = np.sort(rows)[:SHOWN].tolist()
            self.found.append(SnapshotProblem(column, check, before, tuple(shown), total or len(rows), after))

    def labels(self, column: str, check: Check, text: Text, bad: Int64, what: str, after: str) -> None:
        """Labels (places among text.labels) that are wrong."""
        bad = bad[text.counts[bad] > 0]
        bad = bad[np.argsort(text.first[bad])]
        if len(bad):
            labels = [text.labels[place] for place in bad.tolist()]
            self.found.append(WrongLabels(column, check, what, after, labels, text.counts[bad], text.first[bad]))

    def refuse(self) -> None:
        """Raise if anything was found."""
        if not self.found:
            return
        sentences = self._sentences()
        head = f"{self.name} does not fit the schema"
        if len(sentences) == 1:
            raise SnapshotError(f"{head}. {sentences[0]}")
        raise SnapshotError("\n- ".join([f"{head}; {len(sentences)} problems:", *sentences]))

    def _sentences(self) -> list[str]:
        found = [one for some in self.found for one in (some.problems() if isinstance(some, WrongLabels) else [some])]
        wanted = sorted({row + 1 for problem in found for row in problem.rows})
        line = dict(zip(wanted, self.lines(wanted), strict=True)) if self.lines and wanted else {}
        return [
            f"{problem.before} in {self._places(problem.rows, problem.total, line)}. {problem.after}"
            if problem.rows
            else problem.before
            for problem in found
        ]

    def _places(self, rows: Sequence[int], total: int, line: dict[int, int]) -> str:
        """ "rows 3, 7 (lines 4, 8) and 2 more"; rows from 0 in, from 1 out."""
        if not self.ordered:
            return f"{total:,} rows" if total > 1 else "a row"
        numbers = [row + 1 for row in rows]
        many = "s" if len(numbers) > 1 else ""
        text = f"row{many} {', '.join(map(str, numbers))}"
        if line:
            text += f" (line{many} {', '.join(str(line[number]) for number in numbers)})"
        return text + (f" and {total - len(numbers):,} more" if total > len(numbers) else "")
