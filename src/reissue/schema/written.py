"""Tables as people write them in a config: every problem in plain words; a quasi-identifier has one way to code it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, field_validator
from pydantic_core import ErrorDetails

from reissue.errors import SchemaError, did_you_mean
from reissue.hierarchy import Hierarchy
from reissue.hierarchy.rules import Intervals, Prefix
from reissue.schema.attributes import Attribute, Categorical, Labels, Missing, Numeric, NumericType

HINTS = {
    "identifier": "Name the column that identifies a person.",
    "quasi_identifiers": "List the columns an attacker may know.",
    "sensitive": "Name the column nobody may learn.",
}


Table = TypeVar("Table", bound=BaseModel)


class Strict(BaseModel):
    """A table that takes only the keys it knows, and no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


def read_table(model: type[Table], given: object, path: str, example: str) -> Table:
    """The table, or an error; `example` shows how to write one."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"{path}: received {given!r}. Write {example}.")
    table, problems = validate(model, dict(given), path)
    if table is None:
        raise SchemaError(" ".join(problems))
    return table


def validate(model: type[Table], given: dict[str, object], path: str) -> tuple[Table | None, list[str]]:
    """(the table, or None if something is wrong with it; what is wrong)."""
    try:
        return model.model_validate(given), []
    except ValidationError as error:
        allowed = tuple(model.model_fields)
        return None, [_tell_problem(details, path, allowed) for details in error.errors(include_url=False)]


def _tell_problem(error: ErrorDetails, path: str, allowed: tuple[str, ...]) -> str:
    """One problem in plain words: key, what was received, what is allowed."""
    key = ".".join(str(part) for part in error["loc"])
    where = f"{path}.{key}" if path else key
    if error["type"] == "missing":
        return f"{where}: missing. {HINTS.get(key, 'Add it.')}"
    if error["type"] == "extra_forbidden":
        return tell_unknown(where, allowed, "key")
    received = error["input"]
    if error["type"] == "literal_error":
        choices = str(error.get("ctx", {}).get("expected", "")).replace("'", '"')
        near = did_you_mean(received, [choice.strip(' "') for choice in choices.replace(" or ", ",").split(",")])
        return f"{where}: received {received!r}.{near} Allowed: {choices}."
    wanted = error["msg"].removeprefix("Value error, ").replace("Input should", "It should")
    return f"{where}: received {received!r}. {wanted}."


def tell_unknown(where: str, allowed: Iterable[str], kind: str) -> str:
    """An unknown key or section, with the nearest known one."""
    allowed = [name for name in allowed if name != "taxonomy"]  # only in stored schemas
    return f"{where}: unknown {kind}.{did_you_mean(where.rpartition('.')[2], allowed)} Allowed: {', '.join(allowed)}."


def _read_number(given: object) -> object:
    """Whole numbers stay whole: they decide how intervals are labelled."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError("It should be a number")
    return given


Number = Annotated[int | float, PlainValidator(_read_number)]


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
    weight: Number = 1.0
    labels: Labels | None = None

    @field_validator("levels", "values", mode="before")
    @classmethod
    def _listed(cls, given: object) -> object:
        return list(given) if isinstance(given, tuple) else given


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
        if table.labels is not None:
            raise SchemaError("labels are for attributes with a hierarchy: numbers always show ranges. Remove them.")
        return Numeric(_numeric_type(table.type), table.decimals, table.missing, table.weight)
    if table.decimals is not None:
        raise SchemaError("decimals are for numeric attributes only. Remove them.")
    hierarchy = _hierarchy(table, base).grow(table.values or ())
    return Categorical(hierarchy, table.missing, table.weight, table.labels or "groups")


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
        if "://" in str(given):
            raise SchemaError(f"hierarchy is {str(given)!r}, an address. Copy the file here, and give its path.")
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
