"""Reads the config people write; reports every problem at once: its key, what was received, what is allowed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, field_validator
from pydantic_core import ErrorDetails

from reissue.errors import SchemaError
from reissue.hierarchy import Hierarchy
from reissue.hierarchy.files import read_text
from reissue.hierarchy.rules import Intervals, Prefix
from reissue.schema.attributes import Attribute, Categorical, Missing, Numeric, NumericType
from reissue.schema.bins import Bins
from reissue.schema.roles import Schema, listed, role_problems

SECTIONS = ("schema", "policy", "audit", "output", "ledger", "engine")


@dataclass(frozen=True)
class Config:
    """A config file. `policy` and the sections after it are passed on as they are to those who understand them."""

    schema: Schema
    policy: Mapping[str, object] = field(default_factory=dict)
    audit: Mapping[str, object] = field(default_factory=dict)
    output: Mapping[str, object] = field(default_factory=dict)
    ledger: Mapping[str, object] = field(default_factory=dict)
    engine: Mapping[str, object] = field(default_factory=dict)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _OutputTable(_Strict):
    formats: list[str] = ["parquet", "csv"]

    @field_validator("formats", mode="before")
    @classmethod
    def _known(cls, given: object) -> object:
        formats = [given] if isinstance(given, str) else given
        if not isinstance(formats, list) or not formats or any(name not in ("parquet", "csv") for name in formats):
            raise ValueError('It should be "parquet", "csv", or a list of them')
        return formats


class _LedgerTable(_Strict):
    catalogue: str | None = None
    key: str | None = None


class _EngineTable(_Strict):
    name: Literal["embedded", "spark"] = "embedded"
    fragments: int | None = Field(default=None, ge=1)
    master: str | None = None
    settings: dict[str, str] = {}


class _SchemaTable(_Strict):
    identifier: str = Field(min_length=1)
    quasi_identifiers: dict[str, object]
    sensitive: list[str]
    insensitive: list[str] = []
    missing: Missing = "refuse"
    bins: dict[str, object] = {}

    @field_validator("sensitive", "insensitive", mode="before")
    @classmethod
    def _one_or_many(cls, given: object) -> object:
        given = [given] if isinstance(given, str) else given
        if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
            raise ValueError("It should be a column name or a list of column names")
        return list(given)


class _AttributeTable(_Strict):
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


class _IntervalsTable(_Strict):
    width: Number | None = None
    widths: list[Number] | None = None
    levels: int = 1
    factors: list[int] | None = None
    start: Number = 0


class _PrefixTable(_Strict):
    lengths: list[int] = []
    step: int = 0


HINTS = {
    "identifier": "Name the column that identifies a person.",
    "quasi_identifiers": "List the columns an attacker may know.",
    "sensitive": "Name the column nobody may learn.",
}


def read_config(path: str | PathLike[str]) -> Config:
    """The config in a TOML file; hierarchy paths are relative to it."""
    path = Path(path)
    try:
        given = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{path}: {error}. Correct the file's TOML.") from error
    if isinstance(given.get("engine"), str):  # engine = "spark", above all sections
        given["engine"] = {"name": given["engine"]}
    problems = [_unknown(name, SECTIONS, "section") for name in given if name not in SECTIONS]
    problems += [
        f"{name}: received {given[name]!r}. Write a section [{name}]."
        for name in SECTIONS
        if not isinstance(given.get(name, {}), dict)
    ]
    problems += _section_problems(given)
    if "schema" not in given:
        problems.append("schema: missing. Write a section [schema] with identifier, quasi_identifiers and sensitive.")
    elif isinstance(given["schema"], dict):
        schema, found = _schema(given["schema"], path.parent)
        problems += [_in_schema(problem) for problem in found]
    if problems:
        raise SchemaError(listed(str(path), problems))
    assert schema is not None  # no problems, so it was built
    return Config(schema, **{name: given.get(name, {}) for name in SECTIONS[1:]})


def _in_schema(problem: str) -> str:
    return f"schema: {problem}" if problem.startswith("the column") else f"schema.{problem}"


def _section_problems(given: Mapping[str, object]) -> list[str]:
    """A misspelt key must not be skipped: a ledger whose key is not found would lie there unencrypted."""
    models: dict[str, type[BaseModel]] = {"output": _OutputTable, "ledger": _LedgerTable, "engine": _EngineTable}
    problems: list[str] = []
    for name, model in models.items():
        section = given.get(name, {})
        if isinstance(section, dict):
            problems += _validate(model, section, name)[1]
    return problems


def schema_of(given: Mapping[str, object], base: str | PathLike[str] = ".") -> Schema:
    """The schema from a mapping in the shape of the config's [schema]."""
    schema, problems = _schema(given, Path(base))
    if schema is None:
        raise SchemaError(listed("The schema", problems))
    return schema


