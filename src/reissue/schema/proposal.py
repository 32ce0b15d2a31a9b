"""A proposal of a config: what each column may be and why, to be read, changed and used by the steward.

A hierarchy is shown as a tree with the rows of the table counted at every group; keys and values are spelled as TOML.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shlex import quote
from typing import Literal

import numpy as np

from reissue.arrays.sets import find_starts
from reissue.errors import InputError
from reissue.hierarchy import Hierarchy
from reissue.schema.attributes import Attribute, Categorical
from reissue.schema.roles import Schema

Role = Literal["identifier", "quasi-identifier", "sensitive", "left out"]
Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class ProposedColumn:
    """What a column may be.

    reason:   why, in plain words
    coding:   of a quasi-identifier, as the config writes it, unless it has `groups`
    groups:   lines of its hierarchy: value, groups, `*`
    bins:     of a sensitive column of numbers
    missing:  texts of it that stand for a missing value; nulls: whether there are missing values at all
    distinct: how many different values; alone: how many people it singles out by itself, None where not counted
    values:   rows of each value, of a quasi-identifier with a hierarchy
    """

    name: str
    role: Role
    reason: str
    coding: Mapping[str, object] | None = None
    groups: Groups = ()
    bins: tuple[int | float, ...] = ()
    missing: tuple[str, ...] = ()
    nulls: bool = False
    distinct: int = 0
    alone: int | None = None
    values: Mapping[str, int] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Columns with roles and reasons, a policy, and how many people the quasi-identifiers single out.

    rows:     people of the last table, of whom `alone` are the only ones with their quasi-identifiers
    pairs:    the same for each pair of quasi-identifiers, on `sample` people
    spelling: decimal, dates and encoding, where tables write them otherwise
    notes:    what the steward should know of the policy
    """

    sources: tuple[str, ...]
    rows: int
    columns: tuple[ProposedColumn, ...]
    alone: int
    pairs: Mapping[tuple[str, str], int]
    sample: int
    spelling: Mapping[str, object]
    policy: Mapping[str, object]
    notes: tuple[str, ...] = ()

    def of_role(self, role: Role) -> list[ProposedColumn]:
        """The columns of a role, in the order of the table."""
        return [column for column in self.columns if column.role == role]

    @property
    def schema(self) -> Schema:
        """The proposal as a schema, hierarchies included."""
        return Schema(
            identifier=self.of_role("identifier")[0].name,
            quasi_identifiers={one.name: self._attribute(one) for one in self.of_role("quasi-identifier")},
            sensitive=[column.name for column in self.of_role("sensitive")],
            missing="value" if self._has_gaps() else "refuse",
            bins={column.name: column.bins for column in self.of_role("sensitive") if column.bins},
            spelling=self._spelling(),
        )

    def describe_power(self) -> str:
        """How many people the quasi-identifiers single out, in one or two sentences."""
        share = f"{100 * self.alone / self.rows:.0f}%" if self.rows else "0%"
        told = f"All quasi-identifiers together single out {self.alone:,} of {self.rows:,} people ({share})"
        if not self.pairs:
            return f"{told}."
        (one, other), most = max(self.pairs.items(), key=lambda pair: pair[1])
        among = "" if self.sample == self.rows else f" of {self.sample:,} drawn ones"
        return f"{told}; of the pairs, {one} and {other} single out most: {most:,}{among}."

    def to_toml(self, hierarchies: str | None = None) -> str:
        """A commented config; groups are written in place, or named as files of the folder `hierarchies`."""
        identifier, schema = self.of_role("identifier")[0], self.schema
        lines = [
            f"# Proposed from {_plain(', '.join(self.sources))} ({self.rows:,} rows in the last). Read every line:",
            "# you know better than any program what outsiders know, and what nobody may learn.",
            *_comment(self.describe_power()),
            "",
            "[schema]",
            *_comment(identifier.reason),
            f"identifier = {write_value(identifier.name)}",
            *(line for column in self.of_role("sensitive") for line in _comment(f"{column.name}: {column.reason}")),
            f"sensitive = {write_value(list(schema.sensitive))}",
            f"missing = {write_value(schema.missing)}"
            + ("                   # missing is a value of its own" if schema.missing == "value" else ""),
            "",
            "[schema.quasi_identifiers]",
            *(line for one in self.of_role("quasi-identifier") for line in self._write_coding(one, hierarchies)),
            "",
            *_section("schema.bins", {name: list(bins.edges) for name, bins in schema.bins.items()}),
            *_section("schema.spelling", schema.spelling.to_dict()),
            *(line for note in self.notes for line in _comment(note)),
            *_section("policy", self.policy),
        ]
        left = self.of_role("left out")
        if left:
            lines += ["# Left out: a column without a role is not published."]
            lines += [line for column in left for line in _comment(f"- {column.name}: {column.reason}")]
        return "\n".join(lines).rstrip() + "\n"

    def hierarchy_files(self) -> dict[str, str]:
        """File name to content, in ARX's format, for every column with groups."""
        return {
            self.file_names[column.name]: "".join(";".join(map(_quote_cell, line)) + "\n" for line in column.groups)
            for column in self.of_role("quasi-identifier")
            if column.groups
        }

    def write(self, config: str | Path) -> list[Path]:
        """Write the config, and hierarchies into the folder `NAME.hierarchies` beside it; what was written.

        They tell what is in the table, and how often: only their owner may read them, whatever the umask is.
        """
        config = Path(config)
        folder = config.with_name(f"{config.stem}.hierarchies")
        files = self.hierarchy_files()
        if files and not folder.exists():
            folder.mkdir(parents=True)
            folder.chmod(0o700)
        written = [folder / name for name in files]
        for path, text in zip(written, files.values(), strict=True):
            _write_private(path, text)
        _write_private(config, self.to_toml(folder.name))
        return [config, *written]

    def write_beside(self, series: str | Path) -> list[Path]:
        """Write SERIES.toml and its hierarchies; what somebody may have edited is not written over."""
        config = Path(f"{str(series).rstrip('/')}.toml")
        folder = config.with_name(f"{config.stem}.hierarchies")
        content = {folder / name: text for name, text in self.hierarchy_files().items()}
        content[config] = self.to_toml(folder.name)
        for path, text in content.items():
            if path.exists() and (not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text):
                told = f"{path} is there already, and is not what would be proposed now: it is left alone."
                raise InputError(
                    f"{told} Use it with --config {quote(str(config))}, or delete or rename it first.",
                    page=f"{told} Choose another name, or delete or rename it first.",
                )
        return self.write(config)

    def count_branches(self, column: ProposedColumn) -> Branch | None:
        """The hierarchy of a quasi-identifier as a tree with its rows; None where any range may be published.

        Also None where its values cannot be read without the proposed spelling: dates as dd/mm/yyyy.
        """
        attribute = self.schema.quasi_identifiers[column.name]
        tree = count_branches(attribute.hierarchy, column.values) if isinstance(attribute, Categorical) else None
        return tree if tree and tree.rows else None

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        pairs = [{"columns": list(pair), "alone": count} for pair, count in self.pairs.items()]
        given = {key: value for key, value in vars(self).items() if key not in ("columns", "pairs")}
        return {**given, "columns": [asdict(column) for column in self.columns], "pairs": pairs}

    @property
    def file_names(self) -> dict[str, str]:
        """The file of each column with groups: its name, without what no file can be called."""
        found: dict[str, str] = {}
        for column in self.of_role("quasi-identifier"):
            plain = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in column.name)
            taken = sum(name.casefold().startswith(f"{plain.casefold()}.") for name in found.values())
            found[column.name] = f"{plain}.{taken + 1}.csv" if taken else f"{plain}.csv"
        return found

    def _attribute(self, column: ProposedColumn) -> Attribute | Mapping[str, object]:
        if column.groups:
            return Categorical(Hierarchy.from_rows(column.groups, source=self.file_names[column.name]))
        return column.coding or {}

    def _write_coding(self, column: ProposedColumn, folder: str | None) -> list[str]:
        written: Mapping[str, object] = column.coding or {}
        if column.groups:
            place: object = _nest(column.groups) if folder is None else f"{folder}/{self.file_names[column.name]}"
            written = {"hierarchy": place}
        return [*_comment(f"{column.name}: {column.reason}"), f"{write_key(column.name)} = {write_value(written)}"]

    def _spelling(self) -> dict[str, object]:
        used = [column for column in self.columns if column.role in ("quasi-identifier", "sensitive")]
        missing = {column.name: list(column.missing) for column in used if column.missing}
        return {**({"missing": missing} if missing else {}), **self.spelling}

    def _has_gaps(self) -> bool:
        return any(c.nulls or c.missing for c in self.columns if c.role in ("quasi-identifier", "sensitive"))


