"""Whatever is handed in as a release: a clear error or a right answer, never a traceback."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reissue as ri
from reissue.audit import audit
from reissue.errors import ReissueError, ReleaseError
from tests.audit.figures import FIRST, SECOND, SNAPSHOTS
from tests.support.hospital import FIGURE_1, frame, hospital_schema

NASTY = [
    "*",
    "**",
    "{",
    "}",
    "{}",
    "{,}",
    "~",
    "20~",
    "-",
    "20-",
    "-20",
    "[",
    "[20",
    "[20,",
    "[20,30",
    "]20,30[",
    "(,)",
    ">=",
    "<",
    ">=x",
    "<=9e999999999",
    "NaN",
    "inf",
    "-inf",
    "1e400",
    "٣",
    "２０",
    "20-29-39",
    "<script>alert(1)</script>",
    "Male",
    "Person",
    "male",
    "(missing)",
    "M*",
    "Male~Female",
    "2*",
    "65+",
    "20,30",
    "2026-01-01",
]
NASTY += [
    "",
    " ",
    "9" * 400,
    "\x00",
    "=cmd|' /C calc'!A0",
    "'; DROP TABLE x; --",
    "\u202e",
    "{Male, Female}",
    "under 30",
]
NASTY += ["a" * 100_000, "\n", '"', "{" + "1," * 2000 + "2}"]

ages = st.sampled_from(["20-29", "[20, 30[", "[20,30)", ">=65", "2*", "{20, 25}", "33", "*", "<30", "20~29"])
genders = st.sampled_from(["Male", "Female", "Person", "*", "{Male, Female}", "M*", "Male~Female"])
cells = st.one_of(st.sampled_from(NASTY), st.text(max_size=12), st.integers(-200, 200).map(str))


@settings(max_examples=150)
@given(rows=st.lists(st.tuples(ages, genders, cells), min_size=1, max_size=6))
def test_sound_labels_with_any_value(rows: list[tuple[str, str, str]]) -> None:
    names = ("age", "gender", "diagnosis")
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    hidden = sum(row[0] == "*" and row[1] == "*" for row in rows)
    (entry,) = json.loads(audit([table], hospital_schema()).to_json())["releases"]
    assert (entry["rows"], entry["suppressed"]) == (len(rows) - hidden, hidden)
    assert entry["classes"] == len({row[:2] for row in rows if row[:2] != ("*", "*")})


@settings(max_examples=150)
@given(rows=st.lists(st.tuples(ages | cells, genders | cells, cells), min_size=1, max_size=6))
def test_any_cells(rows: list[tuple[str, str, str]]) -> None:
    names = ("age", "gender", "diagnosis")
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    _clear_or_right(table, len(rows))


def _brief(error: ReissueError) -> None:
    if len(str(error)) > 3000:
        raise AssertionError("an error must not repeat a huge cell") from error


def _clear_or_right(table: object, rows: int) -> None:
    try:
        done = audit([table], hospital_schema(), attacks=["correspondence"])  # type: ignore[list-item]
    except ReissueError as error:
        _brief(error)
        return
    (entry,) = json.loads(done.to_json())["releases"]
    assert entry["rows"] + entry["suppressed"] == rows
    assert done.describe()


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=4), match=st.sampled_from(["order", "content"])
)
def test_any_cells_with_members(rows: list[tuple[str, str, str]], match: str) -> None:
    """Valid rows with some altered ones, matched with people."""
    sound = FIRST.to_pylist()
    names = ("age", "gender", "diagnosis")
    for i, row in enumerate(rows):
        sound[i] = dict(zip(names, row, strict=True))
    try:
        done = audit([pa.Table.from_pylist(sound)], hospital_schema(), [frame(FIGURE_1)], match=match)
    except ReissueError as error:
        _brief(error)
        return
    (entry,) = json.loads(done.to_json())["releases"]
    assert entry["members"] <= 4
    assert entry["rows"] - entry["counterfeits"] == entry["members"]


@settings(max_examples=120)
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
)
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(ReissueError, match=r"r\.csv"):
        audit([path], hospital_schema())
    path.write_bytes(b"age,gender,diagnosis\n" + content)
    try:
        audit([path], hospital_schema(), attacks=["correspondence"])
    except ReissueError as error:
        _brief(error)


@settings(max_examples=60)
@given(
    content=st.dictionaries(st.text(max_size=8), st.one_of(st.none(), st.integers(), st.text(max_size=8)), max_size=6)
)
def test_any_description(tmp_path: Path, content: dict[str, object]) -> None:
    folder = tmp_path / "0001"
    folder.mkdir(exist_ok=True)
    for text in (json.dumps(content), json.dumps({**content, "format": "reissue-release/1", "number": 1}), "[", "[]"):
        (folder / "release.json").write_text(text)
        with pytest.raises(ReissueError, match=r"release\.json|0001"):
            audit([folder], hospital_schema())


def test_different_columns() -> None:
    with pytest.raises(ReleaseError, match="Column 'age' is missing") as caught:
        audit([FIRST.rename_columns(["Alter", "gender", "diagnosis"])], hospital_schema())
    assert "Release 1" in str(caught.value) or "Table" in str(caught.value)
    with pytest.raises(ReleaseError, match="Column 'diagnosis' is missing"):
        audit([FIRST.drop_columns(["diagnosis"])], hospital_schema())
    twice = pa.table(
        [FIRST["age"], FIRST["age"], FIRST["gender"], FIRST["diagnosis"]], ["age", "age", "gender", "diagnosis"]
    )
    with pytest.raises(ReleaseError, match="more than one column"):
        audit([twice], hospital_schema())


@pytest.mark.parametrize("content", [b"", b"\n", b"age;gender;diagnosis\n", b"PAR1", b"PK\x03\x04", b"\xff\xfe\x00"])
def test_empty_and_broken_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(ReleaseError, match=r"r\.csv"):
        audit([path], hospital_schema())
    with pytest.raises(ReleaseError, match="does not exist"):
        audit([tmp_path / "no.csv"], hospital_schema())
    with pytest.raises(ReleaseError, match=r"folder without release\.json"):
        audit([tmp_path], hospital_schema())


def test_ten_thousand_columns(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    extra = [f"x{i}" for i in range(10_000)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*extra, "age", "gender", "diagnosis"])
        for row in FIRST.to_pylist():
            writer.writerow([*("v" for _ in extra), row["age"], row["gender"], row["diagnosis"]])
    assert audit([path], hospital_schema()).to_dict()["releases"][0]["rows"] == 4  # type: ignore[index]
    path.write_text(",".join(extra) + "\n" + ",".join("v" for _ in extra) + "\n")
    with pytest.raises(ReleaseError, match="Column 'age' is missing") as caught:
        audit([path], hospital_schema())
    assert len(str(caught.value)) < 2000


def test_values_are_kept_as_they_are() -> None:
    """HTML and formulas in sensitive values are data: the document carries them unchanged, as text."""
    html = "<script>alert('x')</script>"
    release = FIRST.set_column(2, "diagnosis", pa.array([html, "=1+1", html, html]))
    people = frame([(n, a, g, v) for (n, a, g, _), v in zip(FIGURE_1, [html, "=1+1", html, html], strict=True)])
    document = json.loads(audit([release], hospital_schema(), [people]).to_json())
    values = {v["value"] for a in document["attacks"] for f in a["findings"] for c in f["classes"] for v in c["values"]}
    assert html in values


def test_an_altered_release_of_ours(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2), seed=1) as series:
        release = series.publish(SNAPSHOTS[1])
    table = pa.csv.read_csv(release.path / "release.csv").to_pydict()
    (release.path / "release.parquet").unlink()
    table["class"][0] = (table["class"][0] + 1) % 2
    pa.csv.write_csv(pa.table(table), release.path / "release.csv")
    with pytest.raises(ReleaseError, match="rows of one class differ"):
        audit([release.path], hospital_schema())
    del table["class"]
    pa.csv.write_csv(pa.table(table), release.path / "release.csv")
    with pytest.raises(ReleaseError, match="class number of every row"):
        audit([release.path], hospital_schema())


def test_second_release_is_named() -> None:
    wrong = SECOND.set_column(1, "gender", pa.array(["Persn"] * 7))
    with pytest.raises(ReleaseError, match="'Persn'"):
        audit([FIRST, wrong], hospital_schema(), SNAPSHOTS)


@pytest.mark.parametrize("column", ["age", "gender"])
def test_a_label_that_means_nothing_is_told_with_its_row(tmp_path: Path, column: str) -> None:
    """Also where a release has it twice: the first row is told, of the first release that has it."""
    for label, known in (("2?", ()), ("20…30", (SNAPSHOTS[0], SNAPSHOTS[1])), ("{20, x}", ())):
        cells = SECOND[column].to_pylist()
        cells[2] = cells[4] = label
        broken = SECOND.set_column(SECOND.column_names.index(column), column, pa.array(cells))
        pa.csv.write_csv(FIRST, tmp_path / "1.csv")
        pa.csv.write_csv(broken, tmp_path / "2.csv")
        with pytest.raises(ReleaseError, match=column) as caught:
            audit([tmp_path / "1.csv", tmp_path / "2.csv"], hospital_schema(), known or None)
        assert f"{label!r} in row 3 of 2.csv" in str(caught.value)
        assert "the hierarch" in str(caught.value), "and what to do"
