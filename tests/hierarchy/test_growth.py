"""Hierarchies that are extended or grow: published labels keep their meaning, in whatever order values arrive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.errors import SchemaError
from reissue.hierarchy import MISSING, ROOT, Hierarchy
from reissue.hierarchy.rules import rule_from_dict
from tests.hierarchy.taxonomies import Nested, check_tree, groups_of, taxonomies, values_of


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
@settings(max_examples=300)
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
@settings(max_examples=80)
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


@pytest.mark.parametrize(
    ("broken", "part"),
    [
        (lambda: Hierarchy.intervals(0), "must be above 0"),
        (lambda: Hierarchy.intervals(float("nan")), "must be above 0"),
        (lambda: Hierarchy.intervals("5"), r"widths are \['5'\] from 0. Give numbers"),
        (lambda: Hierarchy.intervals(True), r"widths are \[True\] from 0. Give numbers"),
        (lambda: Hierarchy.intervals(5, start="1"), r"widths are \[5\] from '1'. Give numbers"),
        (lambda: Hierarchy.intervals(5, factors=[1]), "factors=.1.. Give levels >= 1, factors >= 2"),
        (lambda: Hierarchy.intervals(5, factors=[True]), "factors=.True.. Give levels >= 1, factors >= 2"),
        (lambda: Hierarchy.intervals(5, levels=0), "levels=0, factors=None. Give levels >= 1"),
        (lambda: rule_from_dict({"intervals": {"widths": [], "start": 0}}), r"widths are \[\] from 0. Give numbers"),
        (lambda: rule_from_dict({"intervals": {"widths": [2, 3], "start": 0}}), "3 does not nest over width 2"),
        (lambda: rule_from_dict({"intervals": {"widths": [4, 2], "start": 0}}), "2 does not nest over width 4"),
        (lambda: rule_from_dict({"intervals": {"width": 2}}), "The stored rule .* is unknown"),
        (lambda: Hierarchy.prefix(), "Give the lengths to keep"),
        (lambda: Hierarchy.prefix([0]), "whole numbers from 1"),
        (lambda: Hierarchy.prefix([True]), "whole numbers from 1"),
        (lambda: Hierarchy.prefix([2], step=1), "step is 1. Give the lengths to keep"),
        (lambda: Hierarchy.dates(["week"]), r"received \['week'\]. Allowed: day, month"),
        (lambda: Hierarchy.dates([]), r"received \[\]. Allowed: day, month"),
        (lambda: Hierarchy.flat().extend(Hierarchy.from_nested(["a"])), "there is nothing to extend"),
        (lambda: Hierarchy.flat().encode(["a"]), "'a' is not in the hierarchy"),
        (lambda: Hierarchy.flat().parse("a"), "'a' is not"),
        (lambda: Hierarchy.from_nested({MISSING: ["a", "b"]}).with_missing(), "the label of nulls. Rename"),
        (lambda: Hierarchy.from_dict({"names": ["*", "a"], "parents": [-1, 1], "levels": [0, 0]}), "not a tree"),
        (lambda: Hierarchy.from_dict({"names": ["a", "b"], "parents": [-1, 0], "levels": [1, 0]}), "not a tree"),
        (lambda: Hierarchy.from_dict({"names": ["*", "a"], "parents": [-1, 0], "levels": [0]}), "not a tree"),
        (
            lambda: Hierarchy.from_dict({"names": [*"*aa"], "parents": [-1, 0, 0], "levels": [0] * 3}),
            "not a tree",
        ),
        (lambda: Hierarchy.from_dict({"names": [*"*abc"], "parents": [-1, 0, 0, 1], "levels": [0] * 4}), "not a tree"),
        (lambda: Hierarchy.from_dict({"names": [], "parents": [], "levels": []}), "not a tree"),
        (lambda: Hierarchy.from_dict({"strange": 1}), "strange"),
    ],
)
def test_settings_of_rules_are_checked(broken: Callable[[], object], part: str) -> None:
    with pytest.raises(SchemaError, match=part):
        broken()


def test_the_root_is_one_level_above_what_is_below_it() -> None:
    """Full-domain recoding climbs one level at a time: a level that is not there would be a step for nothing."""
    days = ["2026-01-03", "2026-02-04", "2027-02-05"]
    made = {
        "flat": Hierarchy.flat("abc"),
        "one width": Hierarchy.intervals(5, values=["1", "7"]),
        "two widths": Hierarchy.intervals(5, levels=2, values=["1", "7", "17"]),
        "one length": Hierarchy.prefix([1], values=["ab", "ac", "b"]),
        "days": Hierarchy.dates(["day"], values=days),
        "months": Hierarchy.dates(["day", "month"], values=days),
        "months and years": Hierarchy.dates(values=days),
    }
    assert {name: int(one.tree.level[0]) for name, one in made.items()} == {
        "flat": 1, "one width": 2, "two widths": 3, "one length": 2, "days": 1, "months": 2, "months and years": 3,
    }  # fmt: skip


def test_a_growing_hierarchy_takes_the_new_values_of_one_by_the_same_rule() -> None:
    old, new = Hierarchy.prefix([1], values=["ab", "cd"]), Hierarchy.prefix([1], values=["ae", "cd"])
    assert old.extend(new) == Hierarchy.prefix([1], values=["ab", "ae", "cd"])
    assert repr(old) == "<Hierarchy of 2 values, 5 labels, Prefix(lengths=(1,), step=0)>"
    assert repr(Hierarchy.from_nested(["a", "b"])) == "<Hierarchy of 2 values, 3 labels>"
    assert len({old, Hierarchy.prefix([1], values=["ab", "cd"]), new}) == 2
    missing = old.with_missing()
    assert missing.with_missing() is missing
    assert missing.leaves[-1] == MISSING
