"""Snapshots on a real Spark: the same rows, numbers and sentences as on one machine, and no rows on the driver."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from reissue.coding import Coding
from reissue.engine import snapshot as embedded
from reissue.engine.spark import pieces
from reissue.engine.spark.snapshot import SparkSnapshot, load
from reissue.engine.spark.tasks import unpack_rows
from reissue.engine.spark.verbs import Spark
from reissue.errors import SettingsError, SnapshotError
from reissue.schema import Schema
from tests.support import spark as support

pytestmark = [support.together, support.quiet]

CLINIC = Schema(
    identifier="patient",
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [3]}},
    sensitive="diagnosis",
    insensitive=["note"],
)
MISSING = Schema(
    identifier="patient",
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [3]}},
    sensitive=["diagnosis", "income"],
    bins={"income": [0, 20000, 50000]},
    missing="value",
)


@pytest.fixture
def spark() -> Spark:
    return support.engine()


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a few rows are divided like large ones."""
    monkeypatch.setattr(pieces, "PIECE", 2)


def people(rows: int, seed: int = 7) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "patient": [f"p{number}" for number in draw.permutation(rows)],
            "age": draw.integers(0, 100, rows),
            "zip": [f"{number:05}" for number in draw.integers(0, 40, rows) * 25],
            "diagnosis": draw.choice(["flu", "cold", "gastritis", "ulcer"], rows),
            "note": pa.array([None if number % 3 == 0 else f"n{number}" for number in range(rows)]),
        }
    )


def parquet(folder: Path, table: pa.Table, group: int = 2, name: str = "people.parquet") -> Path:
    pyarrow.parquet.write_table(table, folder / name, row_group_size=group)
    return folder / name


def csv(folder: Path, table: pa.Table) -> Path:
    path = folder / "people.csv"
    pa.csv.write_csv(table, path)
    return path


def encoded(spark: Spark, snapshot: SparkSnapshot, coding: Coding) -> pa.Table:
    """Its rows in codes, in the order of their places, under the columns that it tells."""
    table = unpack_rows(spark.collect(snapshot.encoded(coding), "test")).sort_by("row")
    assert table.column_names == snapshot.coded_schema(coding).names
    return table


def same(spark: Spark, ours: SparkSnapshot, source: object, schema: Schema) -> None:
    """That the rows, what was seen and the codes are those of the embedded engine."""
    theirs = embedded.load(source, schema)  # type: ignore[arg-type]
    assert ours.rows == len(theirs)
    assert ours.name == theirs.name
    assert ours.seen == theirs.seen
    coding = Coding.start(schema).learn(ours.seen)
    codes, values = theirs.encode(coding)
    table = encoded(spark, ours, coding)
    assert table.column("row").to_pylist() == list(range(len(theirs)))
    assert table.column("identifier").to_pylist() == theirs.identifiers.to_pylist()
    assert [table.column(f"c{a}").to_pylist() for a in range(codes.shape[1])] == codes.T.tolist()
    assert table.column("value").to_pylist() == values.tolist()
    assert table.schema.field("c0").type == table.schema.field("value").type == pa.int32()
    for place, name in enumerate(schema.insensitive):
        assert theirs.insensitive is not None
        assert table.column(f"i{place}").to_pylist() == theirs.insensitive.column(name).to_pylist()


@pytest.mark.parametrize("write", [parquet, csv])
def test_a_file_is_as_on_one_machine(spark: Spark, tmp_path: Path, write: Callable[[Path, pa.Table], Path]) -> None:
    path = write(tmp_path, people(23))
    same(spark, load(spark, path, CLINIC), path, CLINIC)


