"""Quasi-identifiers: how each is coded, what its cells may show, how much its detail matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from os import PathLike
from typing import Literal, cast, get_args

import numpy as np

from reissue.arrays.types import Float64, Int64
from reissue.errors import SchemaError
from reissue.hierarchy import RANGE, Hierarchy

Missing = Literal["refuse", "value"]
"""What a null means: an error in the snapshot, or a value of its own."""

NumericType = Literal["numeric", "int", "float", "date"]

Labels = Literal["groups", "ranges"]
"""What a cell of an attribute with a hierarchy may show: its groups, or any range of its values in its order."""

MOST_DECIMALS, MOST_WEIGHT = 6, 1000


@dataclass(frozen=True)
class Numeric:
    """Any range of numbers or dates is a legal generalization.

    type:     "numeric" takes the kind (int, float or date) from the first snapshot, for the life of the series
    decimals: digits kept of a float; without it, as many as the first snapshot needs (at most 6)
    missing:  overrides the schema's `missing`
    weight:   how much its detail matters beside that of the others
    """

    type: NumericType = "numeric"
    decimals: int | None = None
    missing: Missing | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.type not in get_args(NumericType):
            raise SchemaError(f"type is {self.type!r}. Allowed: {', '.join(get_args(NumericType))}.")
        if self.decimals is not None:
            if (
                isinstance(self.decimals, bool)
                or not isinstance(self.decimals, int)
                or not 0 <= self.decimals <= MOST_DECIMALS
            ):
                raise SchemaError(f"decimals is {self.decimals!r}. Give a whole number from 0 to {MOST_DECIMALS}.")
            if self.type in ("int", "date") and self.decimals:
                raise SchemaError(f'decimals is {self.decimals}, but type is "{self.type}". Use type = "float".')
        _check_common(self.missing, self.weight)

    def to_dict(self) -> dict[str, object]:
        given: dict[str, object] = {"type": self.type}
        if self.decimals is not None:
            given["decimals"] = self.decimals
        return {**given, **_describe_common(self)}


@dataclass(frozen=True)
class Categorical:
    """Generalized along a hierarchy; without one, values stand directly under `*` and are learned from the data.

    hierarchy: a Hierarchy, the path of a file, or a nested mapping or list
    missing:   overrides the schema's `missing`
    weight:    how much its detail matters beside that of the others
    labels:    "groups" of the hierarchy, or any "ranges" of its values, `first..last` in its order
    """

    hierarchy: Hierarchy
    missing: Missing | None = None
    weight: float = 1.0
    labels: Labels = "groups"

    def __init__(
        self,
        hierarchy: Hierarchy | str | PathLike[str] | Mapping[str, object] | Sequence[object] | None = None,
        missing: Missing | None = None,
        weight: float = 1.0,
        labels: Labels = "groups",
    ) -> None:
        if hierarchy is None:
            hierarchy = Hierarchy.flat()
        elif isinstance(hierarchy, str | PathLike):
            hierarchy = Hierarchy.from_file(hierarchy)
        elif not isinstance(hierarchy, Hierarchy):
            hierarchy = Hierarchy.from_nested(hierarchy)
        object.__setattr__(self, "hierarchy", hierarchy)
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "labels", labels)
        _check_common(missing, weight)
        if labels not in get_args(Labels):
            raise SchemaError(f"labels is {labels!r}. Allowed: {', '.join(get_args(Labels))}.")
        check_ranges(hierarchy, labels == "ranges")

    def to_dict(self) -> dict[str, object]:
        """Self-contained: the hierarchy itself, not the path it came from."""
        hierarchy = self.hierarchy
        given: dict[str, object]
        if hierarchy.rule is None:
            given = {"taxonomy": hierarchy.to_dict()}
        else:
            given = dict(hierarchy.rule.to_dict())
            if hierarchy.leaves:
                given["values"] = list(hierarchy.leaves)
        if self.labels != "groups":
            given["labels"] = self.labels
        return {**given, **_describe_common(self)}


Attribute = Numeric | Categorical


def breaks_ranges(label: str) -> bool:
    """Whether a range `first..last` could not be told from this label, or its ends not from each other."""
    return RANGE in label or label.startswith(".")


def check_ranges(hierarchy: Hierarchy, ranges: bool) -> None:
    """Refuse a hierarchy with labels that ranges could be confused with, if ranges are shown."""
    confusing = [label for label in hierarchy.all_labels if ranges and breaks_ranges(label)]
    if confusing:
        raise SchemaError(f"{refuse_dots(confusing[0])}.")


def refuse_dots(label: str) -> str:
    return f'labels = "ranges" writes first{RANGE}last, which {label!r} would confuse. Rename it, or use "groups"'


def _check_common(missing: str | None, weight: float) -> None:
    if missing not in (None, *get_args(Missing)):
        raise SchemaError(f"missing is {missing!r}. Allowed: {', '.join(get_args(Missing))}.")
    number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not number or not MOST_WEIGHT**-1 <= weight <= MOST_WEIGHT:
        raise SchemaError(
            f"weight is {weight!r}. Give a number from {1 / MOST_WEIGHT:g} to {MOST_WEIGHT:,}, such as 3."
        )


def _describe_common(attribute: Attribute) -> dict[str, object]:
    given: dict[str, object] = {} if attribute.missing is None else {"missing": attribute.missing}
    return given if attribute.weight == 1 else {**given, "weight": attribute.weight}


def restore_attribute(given: Mapping[str, object]) -> Attribute:
    """The inverse of an attribute's `to_dict`."""
    rest = {key: value for key, value in given.items() if key not in ("missing", "weight", "labels")}
    missing, weight = cast("Missing | None", given.get("missing")), cast("float", given.get("weight", 1.0))
    if rest.get("type") in get_args(NumericType) and "levels" not in rest:
        return Numeric(cast("NumericType", rest["type"]), cast("int | None", rest.get("decimals")), missing, weight)
    hierarchy = Hierarchy.from_dict(cast("Mapping[str, object]", rest.get("taxonomy", rest)))
    return Categorical(hierarchy, missing, weight, cast("Labels", given.get("labels", "groups")))


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
