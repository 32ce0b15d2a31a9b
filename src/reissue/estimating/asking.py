"""What a query asks for: `age=30..39 sex=F diagnosis=Flu,HIV`, or the same as a mapping, in codes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from reissue.coding import Coding
from reissue.errors import InputError, ReissueError, did_you_mean
from reissue.hierarchy import RANGE

Bound = int | float | str | date | None
Range = tuple[Bound, Bound]
Wanted = int | float | str | date | Range | Sequence[int | float | str | date | Range]
Query = str | Mapping[str, Wanted]
"""A value, a range (first, last) with both ends included and None for an open one, or a list of these."""

EXAMPLE = "Write for example: age=30..39 sex=F diagnosis=Flu,HIV"
WHOLE = re.compile(r'"((?:[^"]|"")*)"')
"""A value as it is, whatever is in it; a quotation mark inside is doubled, as in CSV files."""
QUOTED = re.compile(rf"(?<=[=,]){WHOLE.pattern}(?=[,\s]|$)")


@dataclass(frozen=True)
class Question:
    """where: closed intervals of codes by attribute; values: codes of the asked sensitive values, None for all."""

    where: Mapping[int, Sequence[tuple[int, int]]]
    values: Sequence[int] | None
    others: str
    """The query without its sensitive part, in words."""


def read_query(query: Query, coding: Coding, opaque: frozenset[str] = frozenset()) -> Question:
    """The query in codes; an InputError names the column, the value and the remedy. opaque: see `ReleaseRows`."""
    given = _split(query) if isinstance(query, str) else query
    where: dict[int, Sequence[tuple[int, int]]] = {}
    sensitive: dict[str, list[str]] = {}
    for name, wanted in given.items():
        if wanted is None or not (isinstance(wanted, int | float | date) or len(wanted)):
            raise InputError(
                f"The query asks for {name}={wanted!r}, which is no value. Give a value, a range, or a list "
                "of these; leave the column out to ask for all of it."
            )
        if name in coding.attributes:
            where[coding.attributes.index(name)] = _read_intervals(name, wanted, coding, opaque)
        elif name in coding.schema.sensitive:
            sensitive[name] = _list_labels(wanted)
        elif name in coding.schema.insensitive:
            raise InputError(
                f"The query asks for '{name}', an insensitive column, which the release shows as it is: count it in "
                "its table, by the weights of `reissue estimate RELEASE --weights FILE` if sensitive values matter."
            )
        else:
            known = [*coding.attributes, *coding.schema.sensitive]
            raise InputError(
                f"The query asks for '{name}', which is no quasi-identifier or sensitive column of the release."
                f"{did_you_mean(name, known)} Columns: {', '.join(known)}."
            )
    others = " ".join(f"{name}={show(wanted)}" for name, wanted in given.items() if name in coding.attributes)
    return Question(where, _find_values(sensitive, coding) if sensitive else None, others)


def show(wanted: Wanted) -> str:
    """As it is written in a query."""
    if isinstance(wanted, tuple):
        return RANGE.join("" if end is None else str(end) for end in wanted)
    return ",".join(show(one) if isinstance(one, tuple) else _quote(str(one)) for one in _list(wanted))


def _quote(value: str) -> str:
    """As it is, or in quotation marks where it would be read as something else."""
    plain = "," not in value and RANGE not in value and not value.startswith('"')
    return value if plain else '"' + value.replace('"', '""') + '"'


def _split(query: str) -> dict[str, Wanted]:
    kept = QUOTED.sub(lambda found: shlex.quote(found[0]), query)
    try:
        return split(shlex.split(kept))
    except ValueError as error:
        raise InputError(f"The query {query!r} cannot be read: a quotation mark is not closed. {EXAMPLE}") from error


def split_arguments(arguments: Sequence[str]) -> dict[str, Wanted]:
    """As `split`; several `column=value` may also stand in one argument, as a query is written in Python."""
    parts: list[str] = []
    for argument in arguments:
        pieces = [piece.rstrip(",") for piece in _cut(argument.strip(), r",?\s+(?=[^\s=]+=)")]
        parts += pieces if all("=" in piece for piece in pieces) else [argument]
    return split(parts)


def _cut(text: str, at: str) -> list[str]:
    """The pieces of a text between what is found of a pattern, but for what is found in a quoted value."""
    quoted = [found.span() for found in QUOTED.finditer(text)]
    cuts = [found.span() for found in re.finditer(at, text)]
    cuts = [(start, end) for start, end in cuts if not any(first <= start < last for first, last in quoted)]
    edges = [0, *(edge for cut in cuts for edge in cut), len(text)]
    return [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]


def split(parts: Sequence[str]) -> dict[str, Wanted]:
    """`column=value` texts as a mapping."""
    found: dict[str, Wanted] = {}
    for part in parts:
        name, sign, text = part.partition("=")
        if not sign or not name or not text:
            raise InputError(f"The query has {part!r}, where column=value is expected. {EXAMPLE}")
        if name in found:
            raise InputError(f"The query asks for '{name}' twice. List several values with commas: {name}=a,b.")
        pieces = [_read_piece(piece.removeprefix(sign)) for piece in _cut(sign + text, ",")]
        found[name] = pieces[0] if isinstance(pieces[0], tuple) and len(pieces) == 1 else pieces
    return found


def _read_piece(text: str) -> str | Range:
    """A value in quotation marks as it is; another text is a value or a range."""
    quoted = WHOLE.fullmatch(text)
    if quoted:
        return quoted[1].replace('""', '"')
    first, dots, last = text.partition(RANGE)
    return (first or None, last or None) if dots else text


def _list(wanted: Wanted) -> Sequence[int | float | str | date | Range]:
    return [wanted] if isinstance(wanted, int | float | str | date | tuple) else list(wanted)


def _list_labels(wanted: Wanted) -> list[str]:
    """The asked sensitive values."""
    for one in _list(wanted):
        if isinstance(one, tuple):
            raise InputError(f"{show(one)} is a range; sensitive values have no order. List them: a,b.")
    return [str(one) for one in _list(wanted)]


def _read_intervals(name: str, wanted: Wanted, coding: Coding, opaque: frozenset[str]) -> list[tuple[int, int]]:
    if name in opaque:
        raise InputError(
            f"'{name}' is published in groups of its hierarchy, and the release does not say what is in them. Give the "
            "config that the release was made with (config=..., or --config FILE)."
        )
    return _merge([_read_interval(name, one, coding) for one in _list(wanted)])


def _read_interval(name: str, one: object, coding: Coding) -> tuple[int, int]:
    if not isinstance(one, tuple):
        return _parse(name, one, coding)
    domain = coding.domains[coding.attributes.index(name)]
    first, last = one
    low = domain.lo if first is None else _parse(name, first, coding)[0]
    high = domain.hi if last is None else _parse(name, last, coding)[1]
    if low > high:
        raise InputError(f"{name}={show(one)} is an empty range: it ends before it starts. Exchange its ends.")
    return low, high


def _parse(name: str, one: object, coding: Coding) -> tuple[int, int]:
    try:
        return coding.parse(name, one.isoformat() if isinstance(one, date) else str(one))
    except ReissueError as error:
        if name in coding.numbers:
            raise InputError(f"The query cannot be read. {error}") from None
        known = coding.hierarchies[name].all_labels
        raise InputError(
            f"The query asks for {name}={one}, which is neither a value nor a group of its hierarchy."
            f"{did_you_mean(one, known)} Some that there are: {', '.join(known[:6])}."
        ) from None


def _merge(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without overlaps, ascending."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(intervals):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _find_values(sensitive: Mapping[str, Sequence[str]], coding: Coding) -> list[int]:
    fits = np.ones(len(coding.values), dtype=np.bool_)
    for name, labels in sensitive.items():
        has = coding.value_columns[name]
        unknown = [label for label in labels if label not in has]
        if unknown:
            raise InputError(
                f"No row of the release has {name}={unknown[0]}.{did_you_mean(unknown[0], has)} "
                f"Values: {', '.join(sorted(set(has))[:20])}."
            )
        fits &= np.isin(has, labels)
    return np.flatnonzero(fits).tolist()
