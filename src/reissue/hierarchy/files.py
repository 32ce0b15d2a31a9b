"""Hierarchies as people keep them: ARX's CSV, nested JSON or TOML."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reissue.errors import SchemaError
from reissue.hierarchy.links import ROOT, Links, Nodes
from reissue.model.small_files import LONGEST, read_small

DEEP = "it is nested too deeply to be read. A hierarchy has a handful of levels."
DEEPEST = 100
_DOTTED = re.compile(rf"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{DEEPEST}}}""")

Rows = list[tuple[int, list[str]]]
"""(line number, fields) of each line that is not empty."""


def read_text(path: Path) -> str:
    """The file's text; UTF-8 with or without a byte order mark."""
    try:
        data = read_small(path)
    except (OSError, ValueError) as error:  # a path with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or str(error)
        if path.name.endswith("values, kept in the ledger"):  # as a series writes it, for people to read
            raise SchemaError(
                "this config is the reissue.toml of a series, and its hierarchies are in the ledger. Give the series "
                "itself, or the config that it was created with."
            ) from error
        raise SchemaError(f"{path}: cannot be read ({reason}). Check the path of the hierarchy or config.") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SchemaError(f"{path}: the file is UTF-16, not UTF-8. Save it as UTF-8 (in Excel: 'CSV UTF-8').")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = data[error.start : error.start + 1].hex()
        raise SchemaError(
            f"{path}, line {line}: the byte 0x{bad} is not UTF-8. Save the file as UTF-8 (in Excel: 'CSV UTF-8')."
        ) from error


def read_arx(path: Path) -> Nodes:
    """ARX's format: value;level1;...;* without a header; `;`, `,`, `|` or tab, found by looking at the lines."""
    return from_lines(_split_lines(read_text(path), str(path)), str(path))


def from_lines(rows: Rows, source: str) -> Nodes:
    """Lines of ARX's format."""
    if not rows:
        raise SchemaError(f"{source}: the file is empty. Write one line per value: value;group;...;*")
    width = len(rows[0][1])
    for line, fields in rows:
        for column, field in enumerate(fields, start=1):
            if not field:
                raise SchemaError(
                    f"{source}, line {line}: column {column} is empty. Repeat the label of the column to its left; "
                    f'for nulls set missing = "value" in the schema instead.'
                )
    if len(rows) > 2 and rows[0][1][-1] != ROOT and all(fields[-1] == ROOT for _, fields in rows[1:]):
        raise SchemaError(
            f"{source}, line {rows[0][0]}: ends with {rows[0][1][-1]!r} where all others end with '*'; "
            "it looks like a header. ARX hierarchies have none: delete the line."
        )
    links = Links(source)
    for line, fields in rows:
        links.add(fields, f"line {line}", range(width))
    links.add_root_level(width - 1 if rows[0][1][-1] == ROOT else width)
    return links.build()


def _split_lines(text: str, source: str) -> Rows:
    """Lines split by the delimiter that gives all of them the same number of fields (at least two)."""
    best: Rows = []
    most = 0
    for delimiter in ";,|\t":
        if delimiter not in text:
            continue
        rows = _split(text, delimiter, source)
        if rows and len(rows[0][1]) > 1 and len({len(fields) for _, fields in rows}) == 1:
            return rows
        several = sum(len(fields) > 1 for _, fields in rows)
        if several > most:
            best, most = rows, several
    if not most:  # one column only: values directly under the root
        return _split(text, ";", source)
    usual, _ = Counter(len(fields) for _, fields in best).most_common(1)[0]
    line, fields = next((line, fields) for line, fields in best if len(fields) != usual)
    raise SchemaError(
        f"{source}, line {line}: has {len(fields)} columns where most lines have {usual} (value {fields[0]!r}). "
        "Give every value the same number of columns: repeat a label to fill up a short line, "
        'and put quotes "..." around a label that contains the separator.'
    )


def _split(text: str, delimiter: str, source: str) -> Rows:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: Rows = []
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return rows
        except csv.Error as error:
            raise SchemaError(
                f"{source}, line {reader.line_num}: {error}. Close every quote, and double a quote inside quotes."
            ) from error
        for field in fields:
            _refuse_long(field, f"{source}, line {reader.line_num}")
        if any(fields):
            rows.append((reader.line_num, fields))


def read_json(path: Path) -> Nodes:
    """A nested table in JSON."""
    try:
        tree = json.loads(read_text(path), object_pairs_hook=lambda pairs: _once(pairs, str(path)))
        refuse_excess(tree, str(path))
    except RecursionError as error:
        raise SchemaError(f"{path}: {DEEP}") from error
    except ValueError as error:
        raise SchemaError(f"{path}: {error}. Correct the file's JSON.") from error
    return nested(tree, str(path))


