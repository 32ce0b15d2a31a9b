"""Hierarchies nested in JSON and TOML, and what can be wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reissue.errors import SchemaError
from reissue.hierarchy import Hierarchy


def test_nested_files_of_both_kinds_agree(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"Europe": ["Spain", {"France": ["Paris", "Nice"]}], "Asia": {"Japan": {}}, "X": null}'
    )
    (tmp_path / "a.toml").write_text('Europe = ["Spain", { France = ["Paris", "Nice"] }]\nAsia = ["Japan"]\nX = {}\n')
    json, toml = Hierarchy.from_json(tmp_path / "a.json"), Hierarchy.from_toml(tmp_path / "a.toml")
    assert json == toml == Hierarchy.from_file(tmp_path / "a.toml") == Hierarchy.from_file(tmp_path / "a.json")
    assert json.leaves == ("Spain", "Paris", "Nice", "Japan", "X")
    assert json.label(0, 2) == "Europe"


@pytest.mark.parametrize(
    ("tree", "part"),
    [
        ({}, "is empty"),
        ([], "is empty"),
        ({"A": []}, "the group 'A' has no values"),
        ({"A": ["x"], "B": ["x"]}, "'x' is under 'B', but under 'A'"),
        ({"A": ["A", "b"]}, "'A' is a value"),
        ({"A": [1.5]}, "the value 1.5"),
        ({"A": [""]}, "not empty"),
        ({"A": "x"}, "A holds 'x'"),
        ({"A": True}, "A holds True"),
    ],
)
def test_what_is_wrong_with_a_nested_hierarchy_is_named(tree: dict[str, object], part: str) -> None:
    with pytest.raises(SchemaError, match=part):
        Hierarchy.from_nested(tree)


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("a.json", '{"A": [', "Correct the file's JSON"),
        ("a.json", '{"A": ["x"], "A": ["y"]}', "'A' is written twice"),
        ("a.toml", "A = [", "Correct the file's TOML"),
        pytest.param("a.json", "[" * 100_000, "nested too deeply", id="deep lists"),
        pytest.param("a.json", '{"A": [' + "1" * 5_000 + "]}", "Correct the file's JSON", id="a long number"),
        pytest.param("a.toml", "A = " + "[" * 5_000, "nested too deeply", id="deep TOML"),
    ],
)
def test_broken_nested_files_are_named(tmp_path: Path, name: str, text: str, part: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SchemaError, match=part) as caught:
        Hierarchy.from_file(tmp_path / name)
    assert name in str(caught.value)


def test_groups_nested_too_deeply_are_refused() -> None:
    tree: dict[str, object] = {"x": None}
    for depth in range(5_000):
        tree = {f"group {depth}": tree}
    with pytest.raises(SchemaError, match="nested too deeply"):
        Hierarchy.from_nested(tree)


def test_a_path_that_cannot_be_one_is_named() -> None:
    with pytest.raises(SchemaError, match=r"cannot be read \(.*embedded null"):
        Hierarchy.from_file("a\0b.csv")
