"""Knowledge files, CSV or Parquet, checked line by line; every mistake is named, all at once."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reissue.arrays.types import Float64, Int32
from reissue.errors import InputError
from reissue.methods.beliefs.knowledge import ESTIMATE, UNIFORM, Knowledge, ReadKnowledge, Second
from reissue.methods.beliefs.revision import Claims, normalize
from reissue.model.observed import Names
from reissue.model.small_files import MANY, read_small

SHOWN = 10
CLOSE = 1e-3
"""How far from 1 the shares of one distribution may sum up, for tables that were rounded."""

Lines = list[list[str]]


def load_knowledge(knowledge: Knowledge, names: Names) -> ReadKnowledge:
    """Read every file that the settings name."""
    boxes: Int32 | None = None
    shares: Float64 | None = None
    one: Float64 | None = None
    second: Second | None = None
    claims, unmatched = Claims.none(), 0
    if knowledge.values not in (ESTIMATE, UNIFORM):
        boxes, shares = read_values(knowledge.values, names, knowledge.unknown == "drop")
    if knowledge.transitions not in (ESTIMATE, UNIFORM):
        one = read_transitions(knowledge.transitions, names, knowledge.unknown == "drop")
    if knowledge.second not in (ESTIMATE, UNIFORM):
        second = read_second(knowledge.second, names, knowledge.unknown == "drop")
    if knowledge.compromised is not None:
        claims, unmatched = read_compromised(knowledge.compromised, names, knowledge.unknown == "drop")
    return ReadKnowledge(boxes, shares, one, second, claims, unmatched)


class _Problems:
    """What is wrong with one file; raised together."""

    def __init__(self, path: str | Path, names: Names, drop: bool) -> None:
        self._path, self._drop = Path(path), drop
        self._codes = {label: code for code, label in enumerate(names.values)}
        self._unknown: dict[str, None] = {}
        self.found: list[str] = []

    def code(self, label: str) -> int:
        """The code of a value's label; -1 if the series does not know it."""
        if label not in self._codes:
            self._unknown[label] = None
        return self._codes.get(label, -1)

    def number(self, text: str, line: int, what: str = "probability") -> float:
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not 0.0 <= number <= 1.0:
            self.found.append(f"line {line}: the {what} is {text!r}; it must be a number from 0 to 1")
            return 0.0
        return number

    def sums(self, shares: Float64, labels: Sequence[str], what: str) -> None:
        """Every row of float64[n, values] must sum to 1."""
        for i in np.flatnonzero(np.abs(shares.sum(axis=-1) - 1.0) > CLOSE).tolist():
            self.found.append(f"the probabilities of {what} {labels[i]} sum to {shares[i].sum():.4g}, not to 1")

    def settle(self) -> None:
        if self._unknown and not self._drop:
            labels = ", ".join(repr(label) for label in list(self._unknown)[:SHOWN])
            remedy = 'correct the label, or set unknown = "drop" to leave such values out'
            self.found.insert(0, f"the series knows no value {labels}: {remedy}")
        if self.found:
            more = f"\n- ... and {len(self.found) - SHOWN} more" if len(self.found) > SHOWN else ""
            listed = "\n".join(f"- {problem}" for problem in self.found[:SHOWN])
            raise InputError(f"{self._path.name} cannot be used as knowledge:\n{listed}{more}")


def read_lines(path: str | Path) -> tuple[list[str], Lines]:
    """(header, lines as text) of a Parquet or CSV file; the CSV's separator is a comma, semicolon or tab."""
    file = Path(path)
    try:
        if file.suffix.lower() in (".parquet", ".pq"):
            import pyarrow.parquet as pq

            table = pq.read_table(file)
            columns = [[_text(cell) for cell in table[name].to_pylist()] for name in table.column_names]
            return list(table.column_names), [list(line) for line in zip(*columns, strict=True)]
        text = read_small(file, MANY).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"The knowledge file {path} cannot be read: {reason}. Check its path and form.") from error
    rows = text.splitlines()
    if not rows:
        raise InputError(f"The knowledge file {path} is empty; its first line must name the columns.")
    separator = max(",;\t", key=rows[0].count)
    header, *lines = ([cell.strip() for cell in row] for row in csv.reader(rows, delimiter=separator) if row)
    short = [i for i, line in enumerate(lines, start=2) if len(line) != len(header)]
    if short:
        raise InputError(
            f"{file.name}: line {short[0]} has {len(lines[short[0] - 2])} cells, the header {len(header)}."
        )
    return header, lines


