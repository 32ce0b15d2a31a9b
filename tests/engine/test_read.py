"""Every source, and every way in which a file can be wrong: the message names the place and the remedy."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from reissue.engine.output import write_table
from reissue.engine.postgresql import Query, parse
from reissue.engine.read import files_of, find, missing_columns, open_csv
from reissue.errors import SnapshotError

GOOD = "patient,age,zip\np1,20,00123\np2,31,\n"


def write(tmp_path: Path, content: str | bytes, name: str = "people.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def message(source: object, *columns: str) -> str:
    with pytest.raises(SnapshotError) as caught:
        find(source, list(columns) or None)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("zipped", [False, True])
def test_csv_dialects_read_alike(tmp_path: Path, delimiter: str, end: str, mark: bytes, zipped: bool) -> None:
    text = 'patient,age,note\np1,020,"say ""x"" , ; and\ty"\np2,,ü\n\np3,7,\n'
    if delimiter != ",":
        text = text.replace(",", delimiter).replace(f" {delimiter} ;", " , ;")
    content = mark + text.replace("\n", end).encode()
    path = write(tmp_path, gzip.compress(content) if zipped else content)
    assert find(path, ["age", "note", "patient"]).table.to_pydict() == {
        "age": ["020", None, "7"],
        "note": ['say "x" , ; and\ty', "ü", None],
        "patient": ["p1", "p2", "p3"],
    }


def test_the_delimiter_is_the_one_that_finds_the_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "patient;last, first, middle, other;age\np1;a, b, c, d;3\n")
    assert find(path, ["patient", "age"]).table.to_pydict() == {"patient": ["p1"], "age": ["3"]}


def test_only_the_wanted_columns_are_read(tmp_path: Path) -> None:
    broken_elsewhere = write(tmp_path, b"patient,age,note\np1,3,\xff\xfe\n")
    assert find(broken_elsewhere, ["age"]).table.to_pydict() == {"age": ["3"]}
    frame = pd.DataFrame({"age": [1, 2], "note": [object(), {}]})
    assert find(frame, ["age"]).table.to_pydict() == {"age": [1, 2]}


def test_lines_of_rows_skip_blank_lines_and_follow_quoted_ones(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b\n1,"x\ny"\n\n2,z\n3,z\n')
    found = find(path, ["a"])
    assert found.lines is not None
    assert found.lines([1, 3, 2]) == [2, 6, 5]


def test_frames_of_every_kind() -> None:
    table = pa.table({"a": [1, None], "b": ["x", "y"], "c": [0.5, 1.5]})
    polars = pl.from_arrow(table)
    assert isinstance(polars, pl.DataFrame)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    indexed = pd.DataFrame({"a": [1, None], "b": ["x", "y"]}).set_index("b")
    for source in (table, polars, polars.lazy(), table.to_pandas(), reader, indexed):
        assert find(source, ["b", "a"]).table.to_pydict() == {"b": ["x", "y"], "a": [1, None]}


# -- what can be wrong


def test_no_such_file(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "2026-01.csv")
    told = message(tmp_path / "2026-1.csv", "age")
    assert "2026-1.csv does not exist" in told
    assert "Did you mean" in told
    assert "2026-01.csv'" in told
    assert "Check the path" in message(tmp_path / "nowhere" / "x.csv", "age")


def test_what_is_no_path_here() -> None:
    assert "is empty" in message("", "age"), "not the folder one is in"
    assert "table:clinic is a table of Spark's" in message("table:clinic", "age")
    assert "https://host/people.csv is an address" in message("https://host/people.csv", "age")


def test_a_folder(tmp_path: Path) -> None:
    assert "is a folder" in message(tmp_path, "age")


def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    for kind in ("parquet", "csv"):
        folder = tmp_path / kind
        folder.mkdir()
        for name, ages in (("b", ["3", "4"]), ("a", ["1", "2"])):
            table = pa.table({"age": ages, "zip": [f"{name}1", f"{name}2"]})
            write_table(table, folder / f"{name}.{kind}", kind)  # type: ignore[arg-type]
        (folder / "_SUCCESS").touch()
        found = find(folder, ["zip", "age"], encoded={"zip"}).table
        assert found["age"].to_pylist() == ["1", "2", "3", "4"], "in the order of names"
        assert found["zip"].to_pylist() == ["a1", "a2", "b1", "b2"]
        write_table(pa.table({"age": ["5"]}), folder / f"c.{kind}", kind)  # type: ignore[arg-type]
        assert f"c.{kind} has other columns" in message(folder, "age")
    (tmp_path / "parquet" / "year=2026").mkdir()
    assert "engine 'spark'" in message(tmp_path / "parquet", "age")


def test_an_empty_file(tmp_path: Path) -> None:
    assert "is empty (0 bytes). Export" in message(write(tmp_path, ""), "age")
    assert "is empty" in message(write(tmp_path, "", "p.parquet"), "age")
    assert "holds no text" in message(write(tmp_path, "\n\n\n"), "age")


def test_undecodable_bytes_name_line_column_and_remedy(tmp_path: Path) -> None:
    told = message(write(tmp_path, b"patient,town\np1,Ulm\np2,K\xf6ln\n"), "patient", "town")
    assert "people.csv, line 3 in column 'town': the byte 0xf6 is not UTF-8" in told
    assert "CSV UTF-8" in told
    assert 'encoding = "windows-1252" under [schema.spelling]' in told


def test_undecodable_bytes_are_found_beyond_unread_ones(tmp_path: Path) -> None:
    told = message(write(tmp_path, b"patient,town,note\np1,Ulm,\xff\np2,K\xf6ln,x\n"), "town")
    assert "line 3 in column 'town'" in told


def test_utf16_and_spreadsheets_and_binary(tmp_path: Path) -> None:
    assert "is UTF-16" in message(write(tmp_path, GOOD.encode("utf-16")), "age")
    assert "spreadsheet" in message(write(tmp_path, b"PK\x03\x04....", "people.xlsx"), "age")
    assert "neither CSV nor Parquet" in message(write(tmp_path, b"a\x00\x01\x02", "people.dat"), "age")


@pytest.mark.parametrize("header", ["age,zip", "age,zip\n", "\ufeffage,zip", '"age","zip"', "age,zip\r"])
def test_a_header_without_rows(tmp_path: Path, header: str) -> None:
    path = write(tmp_path, header)
    found = find(path, ["zip", "age"], encoded={"zip"}).table
    assert (found.num_rows, found.column_names) == (0, ["zip", "age"])
    opened = open_csv(path, ["zip"])
    assert opened is not None
    assert sum(batch.num_rows for batch in opened.batches(["zip"])) == 0


def test_a_header_that_never_ends(tmp_path: Path) -> None:
    assert "never closed" in message(write(tmp_path, 'age,"zip'), "age")


def test_columns_of_one_name(tmp_path: Path) -> None:
    twins = pa.Table.from_arrays([pa.array(["1"])] * 3, names=["age", "age", "zip"])
    pa.parquet.write_table(twins, tmp_path / "twins.parquet")
    for source in (write(tmp_path, "age,age,zip\n1,1,1\n"), tmp_path / "twins.parquet", twins):
        with pytest.raises(SnapshotError, match="more than one column named 'age'"):
            find(source, ["zip", "age"], encoded={"age", "zip"})  # type: ignore[arg-type]
        assert find(source, ["zip"], encoded={"zip"}).table["zip"].to_pylist() == ["1"]  # type: ignore[arg-type]


def test_a_delimiter_at_the_end_of_lines(tmp_path: Path) -> None:
    told = message(write(tmp_path, "a;b\n1;2;\n3;4;\n"), "a", "b")
    assert "line 2 has 3; line 3 has 3. These lines end with a ';' that the header lacks" in told
    assert find(write(tmp_path, "a;b;\n1;2;\n"), ["b"]).table["b"].to_pylist() == ["2"]


def test_ragged_lines(tmp_path: Path) -> None:
    told = message(write(tmp_path, "a,b,c\n1,2,3\n\n1,2\n1,2,3,4\n"), "a", "b")
    assert "must have 3 fields like the header, but line 4 has 2; line 5 has 4" in told


def test_a_cut_file(tmp_path: Path) -> None:
    assert "line 3 has 2" in message(write(tmp_path, "a,b,c\n1,2,3\n4,5"), "a", "b")
    assert "incomplete" in message(write(tmp_path, "a,b,c\n1,2,3\n4,5"), "a", "b")


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    told = message(write(tmp_path, 'a,b\n1,x\n2,"y\n3,z\n4,z\n'), "a", "b")
    assert "line 3: a quote" in told
    assert "never closed" in told
    long = 'a,b\n1,"y\n' + "".join(f"{i},value\n" for i in range(600_000))
    assert "line 2: a quote" in message(write(tmp_path, long), "a", "b")


def test_a_single_quote_inside_a_value_is_no_open_quote(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b\n1,5" pipe\n2,x\n')
    assert find(path, ["b"]).table.to_pydict() == {"b": ['5" pipe', "x"]}


def test_cut_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b"a,b\n" + "".join(f"{i},{i * 7919 % 1000}\n" for i in range(50_000)).encode())
    assert "damaged or incomplete" in message(write(tmp_path, whole[: len(whole) // 2], "p.csv.gz"), "a")


def test_damaged_parquet(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(pa.table({"a": list(range(5000))}), path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"just text", whole[:200] + bytes(2000) + whole[2200:]):
        told = message(write(tmp_path, content, "cut.parquet"), "a")
        assert "cut.parquet cannot be read as Parquet" in told
        assert "Copy or export it again" in told


def test_missing_and_repeated_columns(tmp_path: Path) -> None:
    header = find(write(tmp_path, "Patient,zipcode,born\np1,1,2\n"), ["patient"]).header
    told = missing_columns(["patient", "zip_code", "income"], header)
    assert "Column 'patient' is missing. Did you mean 'Patient'?" in told[0]
    assert "Column 'zip_code' is missing. Did you mean 'zipcode'?" in told[1]
    assert "Column 'income' is missing. The columns are 'Patient', 'zipcode', 'born'." in told[2]
    assert "more than one column named 'age'" in message(write(tmp_path, "age,zip,age\n1,2,3\n"), "age", "zip")
    find(write(tmp_path, "age,zip,age\n1,2,3\n"), ["zip"])


def test_pandas_objects_of_mixed_type() -> None:
    told = message(pd.DataFrame({"zip": [123, "0123"]}, dtype=object), "zip")
    assert "Column 'zip' of the pandas DataFrame mixes types" in told
    assert "astype('string')" in told


def test_not_a_table_at_all() -> None:
    assert "cannot be read as a table" in message({"a": [1]}, "a")


def test_a_database_needs_a_query() -> None:
    with pytest.raises(SnapshotError, match="names a database but no table") as caught:
        parse("postgresql://ana:secret@db/clinic")
    assert "secret" not in str(caught.value)


def test_a_database_source_on_the_command_line() -> None:
    assert parse("postgresql://db/clinic#SELECT a FROM t WHERE b = '#';").sql == "SELECT a FROM t WHERE b = '#'"
    assert parse("postgres://db/clinic#health.patients").sql == 'SELECT * FROM "health"."patients"'


@pytest.mark.parametrize(
    "url", ["postgresql://ana:se@cret@db/clinic", "postgresql://db/clinic?user=ana&password=se@cret"]
)
def test_passwords_are_never_shown(url: str) -> None:
    query = Query(url, "SELECT 1")
    assert "cret" not in query.name
    assert "cret" not in repr(query)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    """It would be read several times: for its kind, its header, its rows."""
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe or device" in message(tmp_path / "pipe", "name")


def test_bars_separate_fields_too(tmp_path: Path) -> None:
    assert find(write(tmp_path, "name|age\nann|5\n"), ["age"]).table.to_pydict() == {"age": ["5"]}


def test_a_path_that_cannot_be() -> None:
    assert "is no path" in message("a\0b", "name")


def test_a_folder_of_two_kinds_leaves_nothing_out_silently(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    pa.parquet.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    assert [file.name for file in files_of(tmp_path)] == ["a.parquet"], "the same table in two forms"
    (tmp_path / "b.csv").write_text("x\n2\n")
    with pytest.raises(SnapshotError, match=r"b\.csv has no Parquet file of its name"):
        files_of(tmp_path)


KINDS = {
    "int8": pa.array([1, 2], pa.int8()),
    "int64": pa.array([1, 2]),
    "uint64": pa.array([1, 2], pa.uint64()),
    "double": pa.array([1.5, 2.5]),
    "bool": pa.array([True, False]),
    "string": pa.array(["1", "2"]),
    "large_string": pa.array(["1", "2"], pa.large_string()),
    "dictionary": pa.array(["1", "2"]).dictionary_encode(),
    "date32": pa.array([1, 2], pa.date32()),
    "timestamp": pa.array([1, 2], pa.timestamp("ms")),
    "decimal": pa.array([1, 2]).cast(pa.decimal128(21, 2)),
    "binary": pa.array([b"1", b"2"]),
    "list": pa.array([[1], [2]]),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "null": pa.nulls(2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_a_folder_that_differ_in_a_type_are_read_as_one_or_named(tmp_path: Path, kind: str) -> None:
    """Never a trace of Arrow's: the columns become one, or the message says which column differs in which files."""
    for other, values in KINDS.items():
        folder = tmp_path / other
        folder.mkdir()
        for name, column in (("a", KINDS[kind]), ("b", pa.nulls(2)), ("c", values)):
            pyarrow.parquet.write_table(pa.table({"zip": ["x", "y"], "age": column}), folder / f"{name}.parquet")
        try:
            assert find(folder, ["zip", "age"], encoded={"age"}).table.num_rows == 6
        except SnapshotError as error:
            told = re.search(r": column 'age' is of type (.+) in 'a\.parquet' and (.+) in '(.)\.parquet'", str(error))
            assert told, str(error)  # noqa: PT017 (either is right)
            assert told[1] != told[2]
            assert told[3] == "c"
            assert "Export all its files with the same types." in str(error)  # noqa: PT017
            assert kind != other, "the same type is no difference"


def test_a_field_that_is_too_long_is_not_called_an_open_quote(tmp_path: Path) -> None:
    told = message(write(tmp_path, "name,age\na,1\nb," + "x" * (10 << 20) + "\n"), "name", "age")
    assert "after line 2: a field or a row is too long" in told


def test_a_broken_link_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to("nowhere.csv")
    assert "a.csv is a link to nowhere.csv, which does not exist." in message(tmp_path / "a.csv", "age")
