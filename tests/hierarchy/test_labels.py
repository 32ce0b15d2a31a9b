"""Every label names one interval of codes, whatever the shape of the taxonomy."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.hierarchy import ROOT, Hierarchy
from tests.hierarchy.taxonomies import Nested, check_tree, groups_of, taxonomies, values_of


@given(taxonomies())
@settings(max_examples=300)
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


@pytest.mark.parametrize(
    ("made", "lengths"),
    [
        (lambda values: Hierarchy.prefix(step=2, values=values), lambda value: range(2, len(value) + 1, 2)),
        (lambda values: Hierarchy.prefix(step=1, values=values), lambda value: range(1, len(value) + 1)),
        (lambda values: Hierarchy.prefix([3, 1], values=values), lambda value: [n for n in (1, 3) if n <= len(value)]),
    ],
    ids=["step 2", "step 1", "lengths"],
)
def test_a_prefix_stands_for_all_values_that_begin_with_it(
    made: Callable[[list[str]], Hierarchy], lengths: Callable[[str], Iterable[int]]
) -> None:
    values = ["12045", "12047", "1205", "13", "2", "13045", "130", "22"]
    hierarchy = made(values)
    prefixes = {value[:length] for value in values for length in lengths(value)}
    assert prefixes
    for prefix in prefixes:
        lo, hi = hierarchy.parse(f"{prefix}*")
        assert set(hierarchy.leaves[lo : hi + 1]) == {value for value in values if value.startswith(prefix)}
    shown = {label for label in hierarchy.labels if label not in {*values, ROOT}}
    several = {prefix for prefix in prefixes if sum(value.startswith(prefix) for value in values) > 1}
    assert shown <= {f"{prefix}*" for prefix in several}
    assert {hierarchy.parse(label) for label in shown} == {hierarchy.parse(f"{prefix}*") for prefix in several}


def test_a_single_member_is_published_by_its_own_label() -> None:
    hierarchy = Hierarchy.from_nested({"Oceania": ["Guam"], "Europe": ["France", "Spain"]})
    assert hierarchy.parse("Oceania") == hierarchy.parse("Guam") == (0, 0)
    assert hierarchy.label(0, 0) == "Guam"
    bigger = hierarchy.extend(Hierarchy.from_nested({"Oceania": ["Fiji"]}))
    assert bigger.parse("Guam") == (0, 0)
    assert bigger.parse("Oceania") == (0, 1)
