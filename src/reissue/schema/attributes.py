"""The kinds of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Literal, get_args

from reissue.errors import SchemaError
from reissue.hierarchy import Hierarchy

Missing = Literal["refuse", "value"]
"""What a null means: an error in the snapshot, or a value of its own."""

NumericType = Literal["numeric", "int", "float", "date"]

MOST_DECIMALS = 6


@dataclass(frozen=True)
class Numeric:
    """Any range of numbers or dates is a legal generalization.

    type:     "numeric" takes the kind (int, float or date) from the first snapshot, for the life of the series
    decimals: digits kept of a float; without it, as many as the first snapshot needs (at most 6)
    missing:  overrides the schema's `missing`
    """

    type: NumericType = "numeric"
    decimals: int | None = None
    missing: Missing | None = None

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
        _check_missing(self.missing)

    def to_dict(self) -> dict[str, object]:
        given: dict[str, object] = {"type": self.type}
        if self.decimals is not None:
            given["decimals"] = self.decimals
        return given if self.missing is None else {**given, "missing": self.missing}

    def summary(self) -> dict[str, object]:
        """In the shape of the config, for people to read."""
        return self.to_dict()


@dataclass(frozen=True)
class Categorical:
    """Generalized along a hierarchy; without one, values stand directly under `*` and are learned from the data.

    hierarchy: a Hierarchy, the path of a file, or a nested mapping or list
    missing:   overrides the schema's `missing`
    """

    hierarchy: Hierarchy
    missing: Missing | None = None

    def __init__(
        self,
        hierarchy: Hierarchy | str | PathLike[str] | Mapping[str, object] | Sequence[object] | None = None,
        missing: Missing | None = None,
    ) -> None:
        if hierarchy is None:
            hierarchy = Hierarchy.flat()
        elif isinstance(hierarchy, str | PathLike):
            hierarchy = Hierarchy.from_file(hierarchy)
        elif not isinstance(hierarchy, Hierarchy):
            hierarchy = Hierarchy.from_nested(hierarchy)
        object.__setattr__(self, "hierarchy", hierarchy)
        object.__setattr__(self, "missing", missing)
        _check_missing(missing)

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
        return given if self.missing is None else {**given, "missing": self.missing}

    def summary(self) -> dict[str, object]:
        """In the shape of the config, for people to read; a fixed hierarchy is only counted, not listed."""
        given = {key: item for key, item in self.to_dict().items() if key != "values"}
        if given.pop("taxonomy", None) is not None:
            groups = len(self.hierarchy.all_labels) - len(self.hierarchy.leaves)
            given = {"hierarchy": f"{len(self.hierarchy.leaves)} values in {groups} groups", **given}
        return given


Attribute = Numeric | Categorical


def _check_missing(missing: str | None) -> None:
    if missing not in (None, *get_args(Missing)):
        raise SchemaError(f"missing is {missing!r}. Allowed: {', '.join(get_args(Missing))}.")