def _text(cell: object) -> str:
    return "" if cell is None else str(cell)


def _find_columns(path: str | Path, header: list[str], wanted: Sequence[str]) -> list[int]:
    missing = [name for name in wanted if name not in header]
    if missing:
        raise InputError(
            f"{Path(path).name} has no column '{missing[0]}'. It needs {', '.join(wanted)}; it has {', '.join(header)}."
        )
    return [header.index(name) for name in wanted]


def read_values(path: str | Path, names: Names, drop: bool = False) -> tuple[Int32, Float64]:
    """PDsv: columns named as quasi-identifiers (any of them), one with the value, and `probability`.

    A quasi-identifier's cell is a value, a group of its hierarchy or a range; * or no such column: anything.
    """
    header, lines = read_lines(path)
    (at,) = _find_columns(path, header, ["probability"])
    attributes = [name for name in header if name in names.attributes]
    rest = [i for i, name in enumerate(header) if name not in attributes and i != at]
    if len(rest) != 1:
        raise InputError(
            f"{Path(path).name} must have quasi-identifiers, one column with the sensitive value, and probability; "
            f"besides quasi-identifiers and probability it has: {', '.join(header[i] for i in rest) or 'nothing'}."
        )
    problems = _Problems(path, names, drop)
    keys = [tuple(line[header.index(name)] for name in attributes) for line in lines]
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    shares = np.zeros((len(number), len(names.values)))
    full = np.zeros((len(number), 1))
    for i, (line, key) in enumerate(zip(lines, keys, strict=True), start=2):
        code, share = problems.code(line[rest[0]]), problems.number(line[at], i)
        full[number[key], 0] += share
        if code >= 0:
            shares[number[key], code] += share
    labels = [
        ", ".join(f"{a} {cell}" for a, cell in zip(attributes, key, strict=True)) or "everybody" for key in number
    ]
    problems.sums(full, labels, "category")
    boxes = _read_boxes(problems, list(number), attributes, names)
    problems.settle()
    return boxes, normalize(shares)


def _read_boxes(problems: _Problems, keys: list[tuple[str, ...]], attributes: list[str], names: Names) -> Int32:
    """int32[categories, attributes, 2]."""
    anything = np.iinfo(np.int32)
    boxes = np.empty((len(keys), len(names.attributes), 2), dtype=np.int32)
    boxes[:, :, 0], boxes[:, :, 1] = anything.min, anything.max
    for i, key in enumerate(keys):
        for attribute, label in zip(attributes, key, strict=True):
            if label in ("*", ""):
                continue
            try:
                boxes[i, list(names.attributes).index(attribute)] = names.interval(attribute, label)
            except InputError as error:
                problems.found.append(str(error))
    return boxes


