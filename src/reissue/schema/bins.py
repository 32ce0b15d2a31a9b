"""Bins turn a numeric sensitive value into a category such as "20000 to under 50000"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

import numpy as np

from reissue.arrays.types import Float64, Int64
from reissue.errors import SchemaError


@dataclass(frozen=True)
class Bins:
    """Bins between `edges` (below the first and from the last on are bins too), or of equal `width` from `start`.

    A value on an edge belongs to the bin above it.
    """

    edges: tuple[int | float, ...] = ()
    width: int | float | None = None
    start: int | float = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(self.edges))
        numbers = [*self.edges, self.start, *([] if self.width is None else [self.width])]
        if not all(isinstance(n, int | float) and not isinstance(n, bool) and isfinite(n) for n in numbers):
            raise SchemaError(f"bins: received {numbers!r}. Give numbers.")
        if bool(self.edges) == (self.width is not None):
            raise SchemaError("bins: give either edges such as [0, 20000, 50000] or {width = 10000}.")
        if any(b <= a for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise SchemaError(f"bins: the edges {list(self.edges)} must rise from one to the next.")
        if self.width is not None and self.width <= 0:
            raise SchemaError(f"bins: width is {self.width}. It must be above 0.")

    def index(self, values: Float64) -> Int64:
        """int64[n]: the number of each value's bin; with edges, 0 is the bin below the first. NaN is not allowed."""
        values = np.asarray(values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError("bins need finite numbers; nulls are handled before")
        if self.width is None:
            return np.searchsorted(np.array(self.edges, dtype=np.float64), values, side="right").astype(np.int64)
        found = np.floor((values - self.start) / self.width)
        # the division may round across an edge; the edges as labelled decide
        found -= values < self.start + found * self.width
        found += values >= self.start + (found + 1) * self.width
        return found.astype(np.int64)

    def name(self, index: int) -> str:
        """The label of a bin."""
        if self.width is not None:
            start, width = Decimal(str(self.start)), Decimal(str(self.width))
            return f"{_text(start + index * width)} to under {_text(start + (index + 1) * width)}"
        edges = [_text(Decimal(str(edge))) for edge in self.edges]
        if index <= 0:
            return f"below {edges[0]}"
        return f"{edges[-1]} and over" if index >= len(edges) else f"{edges[index - 1]} to under {edges[index]}"

    def labels(self, values: Float64) -> list[str]:
        """The bin's label of each value; each bin is named once."""
        found, inverse = np.unique(self.index(values), return_inverse=True)
        names = [self.name(index) for index in found.tolist()]
        return [names[i] for i in inverse.tolist()]

    def to_dict(self) -> dict[str, object]:
        return {"edges": list(self.edges)} if self.edges else {"width": self.width, "start": self.start}

    @staticmethod
    def of(given: object) -> Bins:
        """From what a config says: a list of edges, or a table with width (and start)."""
        if isinstance(given, Bins):
            return given
        if isinstance(given, list | tuple):
            return Bins(edges=tuple(given))
        if isinstance(given, Mapping) and given and set(given) <= {"edges", "width", "start"}:
            return Bins(**{str(key): item for key, item in given.items()})
        raise SchemaError(f"bins: received {given!r}. Write edges such as [0, 20000, 50000], or {{width = 10000}}.")


def _text(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