def _nest(groups: Groups) -> object:
    """Lines of a hierarchy as nested tables: groups to members."""
    if len(groups[0]) == 2:
        return [line[0] for line in groups]
    inner: dict[str, list[tuple[str, ...]]] = {}
    for line in groups:
        inner.setdefault(line[-2], []).append((*line[:-2], "*"))
    return [
        some[0][0] if len(some) == 1 and some[0][0] == name else {name: _nest(tuple(some))}
        for name, some in inner.items()
    ]


def _quote_cell(label: str) -> str:
    return '"' + label.replace('"', '""') + '"' if any(mark in label for mark in ';",|\t\n\r') else label


def _section(name: str, content: Mapping[str, object]) -> list[str]:
    lines = [f"{write_key(key)} = {write_value(value)}" for key, value in content.items()]
    return [f"[{name}]", *lines, ""] if lines else []


def _comment(text: str) -> Sequence[str]:
    """The text as comment lines; whatever a value holds, it stays a comment."""
    from textwrap import wrap

    return [f"# {line}" for line in wrap(_plain(text), 116, subsequent_indent="  " if text.startswith("- ") else "")]


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


@dataclass(frozen=True)
class Branch:
    """A group or a value. rows: of the tables; inside: what the group holds, in the order of the hierarchy."""

    label: str
    rows: int
    inside: tuple[Branch, ...] = ()

    def trace(self) -> tuple[str, ...]:
        """The labels that the most frequent value may be published by, the value first."""
        if not self.inside:
            return (self.label,)
        return (*max(self.inside, key=lambda branch: branch.rows).trace(), self.label)