def read_transitions(path: str | Path, names: Names, drop: bool = False) -> Float64:
    """PDcor of one step, float64[values, values]: columns from, to, probability; or a matrix with labels around it."""
    header, lines = read_lines(path)
    problems = _Problems(path, names, drop)
    size = len(names.values)
    moves, full, named = np.zeros((size, size)), np.zeros((size, 1)), np.zeros(size, dtype=np.bool_)
    if {"from", "to", "probability"} <= set(header):
        source, target, at = _find_columns(path, header, ["from", "to", "probability"])
        cells = [(line[source], line[target], line[at], i) for i, line in enumerate(lines, start=2)]
    else:
        cells = [
            (line[0], to, cell, i)
            for i, line in enumerate(lines, start=2)
            for to, cell in zip(header[1:], line[1:], strict=True)
        ]
    for start, to, cell, i in cells:
        a, b, share = problems.code(start), problems.code(to), problems.number(cell, i)
        if a >= 0:
            full[a, 0] += share
            named[a] = True
            if b >= 0:
                moves[a, b] += share
    for code in np.flatnonzero(~named).tolist():
        problems.found.append(f"nothing is said about where '{names.values[code]}' leads")
    rows = np.flatnonzero(named).tolist()
    problems.sums(full[rows], [repr(names.values[i]) for i in rows], "what follows")
    problems.settle()
    return normalize(moves)


def read_second(path: str | Path, names: Names, drop: bool = False) -> Second:
    """PDcor of two steps: columns before, from, to, probability; pairs of values that are not given use one step."""
    header, lines = read_lines(path)
    columns = _find_columns(path, header, ["before", "from", "to", "probability"])
    problems = _Problems(path, names, drop)
    sums: dict[tuple[str, str], float] = {}
    entries: list[tuple[int, int, int, float]] = []
    for i, line in enumerate(lines, start=2):
        before, start, to, cell = (line[c] for c in columns)
        share = problems.number(cell, i)
        sums[before, start] = sums.get((before, start), 0.0) + share
        codes = (problems.code(before), problems.code(start), problems.code(to))
        if min(codes) >= 0:
            entries.append((*codes, share))
    totals = np.array(list(sums.values())).reshape(-1, 1)
    problems.sums(totals, [f"{a!r} and then {b!r}" for a, b in sums], "what follows")
    problems.settle()
    first, between, last = (np.array([e[c] for e in entries], dtype=np.int32) for c in range(3))
    shares = np.array([e[3] for e in entries], dtype=np.float64)
    pair = first.astype(np.int64) * len(names.values) + between
    total = np.bincount(pair, weights=shares, minlength=1)[pair] if len(pair) else shares
    return Second(first, between, last, np.where(total > 0, shares / np.where(total > 0, total, 1.0), 0.0))


def read_compromised(path: str | Path, names: Names, drop: bool = False) -> tuple[Claims, int]:
    """CR: columns subject, value, release, confidence. Also how many lines are about people unknown to the series."""
    header, lines = read_lines(path)
    columns = _find_columns(path, header, ["subject", "value", "release", "confidence"])
    problems = _Problems(path, names, drop)
    values, releases, confidences = [], [], []
    for i, line in enumerate(lines, start=2):
        value, release, confidence = (line[c] for c in columns[1:])
        values.append(problems.code(value))
        confidences.append(problems.number(confidence, i, "confidence"))
        releases.append(int(release) if release.isdigit() and int(release) > 0 else 0)
        if releases[-1] == 0:
            problems.found.append(f"line {i}: the release is {release!r}; it is a number from 1")
    people = [line[columns[0]] for line in lines]
    subjects = np.asarray(names.numbers(people), dtype=np.int64)
    _check_sums(problems, people, releases, confidences)
    problems.settle()
    claims = Claims(
        subjects, np.array(values, dtype=np.int32), np.array(releases, dtype=np.int32), np.array(confidences)
    )
    return claims.take((subjects >= 0) & (claims.values >= 0)), int((subjects < 0).sum())


def _check_sums(problems: _Problems, people: list[str], releases: list[int], confidences: list[float]) -> None:
    """Confidences about one person in one release are shares of one distribution."""
    total: dict[tuple[str, int], float] = {}
    for key, confidence in zip(zip(people, releases, strict=True), confidences, strict=True):
        total[key] = total.get(key, 0.0) + confidence
    for (person, release), sum_ in total.items():
        if sum_ > 1.0 + CLOSE:
            problems.found.append(f"the confidences about {person!r} in release {release} sum to {sum_:.4g}, above 1")
