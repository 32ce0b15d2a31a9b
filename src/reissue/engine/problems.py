"""Collects everything that is wrong with a snapshot, to tell it all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from reissue.core.domain import Int64
from reissue.engine.text import Text
from reissue.errors import SnapshotError

SHOWN = 3
"""How many rows or values a problem names."""


@dataclass(frozen=True)
class _Problem:
    before: str
    rows: tuple[int, ...]  # from 0; the first few
    total: int
    after: str


@dataclass(eq=False)
class Problems:
    """name: what the source is called; lines: for text files, the line numbers of data rows (both from 1)."""

    name: str
    lines: Callable[[Sequence[int]], list[int]] | None
    found: list[_Problem] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        """A problem of the whole table or column."""
        self.found.append(_Problem(sentence, (), 0, ""))

    def rows(self, before: str, rows: Int64, after: str) -> None:
        """A problem of some rows (from 0), told as "<before> in row 3 (line 4) and 2 more. <after>"."""
        if len(rows):
            shown = np.sort(rows)[:SHOWN].tolist()
            self.found.append(_Problem(before, tuple(shown), len(rows), after))

    def labels(self, column: str, text: Text, bad: Int64, what: str, after: str) -> None:
        """Labels (places among text.labels) that are wrong, told in the order in which they first occur."""
        bad = bad[text.counts[bad] > 0]
        first = bad[np.argsort(text.first[bad])]
        for place in first[:SHOWN].tolist():
            count = int(text.counts[place])
            before = f"Column '{column}': {text.labels[place]!r} is {what},"
            self.found.append(_Problem(before, (int(text.first[place]),), count, after))
        if len(first) > SHOWN:
            rest = text.counts[first[SHOWN:]].sum()
            self.add(f"Column '{column}': {len(first) - SHOWN:,} more values, in {rest:,} rows, are {what}.")

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
        wanted = sorted({row + 1 for problem in self.found for row in problem.rows})
        line = dict(zip(wanted, self.lines(wanted), strict=True)) if self.lines and wanted else {}
        return [
            f"{problem.before} in {_places(problem.rows, problem.total, line)}. {problem.after}"
            if problem.rows
            else problem.before
            for problem in self.found
        ]


def _places(rows: Sequence[int], total: int, line: dict[int, int]) -> str:
    """ "rows 3, 7 (lines 4, 8) and 2 more"; rows from 0 in, from 1 out."""
    numbers = [row + 1 for row in rows]
    many = "s" if len(numbers) > 1 else ""
    text = f"row{many} {', '.join(map(str, numbers))}"
    if line:
        text += f" (line{many} {', '.join(str(line[number]) for number in numbers)})"
    return text + (f" and {total - len(numbers):,} more" if total > len(numbers) else "")
