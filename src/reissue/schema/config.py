"""Reads the config people write; reports every problem at once: its key, what was received, what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from reissue.errors import SchemaError
from reissue.hierarchy.files import toml_of
from reissue.schema.attributes import Attribute, Bins, Missing
from reissue.schema.roles import Schema, join_problems, role_problems
from reissue.schema.spelling import USUAL, Spelling
from reissue.schema.written import Strict, read_attribute, tell_unknown, validate

SECTIONS = ("schema", "policy", "audit", "gates", "output", "ledger", "engine", "utility")
KNOWLEDGE_FILES = ("values", "transitions", "second", "compromised")
"""Settings of `knowledge` that may name a file."""


@dataclass(frozen=True)
class Config:
    """A config file. `policy` and the sections after it are passed on as they are to those who understand them."""

    schema: Schema
    policy: Mapping[str, object] = field(default_factory=dict)
    audit: Mapping[str, object] = field(default_factory=dict)
    gates: Mapping[str, object] = field(default_factory=dict)
    output: Mapping[str, object] = field(default_factory=dict)
    ledger: Mapping[str, object] = field(default_factory=dict)
    engine: Mapping[str, object] = field(default_factory=dict)
    utility: Mapping[str, object] = field(default_factory=dict)


class _OutputTable(Strict):
    formats: list[str] = Field(default=["parquet", "csv"])

    @field_validator("formats", mode="before")
    @classmethod
    def _known(cls, given: object) -> object:
        formats = [given] if isinstance(given, str) else given
        if not isinstance(formats, list) or not formats or any(name not in ("parquet", "csv") for name in formats):
            raise ValueError('It should be "parquet", "csv", or a list of them')
        return formats


class _LedgerTable(Strict):
    catalogue: str | None = None
    key: str | None = None


class _UtilityTable(Strict):
    rates: list[str] = Field(default=[])


class _EngineTable(Strict):
    name: Literal["embedded", "spark"] = "embedded"
    fragments: int | None = Field(default=None, ge=1)
    master: str | None = None
    settings: dict[str, str] = Field(default={})


class _SchemaTable(Strict):
    identifier: str = Field(min_length=1)
    quasi_identifiers: dict[str, object]
    sensitive: list[str]
    insensitive: list[str] = Field(default=[])
    missing: Missing = "refuse"
    bins: dict[str, object] = Field(default={})
    spelling: dict[str, object] = Field(default={})

    @field_validator("quasi_identifiers", mode="before")
    @classmethod
    def _by_column(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            raise ValueError(
                "Write a section [schema.quasi_identifiers] with a line for each column, such as "
                'age = { type = "numeric" }'
            )
        return given

    @field_validator("sensitive", "insensitive", mode="before")
    @classmethod
    def _one_or_many(cls, given: object) -> object:
        given = [given] if isinstance(given, str) else given
        if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
            raise ValueError("It should be a column name or a list of column names")
        return list(given)


def read_config(path: str | PathLike[str]) -> Config:
    """The config in a TOML file; hierarchy paths are relative to it."""
    path = Path(path)
    given = toml_of(path)
    if isinstance(given.get("engine"), str):  # engine = "spark", above all sections
        given["engine"] = {"name": given["engine"]}
    labels = given.pop("labels", None)
    problems = [tell_unknown(name, (*SECTIONS, "labels"), "section") for name in given if name not in SECTIONS]
    problems += [
        f"{name}: received {given[name]!r}. Write a section [{name}]."
        for name in SECTIONS
        if not isinstance(given.get(name, {}), dict)
    ]
    problems += _section_problems(given)
    if "schema" not in given:
        problems.append("schema: missing. Write a section [schema] with identifier, quasi_identifiers and sensitive.")
    elif isinstance(given["schema"], dict):
        schema, found = _schema(_with_labels(given["schema"], labels), path.parent)
        problems += [_in_schema(problem) for problem in found]
    if problems:
        raise SchemaError(join_problems(str(path), problems))
    assert schema is not None  # no problems, so it was built
    return Config(schema, **{name: _locate_files(given.get(name, {}), path.parent) for name in SECTIONS[1:]})


def _with_labels(table: Mapping[str, object], labels: object) -> Mapping[str, object]:
    """The schema with the config's section [labels], which stands apart since it is about releases made elsewhere."""
    if labels is None:
        return table
    spelling = table.get("spelling", {})
    return {**table, "spelling": {**spelling, "labels": labels} if isinstance(spelling, Mapping) else spelling}


def _locate_files(section: Mapping[str, object], base: Path) -> Mapping[str, object]:
    """The section with its key's file and those of its table `knowledge` found from the config's folder.

    A series reads them anew for every release, from whatever folder it is published, so their whole paths are kept.
    """
    table, possible, key = section.get("knowledge"), section.get("possible"), section.get("key")
    if isinstance(key, str) and key.startswith("file:"):
        section = {**section, "key": f"file:{(base / key.removeprefix('file:')).absolute()}"}
    if isinstance(possible, str):
        section = {**section, "possible": str((base / possible).absolute())}
    if not isinstance(table, Mapping):
        return section
    files = {
        key: str((base / name).absolute())
        for key, name in table.items()
        if key in KNOWLEDGE_FILES and isinstance(name, str) and name not in ("", "estimate", "uniform")
    }
    return {**section, "knowledge": {**table, **files}}


def _in_schema(problem: str) -> str:
    if problem.startswith("labels"):
        return problem
    return f"schema: {problem}" if problem.startswith("the column") else f"schema.{problem}"


def _section_problems(given: Mapping[str, object]) -> list[str]:
    """A misspelt key must not be skipped: a ledger whose key is not found would lie there unencrypted."""
    models: dict[str, type[BaseModel]] = {
        "output": _OutputTable,
        "ledger": _LedgerTable,
        "engine": _EngineTable,
        "utility": _UtilityTable,
    }
    problems: list[str] = []
    for name, model in models.items():
        section = given.get(name, {})
        if isinstance(section, dict):
            problems += validate(model, section, name)[1]
    return problems


def schema_of(given: Mapping[str, object], base: str | PathLike[str] = ".") -> Schema:
    """The schema from a mapping in the shape of the config's [schema]."""
    schema, problems = _schema(given, Path(base))
    if schema is None:
        raise SchemaError(join_problems("The schema", problems))
    return schema


def _schema(given: Mapping[str, object], base: Path) -> tuple[Schema | None, list[str]]:
    table, problems = validate(_SchemaTable, dict(given), "")
    columns = given.get("quasi_identifiers")
    attributes: dict[str, Attribute] = {}
    for name, spec in columns.items() if isinstance(columns, Mapping) else ():
        attribute, found = read_attribute(f"quasi_identifiers.{name}", spec, base)
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
    spelling = USUAL
    try:
        if table.spelling:
            spelling = Spelling.of(table.spelling, (*columns, *table.sensitive))
    except SchemaError as error:
        problems.append(str(error))
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
        spelling=spelling,
    )
    return schema, []