KINDS: dict[str, pa.Table] = {
    "numbers with gaps": pa.table(
        {
            "patient": [float(number) for number in range(7)],
            "age": [20.0, None, 30.5, 1.25, 7.0, 7.0, 0.125],
            "zip": pa.array([123.0, 456.0, None, 123.0, 9.0, 1.0, 2.0]),
            "diagnosis": pa.array([1.0, 2.0, None, 1.0, 1.0, 1.0, 2.0]),
            "income": [1.5, None, 30000.0, 60000.25, 0.0, 20000.0, 1e6],
        }
    ),
    "dates and moments": pa.table(
        {
            "patient": ["1.0", "2.0", "30.0", "7.0", "8.00"],
            "age": [datetime.date(2020, 1, day) for day in (5, 1, 2, 3, 4)],
            "zip": [datetime.datetime(2026, 1, 1), None, datetime.datetime(2026, 1, 2), None, None],
            "diagnosis": [datetime.datetime(2026, 1, 1), None] + [datetime.datetime(2026, 1, 2, 3, 4)] * 3,
            "income": [decimal.Decimal("1.50"), None, decimal.Decimal("20000.00"), None, None],
        }
    ),
    "text that is dates": pa.table(
        {
            "patient": ["a", " b", "c ", "d"],
            "age": ["2026-01-31", None, "1999-12-31 ", "2026-01-31"],
            "zip": ["00123", " ", "00123", ""],
            "diagnosis": ["x", "y", None, "x"],
            "income": ["1", "2.5", "1e5", None],
        }
    ),
    "fractions as text": pa.table(
        {
            "patient": [1, 2, 3, 4],
            "age": pa.array([1.1, 2.0, 3.0, 4.0], pa.float32()),
            "zip": pa.array([1.0, 2.0, 3.0, 4.5]),
            "diagnosis": pa.array(["a", "b", "a", "c"]).dictionary_encode(),
            "income": pa.array([None] * 4),
        }
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_depends_on_the_whole_column_does_not_depend_on_the_parts(spark: Spark, tmp_path: Path, name: str) -> None:
    path = parquet(tmp_path, KINDS[name], 1)
    same(spark, load(spark, path, MISSING), path, MISSING)


def test_a_declared_spelling_is_read_alike(spark: Spark, tmp_path: Path) -> None:
    table = pa.table(
        {
            "patient": ["a", "b", "c", "d"],
            "age": ["31/01/2026", "NA", "01/02/1999", "2026-01-31"],
            "zip": ["00123", "?", "00123", "NA"],
            "diagnosis": ["x", "?", "y", "x"],
            "income": ["1,5", "2", "NA", "99"],
        }
    )
    spelling = {"missing": {"*": ["NA", "?"], "income": ["99"]}, "decimal": ",", "dates": "dd/mm/yyyy"}
    schema = Schema.from_dict({**MISSING.to_dict(), "spelling": spelling})
    path = parquet(tmp_path, table, 1)
    same(spark, load(spark, path, schema), path, schema)


def test_a_declared_encoding_is_read_alike(spark: Spark, tmp_path: Path) -> None:
    path = tmp_path / "windows.csv"
    path.write_bytes("patient,age,zip,diagnosis,income\nä,31,00123,Grippe – leicht,2\nb,32,é,x,3\n".encode("cp1252"))
    schema = Schema.from_dict({**MISSING.to_dict(), "spelling": {"encoding": "windows-1252"}})
    same(spark, load(spark, path, schema), path, schema)


def spoilt(**changes: object) -> pa.Table:
    return pa.table({name: people(7).column(name) for name in CLINIC.columns} | changes)


WRONG: dict[str, pa.Table] = {
    "columns": people(5).drop_columns(["age"]).rename_columns(["patient", "Zip", "diagnosis", "note"]),
    "no rows": people(0),
    "nulls": spoilt(patient=["a", None, "c", " ", "e", "f", "g"], diagnosis=["x", None, None, None, None, "x", "x"]),
    "a word": spoilt(age=["1", "x", "2", "3", "2", "7", "8"], zip=["1", "2", "3", "4", None, "6", "7"]),
    "not numbers": spoilt(age=[1.0, float("inf"), 2.0**60, None, float("nan"), 2.5, 3.0]),
    "too large": spoilt(age=[1, 2**60, 2, 3, 2**61, 2**40, None]),
    "beyond": spoilt(age=[1, 2**35, 2, None, 2**40, 5, 6]),
    "fractions": spoilt(patient=[1.0, 2.5, 3.0, None, 4.25, 5.0, 6.0], diagnosis=[1.0, 2.0, 2.5, 1.0, 1.0, None, 1.0]),
    "types": spoilt(age=[True] * 7, patient=[[1]] * 7, note=[{"a": 1}] * 7, zip=[b"\xff"] * 7),
    "moments": spoilt(age=[datetime.datetime(2020, 1, 1 + day, day % 3) for day in range(7)]),
}


@pytest.mark.parametrize("name", WRONG)
def test_problems_are_told_in_the_same_words(spark: Spark, tmp_path: Path, name: str) -> None:
    path = parquet(tmp_path, WRONG[name], 2)
    with pytest.raises(SnapshotError) as theirs:
        embedded.load(path, CLINIC)
    with pytest.raises(SnapshotError) as ours:
        load(spark, path, CLINIC)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    ("table", "sentences"),
    [
        (
            spoilt(age=["1", "x", "y", "x", "2", "z", "w"]),
            ["'x' is not a number, in row 2. Write plain numbers", "'age': 5 rows in all are not a number."],
        ),
        (
            spoilt(age=["2020-01-01", "1", "2", "2020-01-02", "2020-01-03", "x", None]),
            ["'1' is not a date, in row 2. Write dates", "'age': 3 rows in all are not a date."],
        ),
        (
            spoilt(patient=["a", "b", "a", "c", "b", "a", "a"]),
            ["'a' occurs more than once, in row 1 and 3 more.", "'b' occurs more than once, in row 2 and 1 more."],
        ),
        (pa.concat_tables([people(7), people(7)]), ["'patient': 7 rows in all repeat an earlier identifier."]),
    ],
    ids=["words", "dates and numbers", "repeated", "much repeated"],
)
def test_of_many_wrong_values_the_first_and_their_number_are_told(
    spark: Spark, tmp_path: Path, table: pa.Table, sentences: list[str]
) -> None:
    with pytest.raises(SnapshotError) as caught:
        load(spark, parquet(tmp_path, table, 2), CLINIC)
    for sentence in sentences:
        assert sentence in str(caught.value)


BROKEN = {
    "ragged": "patient,age,zip,diagnosis,note\na,1,2,3,4\nb,1,2\n",
    "open quote": 'patient,age,zip,diagnosis,note\na,1,2,3,4\nb,1,2,"3,4\n',
    "values": "patient,age,zip,diagnosis,note\na,1,2,,4\n\nb,one,2,,4\nc,2,2,x,4\n",
    "no columns": "a title\n1,2\n",
    "no rows": "patient,age,zip,diagnosis,note\n",
    "empty": "",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_text_files_are_told_in_the_same_words(spark: Spark, tmp_path: Path, name: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(BROKEN[name])
    with pytest.raises(SnapshotError) as theirs:
        embedded.load(path, CLINIC)
    with pytest.raises(SnapshotError) as ours:
        load(spark, path, CLINIC)
    assert str(ours.value) == str(theirs.value)


def test_files_that_cannot_be_read(spark: Spark, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "broken.parquet", tmp_path / "nowhere.parquet"):
        with pytest.raises(SnapshotError) as theirs:
            embedded.load(path, CLINIC)
        with pytest.raises(SnapshotError) as ours:
            load(spark, path, CLINIC)
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(SnapshotError, match=r"'nowhere' cannot be read .* Check its name"):
        load(spark, "table:nowhere", CLINIC)
    with pytest.raises(SnapshotError, match="folder without Parquet or CSV files"):
        load(spark, tmp_path / "folder", CLINIC)


def test_a_file_that_changes_is_noticed(spark: Spark, tmp_path: Path) -> None:
    path = parquet(tmp_path, people(5))
    found = load(spark, path, CLINIC)
    parquet(tmp_path, people(6))
    with pytest.raises(SnapshotError, match="was changed while it was read"):
        spark.collect(found.encoded(Coding.start(CLINIC).learn(found.seen)), "test")


def test_a_folder_is_its_files_in_order_of_names(spark: Spark, tmp_path: Path) -> None:
    whole, folder = people(11), tmp_path / "people"
    folder.mkdir()
    parquet(folder, whole.slice(0, 4), name="a.parquet")
    parquet(folder, whole.slice(4, 0), name="b.parquet")
    narrow = whole.slice(4).set_column(1, "age", whole.column("age").slice(4).cast(pa.int8()))
    parquet(folder, narrow.set_column(4, "note", pa.nulls(7)), name="c.parquet")
    parquet(folder, people(3), name="_hidden.parquet")
    same(spark, load(spark, folder, CLINIC), folder, CLINIC)
    parquet(folder, whole.slice(4).set_column(1, "age", pa.array(["x"] * 7)), name="c.parquet")
    with pytest.raises(
        SnapshotError, match=r"column 'age' is of type int64 in 'a.parquet' and string in 'c.parquet'"
    ) as ours:
        load(spark, folder, CLINIC)
    with pytest.raises(SnapshotError) as theirs:
        embedded.load(folder, CLINIC)
    assert str(ours.value) == str(theirs.value)


def test_tables_and_frames_know_rows_by_their_identifier(spark: Spark, tmp_path: Path) -> None:
    whole = people(13)
    frame = spark.table(whole)
    spark.write_table(frame, "table:clinic_people")
    frame.repartition(3, "zip").write.parquet(str(tmp_path / "divided"))
    theirs = embedded.load(whole, CLINIC)
    notes = dict(zip(whole.column("patient").to_pylist(), whole.column("note").to_pylist(), strict=True))
    places = set()
    for source in (frame, frame.repartition(5), "table:clinic_people", f"file://{tmp_path}/divided"):
        ours = load(spark, source, CLINIC)
        assert ours.rows == 13
        assert {name: set(one) for name, one in ours.seen.categories.items()} == {
            name: set(one) for name, one in theirs.seen.categories.items()
        }
        assert ours.seen.numbers == theirs.seen.numbers
        table = encoded(spark, ours, Coding.start(CLINIC).learn(ours.seen))
        assert len(set(table.column("row").to_pylist())) == 13
        places.add(tuple(zip(table.column("identifier").to_pylist(), table.column("row").to_pylist(), strict=True)))
        assert table.column("i0").to_pylist() == [notes[name] for name in table.column("identifier").to_pylist()]
        ours.close()
    assert len(places) == 1, "a row's place depends on how Spark partitions the rows"
    with pytest.raises(SettingsError, match="exists already"):
        spark.write_table(frame, "table:clinic_people")
    assert load(spark, tmp_path / "divided", CLINIC).rows == 13


def test_of_rows_without_an_order_no_numbers_are_told(spark: Spark) -> None:
    frame = spark.table(spoilt(age=["1", "x", "2", None, "2", None, "8"]))
    with pytest.raises(SnapshotError) as caught:
        load(spark, frame.union(frame.where("patient = 'p1'")), CLINIC)
    told = str(caught.value)
    assert "the Spark DataFrame does not fit" in told
    assert "'p1' occurs more than once, in 2 rows. Keep one row per subject" in told
    assert "'x' is not a number, in a row. Write plain numbers" in told
    coding = Coding.start(CLINIC).learn(embedded.load(spoilt(), CLINIC).seen)
    parts = load(spark, spark.table(spoilt(age=[1.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0])), CLINIC)
    with pytest.raises(SnapshotError, match=r"has decimals \(2.5 in a row\), but this series codes it as whole"):
        coding.learn(parts.seen)


def test_rows_stay_with_the_workers(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 5000)
    path = parquet(tmp_path, people(20_000), 5000)
    ours = load(spark, path, CLINIC)
    assert ours.encoded(Coding.start(CLINIC).learn(ours.seen)).count() == 4, "packed rows are cells, one for a piece"
    assert ours.rows == 20_000
    assert spark.transfers.total() < 200, spark.transfers
