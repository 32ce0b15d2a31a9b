"""What workers tell of parts and the driver puts together is what one machine tells of the whole, for any division."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.engine.parsing import parse
from reissue.engine.problems import Check, Problems, SnapshotProblem, WrongLabels
from reissue.engine.snapshot import Snapshot
from reissue.engine.spark import summary
from reissue.engine.spark.summary import SENSITIVE, SnapshotPart
from reissue.errors import SnapshotError
from reissue.schema import Schema

NUMBERS = st.sampled_from([0.0, 1.0, 2.5, 0.125, 1e-15, 5e-15, 2.0**31, 2.0**53, math.inf, math.nan, -3.0])
TEXTS = st.sampled_from(["1", "2.5", " 3 ", "x", "y", "", "2026-01-31", "2026-02-30", "1999-12-31", "7.0", "8.00"])
COLUMNS = [
    (st.sampled_from([0.0, 1.0, 2.5, 0.125, 1e-15, 7.0]), pa.float64()),
    (NUMBERS, pa.float64()),
    (NUMBERS.filter(lambda number: math.isfinite(number) and number == int(number)), pa.float64()),
    (TEXTS, pa.string()),
    (st.sampled_from(["2026-01-31", "1999-12-31"]), pa.string()),
    (st.sampled_from(["7.0", " 8.00", "12.0"]), pa.string()),
    (st.sampled_from([0, 5, 10**9 * 3600, 10**9 * 86400, -(10**9) * 86400]), pa.timestamp("ns")),
    (st.sampled_from([0, 7, 2**40, 2**60]), pa.int64()),
]
WHOLE = (st.sampled_from([0.0, 5.0, -7.0, 1e6]), pa.float64())
FITTING = {  # columns with which little is wrong, so that there is something to see
    "id": [COLUMNS[5], (TEXTS.filter(bool), pa.string()), WHOLE],
    "n": [COLUMNS[0], COLUMNS[4], WHOLE, (st.sampled_from([1.1, 2.0, 1e-15, 0.25]), pa.float32())],
    "w": [WHOLE, (st.sampled_from(["1", "2.0"]), pa.string())],
    "c": [COLUMNS[0], COLUMNS[3], COLUMNS[6], WHOLE],
    "s": [COLUMNS[3], COLUMNS[6], WHOLE],
    "b": [COLUMNS[0], WHOLE, (st.sampled_from(["1", "2.5"]), pa.string())],
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 6))
    columns = {}
    fitting = draw(st.booleans())
    for name, kinds in FITTING.items():
        values, kind = draw(st.sampled_from(kinds if fitting else COLUMNS))
        cells = values if fitting and name == "id" else st.one_of(values, values, values, st.none())
        drawn = draw(st.lists(cells, min_size=rows, max_size=rows))
        columns[name] = pa.array(drawn, kind, from_pandas=False)
    return pa.table(columns)


def schema(missing: str) -> Schema:
    return Schema(
        identifier="id",
        quasi_identifiers={"n": {"type": "numeric"}, "w": {"type": "int"}, "c": {"prefix": [1]}},
        sensitive=["s", "b"],
        bins={"b": [0, 2]},
        missing=missing,
    )


def divided(table: pa.Table, cuts: Sequence[int]) -> list[tuple[pa.Table, np.ndarray]]:  # type: ignore[type-arg]
    edges = sorted({0, table.num_rows, *(cut for cut in cuts if cut < table.num_rows)})
    return [
        (table.slice(low, high - low), np.arange(low, high, dtype=np.int64)) for low, high in itertools.pairwise(edges)
    ]


def of_parts(
    table: pa.Table, cuts: Sequence[int], form: Schema
) -> tuple[list[SnapshotPart], list[dict[str, object]], dict[str, bool]]:
    forms = summary.first_guess(form)
    while True:
        made = pa.concat_tables(summary.summarize(rows, at, form, forms, 2) for rows, at in divided(table, cuts))
        dealt = [made.filter(pc.equal(made.column("place"), place)) for place in (0, 1)]
        merged = [one for place, told in enumerate(dealt) for one in summary.merge(told, place)]
        rows = pa.concat_tables(merged).sort_by("first").to_pylist()
        parts = [pickle.loads(row["part"]) for row in rows if row["part"] is not None]
        right = summary.decide_forms(parts)
        if right.items() <= forms.items():
            return parts, [row for row in rows if row["part"] is None], forms
        forms |= right


def told(found: Sequence[SnapshotProblem | WrongLabels]) -> str:
    try:
        Problems("it", None, list(found)).refuse()
    except SnapshotError as error:
        return str(error)
    return ""


@given(tables(), st.lists(st.integers(1, 5), max_size=5), st.sampled_from(["refuse", "value"]))
@settings(max_examples=200)
def test_any_division_tells_the_same(table: pa.Table, cuts: list[int], missing: str) -> None:
    form = schema(missing)
    parts, counted, forms = of_parts(table, cuts, form)
    whole = Problems("it", None)
    parsed = parse(table, form, whole, forms)
    problems = summary.sort_problems(summary.merge_problems(part.problems for part in parts), form)
    wanted = [one for one in whole.found if one.check != Check.REPEATED]
    repeated = any(one.check == Check.REPEATED for one in whole.found)
    assert any(row["hashes"] is not None for row in counted) == repeated
    assert told(without_labels(problems)) == told(without_labels(wanted))
    for ours, theirs in zip(labels_of(problems), labels_of(wanted), strict=True):
        assert (ours.column, ours.check, ours.rows) == (theirs.column, theirs.check, theirs.rows)
        first = dict(zip(theirs.labels, theirs.first.tolist(), strict=True))
        assert ours.labels[0] == theirs.labels[0], "the first wrong label of all"
        assert [first[label] for label in ours.labels] == ours.first.tolist()
    if wanted:
        return
    snapshot = Snapshot.of("it", parsed)
    assert sum(part.rows for part in parts) == len(snapshot)
    for name, seen in snapshot.seen.numbers.items():
        merged = summary.merge_numbers([part.numbers[name] for part in parts])
        assert merged == seen
        assert (merged.rows, merged.fraction) == (seen.rows, seen.fraction)
    for name, seen_labels in [*snapshot.seen.categories.items(), (SENSITIVE, snapshot.seen.sensitive)]:
        assert isinstance(seen_labels, dict)
        expected = {label if name == SENSITIVE else (label,): pair for label, pair in seen_labels.items()}
        found: dict[tuple[str | None, ...], tuple[int, int]] = {}
        for row in counted:
            if row["column"] == name:
                key = tuple(row["label"])  # type: ignore[arg-type]
                assert key not in found, "equal labels were not put together"
                found[key] = (int(str(row["rows"])), int(str(row["first"])))
        assert found == expected


@given(tables(), st.lists(st.integers(1, 5), max_size=5))
def test_text_is_read_as_one_machine_reads_it_or_refused(table: pa.Table, cuts: list[int]) -> None:
    """Only how dates among numbers are refused may differ: one machine counts which are more."""
    form = schema("value")
    _, _, forms = of_parts(table, cuts, form)
    alone, divided = Problems("it", None), Problems("it", None)
    parse(table, form, alone)
    parse(table, form, divided, forms)
    assert bool(alone.found) == bool(divided.found)


def labels_of(found: Sequence[SnapshotProblem | WrongLabels]) -> list[WrongLabels]:
    return [one for one in found if isinstance(one, WrongLabels)]


def without_labels(found: Sequence[SnapshotProblem | WrongLabels]) -> list[SnapshotProblem | WrongLabels]:
    return [one for one in found if not isinstance(one, WrongLabels)]
