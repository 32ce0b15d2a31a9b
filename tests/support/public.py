"""A published release read back as outsiders see it: labels turned into boxes and codes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from reissue.arrays.types import Int32
from reissue.coding import Coding
from reissue.engine.output import COUNT, added_name
from reissue.engine.read import Source, find
from reissue.engine.text import Text, text_of
from reissue.history.public_files import name_class_column, read_description
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from reissue.model.observed import ObservedRelease


class _Every:
    """Contains every name: all columns of a release are read as dictionaries."""

    def __contains__(self, name: object) -> bool:
        return True


def read_release(source: Source, columns: Sequence[str] | None = None) -> dict[str, Text]:
    """A published release as text, column by column; None reads all columns."""
    found = find(source, columns, encoded=_Every())
    return {name: text_of(found.table.column(name)) for name in found.table.column_names}


def read_public(directory: Path, coding: Coding) -> ObservedRelease:
    """A published release as outsiders see it: labels turned back into boxes."""
    about = read_description(directory)
    number = int(str(about["number"]))
    if about["style"] == "anatomized":
        return _read_anatomized(directory, number, coding)
    found = read_release(_file(directory, "release"))
    if about["style"] in ("flat", "told"):
        return _read_boxes(found, number, coding)
    classes = _numbers(found[name_class_column(coding)])
    count = int(classes.max(initial=-1)) + 1
    first = np.zeros(count, dtype=np.int64)
    first[classes[::-1]] = np.arange(len(classes))[::-1]
    boxes = np.empty((count, len(coding.domains), 2), dtype=np.int32)
    for a, domain in enumerate(coding.domains):
        text = found[domain.name]
        parsed = np.array([coding.parse(a, str(label)) for label in text.labels], dtype=np.int32).reshape(-1, 2)
        boxes[:, a] = parsed[text.index[first]]
        assert np.array_equal(parsed[text.index], boxes[classes, a]), f"rows of one class differ in '{domain.name}'"
    return ObservedRelease(number, boxes, classes, _value_codes(found, coding))


def _read_boxes(found: Mapping[str, Text], number: int, coding: Coding) -> ObservedRelease:
    """Rows of standing classes: equal boxes are numbered as one; values as they are dealt, 0 where they are told."""
    rows = np.empty((len(found[coding.domains[0].name].index), len(coding.domains), 2), dtype=np.int32)
    for a, domain in enumerate(coding.domains):
        text = found[domain.name]
        parsed = np.array([coding.parse(a, str(label)) for label in text.labels], dtype=np.int32).reshape(-1, 2)
        rows[:, a] = parsed[text.index]
    flat, classes = np.unique(rows.reshape(len(rows), -1), axis=0, return_inverse=True)
    dealt = coding.schema.sensitive[0] in found
    values = _value_codes(found, coding) if dealt else np.zeros(len(rows), dtype=np.int32)
    return ObservedRelease(number, flat.reshape(len(flat), -1, 2), classes.reshape(-1).astype(np.int32), values)


def _read_anatomized(directory: Path, number: int, coding: Coding) -> ObservedRelease:
    """Classes and values from the two tables; each class's box is the hull of its exact rows."""
    name = name_class_column(coding)
    people = read_release(_file(directory, "quasi_identifiers"))
    classes = _numbers(people[name])
    codes = np.empty((len(classes), len(coding.domains)), dtype=np.int32, order="F")
    for a, domain in enumerate(coding.domains):
        text = people[domain.name]
        codes[:, a] = np.array([coding.parse(a, str(label))[0] for label in text.labels], dtype=np.int32)[text.index]
    groups = read_release(_file(directory, "values"))
    repeat = _numbers(groups[added_name(COUNT, coding.schema.sensitive)])
    boxes = widen_to_nodes(bounding_boxes(codes, classes, int(classes.max(initial=-1)) + 1), coding.domains)
    rows = np.repeat(_numbers(groups[name]), repeat), np.repeat(_value_codes(groups, coding), repeat)
    return ObservedRelease(number, boxes, *rows, anatomized=True)


def _file(directory: Path, name: str) -> Path:
    return next(path for path in (directory / f"{name}.parquet", directory / f"{name}.csv") if path.exists())


def _numbers(text: Text) -> Int32:
    return np.array([int(label) for label in text.labels], dtype=np.int32)[text.index]


def _value_codes(found: Mapping[str, Text], coding: Coding) -> Int32:
    """int32[rows]: the value codes of the sensitive column, or of the sensitive columns jointly."""
    columns = [found[name] for name in coding.schema.sensitive]
    key = np.zeros(len(columns[0].index), dtype=np.int64)
    for text in columns:
        key = key * (len(text.labels) + 1) + text.index
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    codes = [
        coding.value_lookup[tuple(str(text.labels[text.index[row]]) for text in columns)] for row in first.tolist()
    ]
    return np.array(codes, dtype=np.int32)[inverse]
