"""The public files of a release, and reading them back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from reissue.coding import Coding
from reissue.core.domain import Int32, Int64
from reissue.core.observed import Release as ObservedRelease
from reissue.core.snapshot import Candidate, Coded, Facts
from reissue.engine.base import Format
from reissue.engine.output import anatomized_tables, generalized_table, read_release, write_release
from reissue.engine.snapshot import Snapshot
from reissue.engine.text import Text
from reissue.errors import ReleaseError
from reissue.series.settings import policy_of
from reissue.strategies.base import Strategy

FORMAT = "reissue-release/1"
README = "release.json"


def write_public(
    directory: Path,
    snapshot: Snapshot,
    coded: Coded,
    candidate: Candidate,
    facts: Facts,
    coding: Coding,
    strategy: Strategy,
    seed: int,
    formats: Sequence[Format],
) -> dict[str, float]:
    """Write the files that may be handed out, rows in random order; returns what the release cost, by measure."""
    class_name = class_column(coding)
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(len(facts.subjects))
    classes, values = facts.classes[order], facts.values[order]
    insensitive = snapshot.insensitive
    rows = source_rows(coded, candidate, facts, rng)[order] if insensitive is not None else None
    if facts.anatomized:
        exact = {domain.name: _exact(coding, a, facts.codes[order, a]) for a, domain in enumerate(coding.domains)}
        first, second = anatomized_tables(
            exact, classes, coding.value_columns, values, insensitive, rows, class_name=class_name
        )
        tables = {"quasi_identifiers": first, "values": second}
    else:
        labels = {
            domain.name: Text(coding.labels(a, facts.boxes[:, a, 0], facts.boxes[:, a, 1]), classes)
            for a, domain in enumerate(coding.domains)
        }
        sensitive = {name: Text(column, values) for name, column in coding.value_columns.items()}
        table = generalized_table(labels, sensitive, insensitive, rows)
        tables = {"release": table.append_column(class_name, pa.array(classes))}
    files = write_release(directory, tables, formats)
    about = description(facts, coding, strategy, class_name, [path.name for path in files])
    (directory / README).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    from reissue.utility import measure

    cost = measure(facts, coded)
    return {
        "ail": cost.ail,
        "gcp": cost.gcp_share,
        "discernibility": cost.discernibility_share,
        "class_size": cost.class_size,
    }


def source_rows(coded: Coded, candidate: Candidate, facts: Facts, rng: np.random.Generator) -> Int64:
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
    drawn = rng.random(len(fake))
    anyone = (drawn * len(by_class)).astype(np.int64)
    rows[fake] = by_class[np.where(size > 0, start + (drawn * size).astype(np.int64), anyone)] if len(by_class) else -1
    return rows


def class_column(coding: Coding) -> str:
    """The name of the column with the class numbers; another one if the table has a column of that name."""
    schema = coding.schema
    taken = {*schema.quasi_identifiers, *schema.sensitive, *schema.insensitive}
    return next(name for name in ("class", "release_class", "reissue_class") if name not in taken)


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
    facts: Facts, coding: Coding, strategy: Strategy, class_name: str, files: Sequence[str]
) -> dict[str, object]:
    """`release.json`: what a recipient needs to read the files. It says nothing of counterfeits or steps."""
    schema = coding.schema
    sizes = np.bincount(facts.classes, minlength=facts.class_count)
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
        "number": facts.number,
        "style": "anatomized" if facts.anatomized else "generalized",
        "strategy": strategy.name,
        "parameters": public_parameters(strategy),
        "counts": {
            "rows": len(facts.subjects),
            "classes": facts.class_count,
            "smallest_class": int(sizes.min(initial=0)) if len(sizes) == 0 else int(sizes.min()),
            "largest_class": int(sizes.max(initial=0)),
        },
        "columns": columns,
        "files": sorted(files),
    }


def public_parameters(strategy: Strategy) -> dict[str, object]:
    """The settings a recipient may know: numbers and choices, not files or people."""
    private = getattr(strategy, "private_settings", ())
    return {
        key: value
        for key, value in policy_of(strategy).items()
        if key not in ("strategy", *private) and isinstance(value, str | int | float | bool)
    }


def read_public(directory: Path, coding: Coding) -> ObservedRelease:
    """A published release as outsiders see it: labels turned back into boxes."""
    about = read_description(directory)
    number = about["number"]
    assert isinstance(number, int)
    if about["style"] == "anatomized":
        return _read_anatomized(directory, number, coding)
    found = read_release(_file(directory, "release"))
    classes = _numbers(found[class_column(coding)])
    count = int(classes.max(initial=-1)) + 1
    first = np.zeros(count, dtype=np.int64)
    first[classes[::-1]] = np.arange(len(classes))[::-1]
    boxes = np.empty((count, len(coding.domains), 2), dtype=np.int32)
    for a, domain in enumerate(coding.domains):
        text = found[domain.name]
        parsed = np.array([coding.parse(a, str(label)) for label in text.labels], dtype=np.int32).reshape(-1, 2)
        boxes[:, a] = parsed[text.index[first]]
        if not np.array_equal(parsed[text.index], boxes[classes, a]):
            raise ReleaseError(f"{directory}: rows of one class differ in '{domain.name}'.")
    return ObservedRelease(number, boxes, classes, _value_codes(found, coding))


def _read_anatomized(directory: Path, number: int, coding: Coding) -> ObservedRelease:
    """Classes and values from the two tables; each class's box is the hull of its exact rows."""
    from reissue.core.boxes import hulls, snap

    name = class_column(coding)
    people = read_release(_file(directory, "quasi_identifiers"))
    classes = _numbers(people[name])
    codes = np.empty((len(classes), len(coding.domains)), dtype=np.int32, order="F")
    for a, domain in enumerate(coding.domains):
        text = people[domain.name]
        codes[:, a] = np.array([coding.parse(a, str(label))[0] for label in text.labels], dtype=np.int32)[text.index]
    groups = read_release(_file(directory, "values"))
    repeat = _numbers(groups["count"])
    boxes = snap(hulls(codes, classes, int(classes.max(initial=-1)) + 1), coding.domains)
    rows = np.repeat(_numbers(groups[name]), repeat), np.repeat(_value_codes(groups, coding), repeat)
    return ObservedRelease(number, boxes, *rows, anatomized=True)


def read_description(directory: Path) -> Mapping[str, object]:
    """`release.json` of a release."""
    try:
        about = json.loads((directory / README).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{directory / README} cannot be read: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ReleaseError(f"{directory / README} is not a {FORMAT} description.")
    return about


def _file(directory: Path, name: str) -> Path:
    for suffix in (".parquet", ".csv"):
        if (directory / f"{name}{suffix}").exists():
            return directory / f"{name}{suffix}"
    raise ReleaseError(f"{directory} has neither {name}.parquet nor {name}.csv.")


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
