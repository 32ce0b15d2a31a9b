"""CSV files that are not UTF-8: read by the encoding that the schema declares, proposed by `init --from`."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pytest

import reissue as ri
from reissue.engine.read import find
from reissue.engine.snapshot import load
from reissue.errors import SchemaError, SnapshotError
from reissue.schema import Schema
from reissue.schema.spelling import ENCODINGS
from tests.engine.people import message

TABLE = "patient,age,zip,diagnosis\np1,20,Köln,Grippe – leicht\np2,30,Genève,Migräne €\n"


def write(folder: Path, content: bytes) -> Path:
    path = folder / "people.csv"
    path.write_bytes(content)
    return path


def declared(encoding: str) -> Schema:
    attributes = {"age": {"type": "int"}, "zip": {"type": "categorical"}}
    given = {"encoding": encoding}
    return Schema(identifier="patient", quasi_identifiers=attributes, sensitive="diagnosis", spelling=given)


@pytest.mark.parametrize("encoded", [TABLE.encode("windows-1252"), TABLE.encode(), TABLE.encode("utf-8-sig")])
def test_a_declared_encoding_is_that_of_files_that_are_not_utf8(tmp_path: Path, encoded: bytes) -> None:
    """A file that somebody saved as UTF-8 does not become other words."""
    seen = load(write(tmp_path, encoded), declared("windows-1252")).seen
    assert set(seen.categories["zip"]) == {"Köln", "Genève"}
    assert set(seen.sensitive) == {("Grippe – leicht",), ("Migräne €",)}


def test_every_allowed_encoding_is_read_by_python_and_by_arrow(tmp_path: Path) -> None:
    for encoding in ENCODINGS[1:]:
        letter = b"\xe1".decode(encoding)
        path = write(tmp_path, f"{letter}head,b\n{letter},x\n".encode(encoding))
        assert find(path, None, encoding=encoding).table.to_pydict() == {f"{letter}head": [letter], "b": ["x"]}


def test_bytes_that_the_declared_encoding_lacks_are_told(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE.encode("windows-1252").replace(b"K\xf6ln", b"K\x81ln"))
    told = message(path, declared("windows-1252"))
    assert "line 2 in column 'zip': the byte 0x81 is not windows-1252" in told
    assert "declare another encoding" in told


def test_a_column_whose_name_is_not_utf8_is_not_just_missing(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE.replace("zip", "größe").encode("windows-1252"))
    with pytest.raises(SnapshotError, match=r"line 1 in column .*: the byte 0xf6 is not UTF-8.*windows-1252"):
        find(path, ["patient", "größe"])
    assert find(path, ["patient", "age"]).table.num_rows == 2, "what is not asked for is not looked at"


@pytest.mark.parametrize("given", ["latin", "utf-16", "UTF8", 5])
def test_an_encoding_that_is_not_allowed(given: object) -> None:
    with pytest.raises(SchemaError, match=r"spelling.encoding: received .* Allowed: utf-8, windows-1250"):
        declared(given)  # type: ignore[arg-type]


def test_the_encodings_that_are_allowed_are_those_that_write_ascii_as_it_does() -> None:
    """The documented ones: windows-1250 to -1258, and those of iso-8859-1 to -15 that Western and Slavic tables use."""
    windows, iso = (1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258), (1, 2, 3, 4, 5, 7, 9, 13, 15)
    assert list(ENCODINGS) == ["utf-8", *(f"windows-{n}" for n in windows), *(f"iso-8859-{n}" for n in iso)]
    signs = "".join(map(chr, range(128)))
    assert all(signs.encode(encoding) == signs.encode("ascii") for encoding in ENCODINGS)
    with pytest.raises(SchemaError, match=r"iso-8859-13, iso-8859-15\.$"):
        declared("iso-8859-16")


def test_a_table_from_windows_is_proposed_and_published(tmp_path: Path) -> None:
    rows = [
        f"P{i},{20 + i % 40},{('Köln', 'Genève')[i % 2]},{('Grippe – leicht', 'Krebs', 'Röteln', 'Gicht')[i % 4]}\n"
        for i in range(90)
    ]
    path = write(tmp_path, ("Patient,Alter,Stadt,Diagnose\n" + "".join(rows)).encode("windows-1252"))
    proposal = ri.Schema.suggest(path)
    assert proposal.spelling == {"encoding": "windows-1252"}
    assert any("look whether accents and umlauts are right" in note for note in proposal.notes)
    config = proposal.write(tmp_path / "s.toml")[0]
    with ri.Series.create(
        tmp_path / "s", ri.Schema.from_toml(config), ri.Standing(), seed=1, formats=["csv"]
    ) as series:
        series.publish(path)
        out = pyarrow.csv.read_csv(tmp_path / "s" / "releases" / "0001" / "release.csv")
    assert set(out["Diagnose"].to_pylist()) == {"Grippe – leicht", "Krebs", "Röteln", "Gicht"}


def test_a_row_of_another_length_is_told_whatever_its_bytes(tmp_path: Path) -> None:
    """The reader cannot show a row whose bytes are no text; a quote is opened in it and closed in the next one."""
    path = write(tmp_path, b'patient,age,zip,note\np1,20,Bern,x\n"p2",30,"Basel","\xe9\n"p3",40,"Bern","x"\n')
    with pytest.raises(SnapshotError, match="every line must have 4 fields like the header, but line 3 has 7"):
        find(path, ("patient", "age"))