def read_toml(path: Path) -> Nodes:
    """A nested table in TOML: the keys of the file are the groups below the root."""
    return nested(toml_of(path), str(path))


def toml_of(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    text = read_text(path)
    if _DOTTED.search(text):  # the parser's time is quadratic in the parts of a key
        raise SchemaError(f"{path}: {DEEP}")
    try:
        tree = tomllib.loads(text)
    except RecursionError as error:
        raise SchemaError(f"{path}: {DEEP}") from error
    except ValueError as error:
        raise SchemaError(f"{path}: {show_beginning(str(error))}. {_toml_remedy(text, str(error))}") from error
    refuse_excess(tree, str(path))
    return tree


def refuse_excess(tree: object, source: str) -> None:
    """Refuse what is nested too deeply, and names and texts that are too long to be any; without recursion."""
    level = [tree]
    for _ in range(DEEPEST):
        below: list[object] = []
        for one in level:
            if isinstance(one, dict):
                below += [*one, *one.values()]
            elif isinstance(one, list):
                below += one
            elif isinstance(one, str):
                _refuse_long(one, source)
        level = below
        if not level:
            return
    raise SchemaError(f"{source}: {DEEP}")


def _refuse_long(text: str, source: str) -> None:
    if len(text) > LONGEST:
        raise SchemaError(
            f"{source}: a name or text has {len(text):,} characters ({show_beginning(text)!r}); at most {LONGEST:,} "
            "are read. Is a quote or an end of line missing?"
        )


def show_beginning(text: str) -> str:
    """The text, or if it is long how it begins."""
    return text if len(text) <= 200 else f"{text[:60]}..."


def _toml_remedy(text: str, error: str) -> str:
    """What is most often wrong in such a line."""
    place = re.search(r"at line (\d+)", error)
    lines = text.splitlines()
    line = show_beginning(lines[int(place[1]) - 1]) if place and 0 < int(place[1]) <= len(lines) else ""
    if re.search("[“”„‘’«»]", line):
        return f'Write straight quotes ("), not curly ones: {line.strip()}'
    if "\\" in line:
        return f"Write / instead of \\ in paths: {line.strip()}"
    if re.search(r"=\s*[^\W\d]", line):
        return f'Put text into quotes ("..."): {line.strip()}'
    return "Correct the file's TOML."


def _once(pairs: list[tuple[str, object]], source: str) -> dict[str, object]:
    table: dict[str, object] = {}
    for name, below in pairs:
        if name in table:
            raise SchemaError(f"{source}: the group {name!r} is written twice. Put its members into one place.")
        table[name] = below
    return table


def nested(tree: object, source: str = "hierarchy") -> Nodes:
    """A mapping of group to members, or a list of values (and of such mappings); unequal depths are fine."""
    links = Links(source)
    try:
        for path in _list_paths(tree, (), source):
            links.add(path, " > ".join(reversed(path[1:])))
    except RecursionError as error:
        raise SchemaError(f"{source}: {DEEP}") from error
    nodes = links.build()
    if len(nodes.names) == 1:
        raise SchemaError(
            f'{source}: the hierarchy is empty. Write groups and values: {{"Europe": ["France", "Spain"]}}'
        )
    return nodes


def _list_paths(tree: object, above: tuple[str, ...], source: str) -> Iterator[tuple[str, ...]]:
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            path = (_read_label(name, above, source), *above)
            if below is None or below == {}:
                yield path
            else:
                yield from _list_paths(below, path, source)
    elif isinstance(tree, Sequence) and not isinstance(tree, str | bytes):
        if not tree and above:
            raise SchemaError(f"{source}: the group {above[0]!r} has no values. Add some or delete the group.")
        for item in tree:
            if isinstance(item, Mapping):
                yield from _list_paths(item, above, source)
            else:
                yield (_read_label(item, above, source), *above)
    else:
        raise SchemaError(
            f"{source}: {' > '.join(reversed(above)) or 'the top'} holds {tree!r}. "
            'Write a list of values ["a", "b"] or a table of groups {group = ["a", "b"]}.'
        )


def _read_label(name: object, above: tuple[str, ...], source: str) -> str:
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    if isinstance(name, str) and name:
        return name
    where = " > ".join(reversed(above)) or "the top"
    raise SchemaError(f"{source}: {where} holds the value {name!r}. Write values as text in quotes, not empty.")
