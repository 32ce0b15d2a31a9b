"""Hierarchies in ARX's files: every dialect reads the same, and what is wrong is named by its line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from reissue.errors import SchemaError
from reissue.hierarchy import Hierarchy
from tests.hierarchy.taxonomies import check_tree


@pytest.mark.parametrize(
    "name", ["age", "education", "marital-status", "native-country", "occupation", "race", "sex", "workclass"]
)
def test_full_domain_levels_are_the_columns_of_an_arx_file(shared_data: Path, name: str) -> None:
    path = shared_data / "arx_adult" / f"adult_hierarchy_{name}.csv"
    with path.open(newline="") as file:
        rows = list(csv.reader(file, delimiter=";"))
    hierarchy = Hierarchy.from_arx_csv(path)
    check_tree(hierarchy.tree)
    assert set(hierarchy.leaves) == {row[0] for row in rows}
    assert hierarchy.tree.height == len(rows[0]) - 1
    for column in range(len(rows[0])):
        node = hierarchy.tree.at_level(column)
        for row in rows:
            at = node[hierarchy.codes[row[0]]]
            assert (hierarchy.tree.lo[at], hierarchy.tree.hi[at]) == hierarchy.parse(row[column])
            assert set(hierarchy.leaves[hierarchy.tree.lo[at] : hierarchy.tree.hi[at] + 1]) == {
                other[0] for other in rows if other[column] == row[column]
            }


@pytest.mark.parametrize(
    "text",
    [
        "01;0-4;*\n2.0;0-4;*\n7;5-9;*\n",
        "\ufeff01;0-4;*\r\n2.0;0-4;*\r\n7;5-9;*",
        "01,0-4,*\n2.0,0-4,*\n\n7,5-9,*\n",
        '"01"\t"0-4"\t"*"\n2.0\t0-4\t*\n7\t5-9\t*\n',
        "01|0-4|*\n2.0|0-4|*\n7|5-9|*\n",
        "01;0-4\n2.0;0-4\n7;5-9\n",
        "01;0-4;*\n2.0;0-4;*\n2.0;0-4;*\n7;5-9;*\n",
        "01;0-4;0-4;*\n2.0;0-4;0-4;*\n7;7;5-9;*\n",
    ],
    ids=["plain", "bom-crlf", "comma", "tab-quotes", "bar", "no-root", "repeated-line", "repeated-label"],
)
def test_dialects_of_arx_files_read_the_same(tmp_path: Path, text: str) -> None:
    path = tmp_path / "age.csv"
    path.write_bytes(text.encode())
    hierarchy = Hierarchy.from_arx_csv(path)
    assert hierarchy.leaves == ("01", "2.0", "7")
    assert hierarchy.parse("0-4") == (0, 1)
    assert hierarchy.parse("5-9") == (2, 2)
    assert hierarchy.parse("*") == (0, 2)
    assert hierarchy.labels == ("*", "0-4", "7", "01", "2.0")


def test_quoted_labels_may_hold_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text('"nurse; night";"care, ""all""";*\ncook;kitchen;*\nmaid;kitchen;*\n')
    hierarchy = Hierarchy.from_file(path)
    assert hierarchy.leaves == ("nurse; night", "cook", "maid")
    assert hierarchy.parse('care, "all"') == (0, 0)


def test_one_column_is_a_flat_hierarchy(tmp_path: Path) -> None:
    path = tmp_path / "sex.csv"
    path.write_text("m\nf\n")
    assert Hierarchy.from_file(path).labels == ("*", "m", "f")


def test_unequal_depth_by_repeated_labels_has_the_levels_of_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "place.csv"
    path.write_text(
        "Paris;France;Europe;*\nNice;France;Europe;*\nMonaco;Europe;Europe;*\nTokyo;Tokyo;Asia;*\nOsaka;Japan;Asia;*\n"
    )
    hierarchy = Hierarchy.from_arx_csv(path)
    tree = hierarchy.tree
    check_tree(tree)
    assert {hierarchy.labels[i] for i in tree.at_level(1)} == {"France", "Monaco", "Tokyo", "Osaka"}
    assert {hierarchy.labels[i] for i in tree.at_level(2)} == {"Europe", "Asia"}
    assert {hierarchy.labels[i] for i in tree.at_level(3)} == {"*"}


@pytest.mark.parametrize("text", ["m;m;*\nf;f;*\n", "m;m\nf;f\n"], ids=["root", "no-root"])
def test_a_column_that_repeats_every_value_is_a_level_too(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sex.csv"
    path.write_text(text)
    hierarchy = Hierarchy.from_arx_csv(path)
    assert hierarchy.tree.height == 2
    assert [hierarchy.labels[i] for i in hierarchy.tree.at_level(1)] == ["m", "f"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a;X;*\nb;Y;*\na;Y;*\n", ["line 3", "'a' is under 'Y'", "'X' in line 1", "one parent"]),
        ("a;X;P;*\nb;X;Q;*\n", ["line 2", "'X' is under 'Q'", "'P' in line 1"]),
        ("X;X;*\nb;X;*\n", ["line 2", "'X' is a value in line 1", "group of values in line 2", "'X (all)'"]),
        ("a;b;*\nb;c;*\n", ["line 2", "'b' is under 'c'", "under '*' in line 1"]),
        ("a;X;*\nb;*;X\n", ["line 2", "'*' is the root and stands below 'X'"]),
        ("*;*\n", ["line 1", "'*' is the root and no value"]),
        ("a;X;*\nb;X\nc;X;*\n", ["line 2", "2 columns", "most lines have 3", "'b'", "repeat a label"]),
        ("a;X;*\nb;;*\n", ["line 2", "column 2 is empty", "Repeat the label"]),
        ("value;group;top\na;X;*\nb;X;*\n", ["line 1", "looks like a header", "delete the line"]),
        ('a;X;*\n"b;X;*\n', ["line", "quote"]),
        ("", ["is empty", "one line per value"]),
        ("\n \n\n".replace(" ", ""), ["is empty"]),
    ],
)
def test_what_is_wrong_with_an_arx_file_is_named(tmp_path: Path, text: str, parts: list[str]) -> None:
    path = tmp_path / "zip.csv"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        Hierarchy.from_arx_csv(path)
    for part in [str(path), *parts]:
        assert part in str(caught.value)


def test_undecodable_bytes_are_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "zip.csv"
    path.write_bytes("a;X;*\né;X;*\n".encode("latin-1"))
    with pytest.raises(SchemaError, match=r"line 2: the byte 0xe9 is not UTF-8. Save the file as UTF-8"):
        Hierarchy.from_arx_csv(path)
    path.write_bytes("a;X;*\n".encode("utf-16"))
    with pytest.raises(SchemaError, match="UTF-16"):
        Hierarchy.from_arx_csv(path)
    with pytest.raises(SchemaError, match="cannot be read"):
        Hierarchy.from_arx_csv(tmp_path / "absent.csv")