def attribute_of(name: str, given: Mapping[str, object]) -> Attribute:
    """One quasi-identifier in the shape of the config."""
    attribute, problems = _attribute(f"quasi_identifiers.{name}", given, Path())
    if attribute is None:
        raise SchemaError("\n".join(problems))
    return attribute


def _schema(given: Mapping[str, object], base: Path) -> tuple[Schema | None, list[str]]:
    table, problems = _validate(_SchemaTable, dict(given), "")
    columns = given.get("quasi_identifiers")
    attributes: dict[str, Attribute] = {}
    for name, spec in columns.items() if isinstance(columns, Mapping) else ():
        attribute, found = _attribute(f"quasi_identifiers.{name}", spec, base)
        problems += found
        if attribute is not None:
            attributes[name] = attribute
    if table is None or not isinstance(columns, Mapping):
        return None, problems
    bins: dict[str, Bins] = {}
    for name, edges in table.bins.items():
        try:
            bins[name] = Bins.of(edges)
        except SchemaError as error:
            problems.append(f"bins.{name}: {error}")
    problems += role_problems(
        table.identifier, tuple(columns), tuple(table.sensitive), tuple(table.insensitive), tuple(table.bins)
    )
    if problems:
        return None, problems
    schema = Schema(
        identifier=table.identifier,
        quasi_identifiers=attributes,
        sensitive=table.sensitive,
        insensitive=table.insensitive,
        missing=table.missing,
        bins=bins,
    )
    return schema, []


def _attribute(path: str, given: object, base: Path) -> tuple[Attribute | None, list[str]]:
    if isinstance(given, Numeric | Categorical):
        return given, []
    if not isinstance(given, Mapping):
        return None, [
            f'{path}: received {given!r}. Write a table such as {{ type = "numeric" }} or {{ hierarchy = "zip.csv" }}.'
        ]
    table, problems = _validate(_AttributeTable, dict(given), path)
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
    table = _only(_IntervalsTable, given, "intervals", "[5, 10, 20] or {width = 5, factors = [2, 2]}")
    if (table.width is None) == (table.widths is None):
        raise SchemaError("intervals: give either width (with levels or factors) or widths, such as [5, 10, 20].")
    if table.width is not None:
        return Hierarchy.intervals(table.width, levels=table.levels, factors=table.factors, start=table.start)
    rule = Intervals(tuple(table.widths or ()), table.start)
    return Hierarchy.from_dict(rule.to_dict())


def _prefix(given: object) -> Hierarchy:
    if isinstance(given, list | tuple):
        given = {"lengths": list(given)}
    table = _only(_PrefixTable, given, "prefix", "[3, 1] or {step = 1}")
    return Hierarchy.from_dict(Prefix(tuple(table.lengths), table.step).to_dict())


Table = TypeVar("Table", bound=BaseModel)


def _only(model: type[Table], given: object, path: str, example: str) -> Table:
    if not isinstance(given, Mapping):
        raise SchemaError(f"{path}: received {given!r}. Write {example}.")
    table, problems = _validate(model, dict(given), path)
    if table is None:
        raise SchemaError(" ".join(problems))
    return table


def _validate(model: type[Table], given: dict[str, object], path: str) -> tuple[Table | None, list[str]]:
    try:
        return model.model_validate(given), []
    except ValidationError as error:
        allowed = tuple(model.model_fields)
        return None, [_sentence(details, path, allowed) for details in error.errors(include_url=False)]


def _sentence(error: ErrorDetails, path: str, allowed: tuple[str, ...]) -> str:
    """One problem in plain words: key, what was received, what is allowed."""
    key = ".".join(str(part) for part in error["loc"])
    where = f"{path}.{key}" if path else key
    if error["type"] == "missing":
        return f"{where}: missing. {HINTS.get(key, 'Add it.')}"
    if error["type"] == "extra_forbidden":
        return _unknown(where, allowed, "key")
    received = error["input"]
    if error["type"] == "literal_error":
        choices = str(error.get("ctx", {}).get("expected", "")).replace("'", '"')
        near = _near(received, [choice.strip(' "') for choice in choices.replace(" or ", ",").split(",")])
        return f"{where}: received {received!r}.{near} Allowed: {choices}."
    wanted = error["msg"].removeprefix("Value error, ").replace("Input should", "It should")
    return f"{where}: received {received!r}. {wanted}."


def _unknown(where: str, allowed: Iterable[str], kind: str) -> str:
    """An unknown key or section, with the nearest known one."""
    allowed = [name for name in allowed if name != "taxonomy"]  # only in stored schemas
    return f"{where}: unknown {kind}.{_near(where.rpartition('.')[2], allowed)} Allowed: {', '.join(allowed)}."


def _near(received: object, allowed: Iterable[str]) -> str:
    close = get_close_matches(str(received), list(allowed), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""
