"""The public files of a release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int32, Int64
from reissue.coding import Coding
from reissue.engine.output import (
    CLASS,
    added_name,
    anatomized_tables,
    generalized_table,
    write_release,
)
from reissue.engine.settings import Format
from reissue.engine.text import Text
from reissue.errors import ReleaseError
from reissue.methods.registry import policy_of
from reissue.methods.strategy import Strategy
from reissue.model.release import Candidate, Coded, Facts

FORMAT = "reissue-release/1"
README = "release.json"


@dataclass(frozen=True)
class Extent:
    """How large a release, or a part of it, is: for `release.json`."""

    rows: int
    classes: int
    smallest: int
    largest: int

    @staticmethod
    def of(facts: Facts) -> Extent:
        sizes = np.bincount(facts.classes, minlength=facts.class_count)
        smallest, largest = (int(sizes.min()), int(sizes.max())) if len(sizes) else (0, 0)
        return Extent(len(facts.subjects), facts.class_count, smallest, largest)

    @staticmethod
    def together(parts: Sequence[Extent]) -> Extent:
        some = [part for part in parts if part.classes]
        return Extent(
            sum(part.rows for part in parts),
            sum(part.classes for part in parts),
            min((part.smallest for part in some), default=0),
            max((part.largest for part in some), default=0),
        )


def write_public(
    directory: Path,
    facts: Facts,
    insensitive: pa.Table | None,
    rows: Int64 | None,
    coding: Coding,
    strategy: Strategy,
    seed: int,
    formats: Sequence[Format],
) -> None:
    """Write the files that may be handed out, rows in random order.

    rows: int64[published] the row of `insensitive` whose columns each row of `facts` carries.
    """
    order = np.random.default_rng([seed, 2]).permutation(len(facts.subjects))
    files = write_release(directory, public_tables(facts, insensitive, rows, order, coding), formats)
    names = [path.name for path in files]
    write_description(directory, facts.number, facts.anatomized, Extent.of(facts), coding, strategy, names)


def public_tables(
    facts: Facts, insensitive: pa.Table | None, rows: Int64 | None, order: Int64, coding: Coding
) -> dict[str, pa.Table]:
    """What is published of these facts, by the name of the file; its rows in this order."""
    class_name = class_column(coding)
    classes, values = facts.classes[order], facts.values[order]
    rows = None if rows is None else rows[order]
    if facts.anatomized:
        exact = {domain.name: _exact(coding, a, facts.codes[order, a]) for a, domain in enumerate(coding.domains)}
        first, second = anatomized_tables(
            exact, classes, coding.value_columns, values, insensitive, rows, class_name=class_name
        )
        return {"quasi_identifiers": first, "values": second}
    labels = {
        domain.name: Text(coding.labels(a, facts.boxes[:, a, 0], facts.boxes[:, a, 1]), classes)
        for a, domain in enumerate(coding.domains)
    }
    sensitive = {name: Text(column, values) for name, column in coding.value_columns.items()}
    table = generalized_table(labels, sensitive, insensitive, rows)
    return {"release": table.append_column(class_name, pa.array(classes))}


def write_description(
    directory: Path,
    number: int,
    anatomized: bool,
    extent: Extent,
    coding: Coding,
    strategy: Strategy,
    files: Sequence[str],
) -> None:
    """Write `release.json`: what a recipient needs to read the files. It says nothing of counterfeits or steps."""
    about = description(number, anatomized, extent, coding, strategy, files)
    (directory / README).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def source_rows(coded: Coded, candidate: Candidate, facts: Facts, seed: int) -> Int64:
    """int64[published]: the snapshot row whose insensitive columns each published row carries.

    A real row carries its own; a counterfeit those of a row of its class (of any row, if it is alone there), since
    empty cells would give it away.
    """
    order = np.argsort(coded.subjects, kind="stable")
    real = facts.real
    rows = np.empty(len(facts.subjects), dtype=np.int64)
    rows[real] = order[np.searchsorted(coded.subjects[order], facts.subjects[real])]
    fake = np.flatnonzero(~real)
    if len(fake) == 0:
        return rows
    by_class = np.argsort(candidate.classes, kind="stable")
    ordered = candidate.classes[by_class]
    start = np.searchsorted(ordered, facts.classes[fake], side="left")
    size = np.searchsorted(ordered, facts.classes[fake], side="right") - start
    drawn = np.random.default_rng([seed, 5]).random(len(fake))
    anyone = (drawn * len(by_class)).astype(np.int64)
    rows[fake] = by_class[np.where(size > 0, start + (drawn * size).astype(np.int64), anyone)] if len(by_class) else -1
    return rows


def class_column(coding: Coding) -> str:
    """The name of the column with the class numbers; another one if the table has a column of that name."""
    return added_name(CLASS, coding.schema.columns)


def reading(coding: Coding, name: str) -> str:
    """How to read the labels of a quasi-identifier, in a sentence."""
    if name in coding.hierarchies:
        return f"a value, or a group of its hierarchy; {coding.hierarchies[name].labels[0]} is anything"
    kind = {"int": "a whole number", "float": "a number", "date": "a date"}[coding.numeric(name).kind or "float"]
    return f"{kind}, or a range with both ends included (20-29, or -5 to 3)"


def _exact(coding: Coding, attribute: int, codes: Int32) -> Text:
    distinct, index = np.unique(codes, return_inverse=True)
    return Text(coding.labels(attribute, distinct, distinct), index.astype(np.int32))


def description(
    number: int, anatomized: bool, extent: Extent, coding: Coding, strategy: Strategy, files: Sequence[str]
) -> dict[str, object]:
    """The content of `release.json`."""
    schema, class_name = coding.schema, class_column(coding)
    columns = [
        *({"name": d.name, "role": "quasi-identifier", "reading": reading(coding, d.name)} for d in coding.domains),
        *({"name": name, "role": "sensitive"} for name in schema.sensitive),
        *({"name": name, "role": "insensitive"} for name in schema.insensitive),
        {
            "name": class_name,
            "role": "class",
            "reading": "rows with the same number are indistinguishable; numbers mean nothing across releases",
        },
    ]
    return {
        "format": FORMAT,
        "number": number,
        "style": "anatomized" if anatomized else "generalized",
        "strategy": strategy.name,
        "parameters": public_parameters(strategy),
        "counts": {
            "rows": extent.rows,
            "classes": extent.classes,
            "smallest_class": extent.smallest,
            "largest_class": extent.largest,
        },
        "columns": columns,
        "files": sorted(files),
    }


def public_parameters(strategy: Strategy) -> dict[str, object]:
    """The settings a recipient may know: numbers and choices, not files or people."""
    return {
        key: value
        for key, value in policy_of(strategy).items()
        if key not in ("strategy", *strategy.private_settings) and isinstance(value, str | int | float | bool)
    }


def read_description(directory: Path) -> Mapping[str, object]:
    """`release.json` of a release."""
    try:
        about = json.loads((directory / README).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{directory / README} cannot be read: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ReleaseError(f"{directory / README} is not a {FORMAT} description.")
    return about
