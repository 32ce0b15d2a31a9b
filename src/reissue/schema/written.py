"""A quasi-identifier as people write it in a config: exactly one way to code it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PlainValidator, field_validator

from reissue.errors import SchemaError
from reissue.hierarchy import Hierarchy
from reissue.hierarchy.rules import Intervals, Prefix
from reissue.schema.problems import Strict, read_table, validate
from reissue.schema.roles import Attribute, Categorical, Missing, Numeric, NumericType


class _AttributeTable(Strict):
    type: Literal["numeric", "int", "float", "date", "categorical"] | None = None
    decimals: int | None = None
    levels: list[str] | None = None
    hierarchy: object = None
    intervals: object = None
    prefix: object = None
    values: list[str] | None = None
    taxonomy: dict[str, object] | None = None
    missing: Missing | None = None

    @field_validator("levels", "values", mode="before")
    @classmethod
    def _listed(cls, given: object) -> object:
        return list(given) if isinstance(given, tuple) else given


def _number(given: object) -> object:
    """Whole numbers stay whole: they decide how intervals are labelled."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError("It should be a number")
    return given


Number = Annotated[int | float, PlainValidator(_number)]


class _IntervalsTable(Strict):
    width: Number | None = None
    widths: list[Number] | None = None
    levels: int = 1
    factors: list[int] | None = None
    start: Number = 0


class _PrefixTable(Strict):
    lengths: list[int] = Field(default=[])
    step: int = 0


def attribute_of(name: str, given: Mapping[str, object]) -> Attribute:
    """One quasi-identifier in the shape of the config."""
    attribute, problems = read_attribute(f"quasi_identifiers.{name}", given, Path())
    if attribute is None:
        raise SchemaError("\n".join(problems))
    return attribute


def read_attribute(path: str, given: object, base: Path) -> tuple[Attribute | None, list[str]]:
    """(the attribute, or None if something is wrong with it; what is wrong). path: its key in messages."""
    if isinstance(given, Numeric | Categorical):
        return given, []
    if not isinstance(given, Mapping):
        return None, [
            f'{path}: received {given!r}. Write a table such as {{ type = "numeric" }} or {{ hierarchy = "zip.csv" }}.'
        ]
    table, problems = validate(_AttributeTable, dict(given), path)
    if table is None:
        return None, problems
    try:
        return _build(table, base), []
    except SchemaError as error:
        return None, [f"{path}: {error}"]


def _build(table: _AttributeTable, base: Path) -> Attribute:
    """The attribute of a table; exactly one way to code it must be given."""
    ways = [way for way in ("hierarchy", "intervals", "prefix", "taxonomy") if getattr(table, way) is not None]
    if len(ways) > 1 or (ways and table.type not in (None, "categorical")):
        kinds = [*ways, *([f'type = "{table.type}"'] if table.type else [])]
        raise SchemaError(f"{' and '.join(kinds)} are given. Keep one of them.")
    if not ways and table.type is None:
        raise SchemaError(
            'nothing says how it is coded. Give type = "numeric", "int", "float", "date" or "categorical", '
            "or one of hierarchy, intervals, prefix."
        )
    if table.levels is not None and table.type != "date":
        raise SchemaError('levels are for dates only. Add type = "date", or remove them.')
    if not ways and table.type not in (None, "categorical") and table.levels is None:
        if table.values is not None:
            raise SchemaError("values are for attributes with a hierarchy. Remove them.")
        return Numeric(_numeric_type(table.type), table.decimals, table.missing)
    if table.decimals is not None:
        raise SchemaError("decimals are for numeric attributes only. Remove them.")
    return Categorical(_hierarchy(table, base).grow(table.values or ()), table.missing)


def _numeric_type(given: str | None) -> NumericType:
    kinds: dict[str | None, NumericType] = {"int": "int", "float": "float", "date": "date"}
    return kinds.get(given, "numeric")


def _hierarchy(table: _AttributeTable, base: Path) -> Hierarchy:
    if table.levels is not None:
        return Hierarchy.dates(table.levels)
    if table.taxonomy is not None:
        return Hierarchy.from_dict(table.taxonomy)
    if table.intervals is not None:
        return _intervals(table.intervals)
    if table.prefix is not None:
        return _prefix(table.prefix)
    given = table.hierarchy
    if given is None:
        return Hierarchy.flat()
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, str | PathLike):
        return Hierarchy.from_file(base / given)
    if isinstance(given, Mapping | list | tuple):
        return Hierarchy.from_nested(given)
    raise SchemaError(f"hierarchy is {given!r}. Give the path of a file, or a table of groups and values.")


def _intervals(given: object) -> Hierarchy:
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = [given]
    if isinstance(given, list | tuple):
        given = {"widths": list(given)}
    table = read_table(_IntervalsTable, given, "intervals", "[5, 10, 20] or {width = 5, factors = [2, 2]}")
    if (table.width is None) == (table.widths is None):
        raise SchemaError("intervals: give either width (with levels or factors) or widths, such as [5, 10, 20].")
    if table.width is not None:
        return Hierarchy.intervals(table.width, levels=table.levels, factors=table.factors, start=table.start)
    rule = Intervals(tuple(table.widths or ()), table.start)
    return Hierarchy.from_dict(rule.to_dict())


def _prefix(given: object) -> Hierarchy:
    if isinstance(given, list | tuple):
        given = {"lengths": list(given)}
    table = read_table(_PrefixTable, given, "prefix", "[3, 1] or {step = 1}")
    return Hierarchy.from_dict(Prefix(tuple(table.lengths), table.step).to_dict())
