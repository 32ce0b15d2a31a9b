"""Hierarchies: every label names one interval of codes, whatever the shape of the taxonomy."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.core.domain import Tree
from reissue.errors import SchemaError
from reissue.hierarchy import MISSING, ROOT, Hierarchy

ARX = Path(__file__).parents[2] / "shared" / "data" / "arx_adult"

Nested = dict[str, "Nested"]


@st.composite
def taxonomies(draw: st.DrawFn) -> Nested:
    """A random tree as nested dicts (a leaf is {}), with chains and unequal depths; labels are unique."""
    count = draw(st.integers(1, 25))
    nodes: list[Nested] = [{}]
    depth = [0]
    for i in range(count):
        above = draw(st.integers(0, len(nodes) - 1))
        nodes.append({})
        depth.append(depth[above] + 1)
        nodes[above][f"n{i}"] = nodes[-1]
    return nodes[0]


def values_of(tree: Nested) -> set[str]:
    return {leaf for name, below in tree.items() for leaf in (values_of(below) if below else {name})}


def groups_of(tree: Nested) -> dict[str, set[str]]:
    found = {}
    for name, below in tree.items():
        found[name] = values_of(below) if below else {name}
        found |= groups_of(below)
    return found


def check_tree(tree: Tree) -> None:
    """The contract of core.domain.Tree, and one node per interval."""
    assert tree.parent[0] == -1
    assert tree.lo[0] == 0
    nodes = range(len(tree.lo))
    assert len({(int(tree.lo[i]), int(tree.hi[i])) for i in nodes}) == len(tree.lo)
    start, child = tree.children
    for i in nodes:
        kids = child[start[i] : start[i + 1]].tolist()
        assert all(k > i for k in kids)
        if kids:
            assert len(kids) > 1
            assert kids == list(range(kids[0], kids[0] + len(kids)))
            edges = [int(tree.lo[i]), *(int(tree.hi[k]) + 1 for k in kids)]
            assert edges[:-1] == tree.lo[kids].tolist()
            assert edges[-1] == tree.hi[i] + 1
            assert all(tree.level[k] < tree.level[i] for k in kids)
        else:
            assert tree.lo[i] == tree.hi[i]
            assert tree.level[i] == 0


@given(taxonomies())
@settings(max_examples=300, deadline=None)
def test_every_label_means_its_values(tree: Nested) -> None:
    hierarchy = Hierarchy.from_nested(tree)
    check_tree(hierarchy.tree)
    assert set(hierarchy.leaves) == values_of(tree)
    for label, values in {**groups_of(tree), ROOT: values_of(tree)}.items():
        lo, hi = hierarchy.parse(label)
        assert set(hierarchy.leaves[lo : hi + 1]) == values
    for i, label in enumerate(hierarchy.labels):
        lo, hi = int(hierarchy.tree.lo[i]), int(hierarchy.tree.hi[i])
        assert hierarchy.label(lo, hi) == label
        assert hierarchy.parse(label) == (lo, hi)
    assert hierarchy.encode(hierarchy.leaves).tolist() == list(range(len(hierarchy.leaves)))
    assert Hierarchy.from_dict(hierarchy.to_dict()) == hierarchy


def grow(draw: st.DrawFn, tree: Nested, name: str) -> None:
    """Add a value somewhere: under the top or under a group, perhaps in a new group."""
    groups = [tree]
    stack = [tree]
    while stack:
        for below in stack.pop().values():
            if below:
                groups.append(below)
                stack.append(below)
    under = draw(st.sampled_from(groups))
    if draw(st.booleans()):
        under[name] = {}
    else:
        under[f"g{name}"] = {name: {}}


@given(st.data(), taxonomies(), st.integers(0, 6), st.booleans(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_extension_keeps_the_meaning_of_old_labels(
    data: st.DataObject, tree: Nested, more: int, missing: bool, shuffled: bool
) -> None:
    old = Hierarchy.from_nested(tree)
    old = old.with_missing() if missing else old
    for i in range(more):
        grow(data.draw, tree, f"x{i}")
    if shuffled:
        tree = dict(data.draw(st.permutations(list(tree.items()))))
    new = old.extend(Hierarchy.from_nested(tree))
    check_tree(new.tree)
    leaf, node = old.remap(new)
    assert (np.diff(leaf) > 0).all()
    assert [new.leaves[code] for code in leaf] == list(old.leaves)
    groups = {**groups_of(tree), ROOT: values_of(tree) | ({MISSING} if missing else set()), MISSING: {MISSING}}
    for i, label in enumerate(old.labels):
        lo, hi = node[i].tolist()
        assert new.parse(label) == (lo, hi)
        assert set(new.leaves[lo : hi + 1]) == groups[label]
        inside = set(leaf[old.tree.lo[i] : old.tree.hi[i] + 1].tolist())
        assert inside == set(leaf.tolist()) & set(range(lo, hi + 1))
    assert (new is old) == (more == 0)


def growing(kind: str) -> Hierarchy:
    return {
        "flat": Hierarchy.flat,
        "int": lambda: Hierarchy.intervals(5, factors=[2, 3], start=-2),
        "float": lambda: Hierarchy.intervals(0.1, factors=[3, 2], start=0.05),
        "lengths": lambda: Hierarchy.prefix([3, 1]),
        "step": lambda: Hierarchy.prefix(step=1),
        "dates": lambda: Hierarchy.dates(["decade", "year", "quarter", "month"]),
    }[kind]()


VALUES = {
    "flat": st.text("ab*", min_size=2, max_size=3),
    "int": st.integers(-50, 50).map(str),
    "float": st.decimals(-3, 3, places=2).map(str),
    "lengths": st.text("AB1", min_size=1, max_size=5),
    "step": st.text("AB1", min_size=1, max_size=5),
    "dates": st.dates().map(str),
}


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_growth_is_independent_of_the_order_of_arrival(kind: str, data: st.DataObject) -> None:
    batches = data.draw(st.lists(st.lists(VALUES[kind], max_size=6), max_size=4))
    grown = growing(kind).with_missing()
    for batch in batches:
        before = grown
        grown = grown.grow(batch)
        check_tree(grown.tree)
        leaf, node = before.remap(grown)
        assert (np.diff(leaf) > 0).all()
        assert [grown.parse(label) for label in before.labels] == [tuple(row) for row in node.tolist()]
    assert len(set(grown.all_labels)) == len(grown.all_labels)
    everything = [value for batch in batches for value in batch]
    assert grown == growing(kind).grow(reversed(everything)).with_missing()
    assert Hierarchy.from_dict(grown.to_dict()) == grown
    assert grown.grow(everything) is grown


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=20), st.integers(1, 9), st.integers(-7, 7))
def test_interval_labels_are_the_arithmetic_they_show(numbers: list[int], width: int, start: int) -> None:
    hierarchy = Hierarchy.intervals(width, factors=[2], start=start, values=map(str, numbers))
    for label in hierarchy.all_labels[1:]:
        if label in hierarchy.codes:
            continue
        low, high = map(int, label.split(" to ") if " to " in label else label.split("-"))
        lo, hi = hierarchy.parse(label)
        assert set(hierarchy.leaves[lo : hi + 1]) == {str(n) for n in numbers if low <= n <= high}
        assert (low - start) % width == 0
        assert high - low + 1 in (width, 2 * width)


def test_labels_of_growing_hierarchies() -> None:
    ages = Hierarchy.intervals(5, levels=2, values=["21", "24", "27", "-3", "-8"])
    assert ages.leaves == ("-8", "-3", "21", "24", "27")
    assert set(ages.labels) == {"*", "-10 to -1", "20-29", "20-24", "-8", "-3", "21", "24", "27"}
    assert ages.parse("25-29") == ages.parse("27")
    decimals = Hierarchy.intervals(0.1, factors=[3], values=["0.1", "0.29", "0.3", "0.15", "0.35"])
    assert [decimals.parse(label) for label in ("[0.0, 0.3)", "[0.1, 0.2)", "[0.3, 0.6)")] == [(0, 2), (0, 1), (3, 4)]
    assert decimals.label(3, 4) == "[0.3, 0.4)"
    codes = Hierarchy.prefix([3], values=["E11", "E11.9", "E12.0", "F"])
    assert codes.labels == ("*", "E11*", "E12.0", "F", "E11", "E11.9")
    days = Hierarchy.dates(values=["2026-01-15", "2026-01-02", "2026-02-01", "2025-12-31"])
    assert days.leaves == ("2025-12-31", "2026-01-02", "2026-01-15", "2026-02-01")
    assert days.parse("2026-01") == (1, 2)
    assert days.parse("2026") == (1, 3)
    assert days.label(1, 2) == "2026-01"


def test_a_single_member_is_published_by_its_own_label() -> None:
    hierarchy = Hierarchy.from_nested({"Oceania": ["Guam"], "Europe": ["France", "Spain"]})
    assert hierarchy.parse("Oceania") == hierarchy.parse("Guam") == (0, 0)
    assert hierarchy.label(0, 0) == "Guam"
    bigger = hierarchy.extend(Hierarchy.from_nested({"Oceania": ["Fiji"]}))
    assert bigger.parse("Guam") == (0, 0)
    assert bigger.parse("Oceania") == (0, 1)


# --- ARX files ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not ARX.is_dir(), reason="ARX's Adult hierarchies are not on this machine")
@pytest.mark.parametrize(
    "name", ["age", "education", "marital-status", "native-country", "occupation", "race", "sex", "workclass"]
)
def test_full_domain_levels_are_the_columns_of_an_arx_file(name: str) -> None:
    path = ARX / f"adult_hierarchy_{name}.csv"
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


# --- nested files ---------------------------------------------------------------------------------------------


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
    with pytest.raises(SchemaError, match=r"cannot be read \(embedded null byte\)"):
        Hierarchy.from_file("a\0b.csv")


# --- extension, growth: refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "part"),
    [
        ({"Asia": ["France"]}, "'France' is under 'Europe' so far and under 'Asia' in the new hierarchy"),
        ({"France": ["Paris"]}, "'France' is a value so far and a group in the new"),
        ({"Europe": {}}, "'Europe' is a group so far and a value in the new"),
        ({"World": {"Europe": ["Italy"]}}, "'Europe' is under '\\*' so far and under 'World'"),
    ],
)
def test_contradictions_of_published_labels_are_refused(other: dict[str, object], part: str) -> None:
    with pytest.raises(SchemaError, match=part):
        Hierarchy.from_nested({"Europe": ["France", "Spain"]}).extend(Hierarchy.from_nested(other))


def test_an_extension_without_the_upper_columns_does_not_move_values_to_the_top(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("75001;Paris;FR;*\n06000;Nice;FR;*\n")
    (tmp_path / "new.csv").write_text("75002;Paris\n")
    with pytest.raises(SchemaError, match=r"'Paris' is under 'FR' so far and under '\*'"):
        Hierarchy.from_file(tmp_path / "old.csv").extend(Hierarchy.from_file(tmp_path / "new.csv"))


@pytest.mark.parametrize(
    ("hierarchy", "value", "part"),
    [
        (Hierarchy.flat(), "*", "reserved"),
        (Hierarchy.flat(), MISSING, "reserved"),
        (Hierarchy.prefix([3]), "120*", "marks a prefix"),
        (Hierarchy.intervals(5), "x", "not a number"),
        (Hierarchy.intervals(5), "nan", "not a number"),
        (Hierarchy.intervals(5), "1.5", "not a whole number"),
        (Hierarchy.intervals(5), "1e40", "too large"),
        (Hierarchy.dates(), "2026-02-30", "not a day"),
        (Hierarchy.dates(), "20260215", "not a day"),
        (Hierarchy.from_nested(["a"]), "b", "not in the hierarchy"),
    ],
)
def test_values_that_break_a_rule_are_refused(hierarchy: Hierarchy, value: str, part: str) -> None:
    assert part in str(hierarchy.problem(value))
    with pytest.raises(SchemaError, match="cannot be added"):
        hierarchy.grow([value])


def test_settings_of_rules_are_checked() -> None:
    for broken in (
        lambda: Hierarchy.intervals(0),
        lambda: Hierarchy.intervals(float("nan")),
        lambda: Hierarchy.intervals(5, factors=[1]),
        lambda: Hierarchy.intervals(5, levels=0),
        lambda: Hierarchy.prefix(),
        lambda: Hierarchy.prefix([0]),
        lambda: Hierarchy.prefix([2], step=1),
        lambda: Hierarchy.dates(["week"]),
        lambda: Hierarchy.dates([]),
        lambda: Hierarchy.flat().extend(Hierarchy.from_nested(["a"])),
        lambda: Hierarchy.flat().encode(["a"]),
        lambda: Hierarchy.flat().parse("a"),
        lambda: Hierarchy.from_nested({MISSING: ["a", "b"]}).with_missing(),
        lambda: Hierarchy.from_dict({"names": ["*", "a"], "parents": [-1, 1], "levels": [0, 0]}),
        lambda: Hierarchy.from_dict({"names": ["*", "a", "b", "c"], "parents": [-1, 0, 0, 1], "levels": [0] * 4}),
        lambda: Hierarchy.from_dict({"names": [], "parents": [], "levels": []}),
        lambda: Hierarchy.from_dict({"strange": 1}),
    ):
        with pytest.raises(SchemaError):
            broken()
    with pytest.raises(ValueError, match="no node"):
        Hierarchy.from_nested(["a", "b", "c"]).label(0, 1)