def count_branches(hierarchy: Hierarchy, rows: Mapping[str, int]) -> Branch:
    """The tree over these values; a hierarchy that grows takes those in that fit its rule. O(nodes + values)."""
    grown = hierarchy
    if hierarchy.grows:
        grown = hierarchy.grow(value for value in rows if hierarchy.problem(value) is None)
    tree, known = grown.tree, [(grown.codes[value], count) for value, count in rows.items() if value in grown.codes]
    counts = np.zeros(tree.leaves, dtype=np.int64)
    np.add.at(counts, [code for code, _ in known], [count for _, count in known])
    before = find_starts(counts)
    start, child = tree.children

    def make(node: int) -> Branch:
        own = int(before[tree.hi[node] + 1] - before[tree.lo[node]])
        kids = child[start[node] : start[node + 1]].tolist()
        return Branch(grown.labels[node], own, tuple(make(kid) for kid in kids))

    return make(0)


def write_key(name: str) -> str:
    """A key as TOML spells it."""
    bare = name.replace("-", "").replace("_", "")
    return name if bare.isascii() and bare.isalnum() else write_value(name)


def write_value(value: object) -> str:
    """A value as TOML spells it: text, numbers, booleans, lists and tables of these."""
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{write_key(str(key))} = {write_value(item)}" for key, item in value.items() if item is not None
        )
        return "{ " + inner + " }" if inner else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(write_value(item) for item in value) + "]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, also while it is being written and whoever made it."""
    with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        path.chmod(0o600)
        file.write(text)
