"""People for series in fragments: enough of them in every fragment, coming, going, and carrying a note."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import reissue as ri
from reissue.methods.strategy import Strategy

VALUES = ("asthma", "cold", "diabetes", "flu", "gout", "migraine", "ulcer", "none")

SCHEMA = ri.Schema(
    identifier="name",
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [2, 1]}},
    sensitive="diagnosis",
)
NOTED = ri.Schema(
    identifier="name",
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [2, 1]}},
    sensitive="diagnosis",
    insensitive=["note"],
)

STRATEGIES: list[Strategy] = [
    ri.Static(k=5, c=0.6),
    ri.Static(k=5, t=0.3),
    ri.Merge(k=5, c=0.6),
    ri.CheckedMondrian(k=4, c=0.7),
    ri.MInvariance(m=3),
    ri.EEquivalence(m=3, e=2),
    ri.CorSplit(m=3, n=1),
    ri.BayFrame(k=5, J=0.7, beta=4.0),
    ri.JSReduce(k=5, t=0.5, J=0.7),
    ri.BCF(k=5),
]
"""Every strategy whose guarantee holds for a table made fragment by fragment."""


@dataclass(frozen=True)
class Turnover:
    arrive: int
    leave: float = 0.0


INSERTS = Turnover(150)
CHURN = Turnover(150, leave=0.15)


class People:
    """A population by seed. Values come in equal shares, so that every fragment is eligible for m = 3."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._born = 0
        self._rows: list[tuple[str, int, str, str, str]] = []
        self._away: list[tuple[str, int, str, str, str]] = []

    def _arrive(self, count: int) -> None:
        for i in range(self._born, self._born + count):
            age, place = int(self._rng.integers(20, 80)), int(self._rng.integers(100, 160))
            self._rows.append((f"P{i:05d}", age, str(place), VALUES[(i * 5 + i // 8) % len(VALUES)], f"note {i % 17}"))
        self._born += count

    def months(self, count: int, turnover: Turnover, first: int = 900) -> list[pa.Table]:
        """`count` snapshots; some of those who left come back."""
        self._arrive(first)
        tables = [self._table()]
        for _ in range(count - 1):
            stay = self._rng.random(len(self._rows)) >= turnover.leave
            back, self._away = self._away[::2], self._away[1::2]
            self._away += [row for row, here in zip(self._rows, stay, strict=True) if not here]
            self._rows = [row for row, here in zip(self._rows, stay, strict=True) if here] + back
            self._arrive(turnover.arrive)
            tables.append(self._table())
        return tables

    def _table(self) -> pa.Table:
        order = self._rng.permutation(len(self._rows))
        columns = list(zip(*(self._rows[i] for i in order), strict=True))
        return pa.table(dict(zip(("name", "age", "zip", "diagnosis", "note"), map(list, columns), strict=True)))
