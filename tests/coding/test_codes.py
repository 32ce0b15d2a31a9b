"""Labels of hierarchies and of what is missing, and growth that keeps the meaning of what was published."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.coding import MISSING, MISSING_CODE, Coding, NumericSummary
from reissue.coding.codes import join_labels
from reissue.errors import ReleaseError, SchemaError
from reissue.hierarchy import Hierarchy
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from tests.coding.support import clinic, snapshot


def test_missing_is_a_value_where_the_schema_says_so() -> None:
    schema = clinic(missing="value")
    ages = NumericSummary(kind="float", lowest=20.0, highest=60.0, nulls=1)
    coding = Coding.start(schema).learn(snapshot(ages, ["12043", None], [None, "Japan"], [(None,), ("flu",)]))
    assert coding.lookup("zip") == {"12043": 0, MISSING: 1}
    assert coding.label("place", 4, 4) == MISSING
    assert coding.parse("place", "*") == (0, 4)
    assert (coding.domains[0].lo, coding.domains[0].hi) == (20, 60)
    assert coding.parse(0, "*") == (MISSING_CODE, 60)
    assert coding.values == (MISSING, "flu")
    grown = coding.learn(snapshot(zips=["99999", "00001"]))
    assert grown.lookup("zip") == {"00001": 0, "12043": 1, "99999": 2, MISSING: 3}
    assert Coding.from_dict(json.loads(json.dumps(grown.to_dict()))) == grown


def test_labels_in_bulk_are_the_labels_one_by_one() -> None:
    coding = Coding.start(clinic()).learn(snapshot())
    rng = np.random.default_rng(5)
    lo = rng.integers(-50, 50, 500).astype(np.int32)
    hi = (lo + rng.integers(0, 9, 500)).astype(np.int32)
    assert coding.labels(0, lo, hi).tolist() == [
        coding.label("age", *pair) for pair in zip(lo.tolist(), hi.tolist(), strict=True)
    ]
    tree = coding.hierarchies["zip"].tree
    node = rng.integers(0, len(tree.lo), 200)
    labels = coding.labels("zip", tree.lo[node], tree.hi[node])
    assert [coding.parse(1, label) for label in labels] == list(zip(tree.lo[node], tree.hi[node], strict=True))
    assert coding.labels(0, lo[:0], hi[:0]).tolist() == []
    with pytest.raises(ReleaseError, match=r"zip: '12x' is neither a value nor a group of its hierarchy"):
        coding.parse("zip", "12x")
    with pytest.raises(ReleaseError, match="Did you mean 'France'"):
        coding.parse("place", "Frnce")


def test_extending_a_hierarchy() -> None:
    coding = Coding.start(clinic()).learn(snapshot())
    bigger = coding.extend("place", Hierarchy.from_nested({"Europe": ["Italy"], "America": ["Peru"]}))
    assert bigger.version == coding.version + 1
    assert bigger.lookup("place") == {"France": 0, "Spain": 1, "Italy": 2, "Japan": 3, "China": 4, "Peru": 5}
    assert bigger.learn(snapshot(places=["Peru"])) is bigger
    assert bigger.extend("place", Hierarchy.from_nested({"America": ["Peru"]})) is bigger
    assert Coding.from_dict(bigger.to_dict()) == bigger
    with pytest.raises(SchemaError, match="place: 'France' is under 'Europe' so far and under 'Asia'"):
        bigger.extend("place", Hierarchy.from_nested({"Asia": ["France"]}))
    with pytest.raises(SchemaError, match=r"'age' has no hierarchy to extend. Columns with one: zip, place"):
        bigger.extend("age", Hierarchy.flat())
    with pytest.raises(SchemaError, match="zip: This attribute grows with the data"):
        bigger.extend("zip", Hierarchy.from_nested(["a"]))


ZIPS = st.lists(st.text("12", min_size=4, max_size=4), min_size=1, max_size=6)


@given(st.data(), ZIPS, st.lists(ZIPS, max_size=3), st.booleans())
@settings(max_examples=150)
def test_old_boxes_keep_their_labels_and_their_people(
    data: st.DataObject, first: list[str], later: list[list[str]], extended: bool
) -> None:
    """A published label means the same after the coding has grown, and so holds the same rows."""
    old = Coding.start(clinic(missing="value")).learn(snapshot(zips=first))
    rows = data.draw(st.integers(1, 8))
    codes = np.stack(
        [data.draw(st.lists(st.integers(d.lo, d.hi), min_size=rows, max_size=rows)) for d in old.domains], axis=1
    )
    codes = np.asfortranarray(codes.astype(np.int32))
    classes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)), dtype=np.int32)
    real = np.bincount(classes, minlength=3) > 0
    boxes = bounding_boxes(codes, classes, 3)
    boxes[real] = widen_to_nodes(boxes[real], old.domains)
    new = old
    for zips in later:
        new = new.learn(snapshot(NumericSummary(kind="int", lowest=0, highest=99), zips))
    if extended:
        new = new.extend("place", Hierarchy.from_nested({"Asia": ["India"], "Africa": ["Mali"]}))
    boxes_before, codes_before = boxes.copy(), codes.copy()
    moved_boxes, moved_codes = new.remap(old, boxes, codes)
    assert np.array_equal(boxes, boxes_before)
    assert np.array_equal(codes, codes_before)
    assert np.array_equal(moved_boxes[~real], boxes[~real])
    for a, name in enumerate(old.attributes):
        labels = old.labels(a, boxes[real, a, 0], boxes[real, a, 1])
        assert [new.parse(a, label) for label in labels] == [tuple(row) for row in moved_boxes[real, a].tolist()]
        exact = old.labels(a, codes[:, a], codes[:, a])
        assert new.labels(a, moved_codes[:, a], moved_codes[:, a]).tolist() == exact.tolist(), name
    inside = (moved_codes >= moved_boxes[classes, :, 0]) & (moved_codes <= moved_boxes[classes, :, 1])
    assert inside.all()
    if new.hierarchies == old.hierarchies:
        assert moved_boxes is boxes
        assert moved_codes is codes
    assert Coding.from_dict(json.loads(json.dumps(new.to_dict()))) == new


def test_a_box_that_is_no_node_is_refused() -> None:
    old = Coding.start(clinic()).learn(snapshot(zips=["1", "2", "3"]))
    new = old.learn(snapshot(zips=["0"]))
    boxes = np.array([[[20, 30], [0, 1], [0, 0]]], dtype=np.int32)
    with pytest.raises(ValueError, match="a box of 'zip' is no node"):
        new.remap(old, boxes, np.zeros((0, 3), dtype=np.int32))


def test_no_two_combinations_of_sensitive_labels_are_told_by_the_same_text() -> None:
    assert join_labels(["flu / cold"]) == "flu / cold", "one column shows its labels as they are"
    assert join_labels(["flu", "mild"]) == "flu / mild"
    assert join_labels(["a / b", "c"]) == '"a / b" / c'
    pieces = ["a", "b", "/", "a /", "/ b", "a / b", '"', '"a', '"a / b"', 'b"', "a/b"]
    for columns in (2, 3):
        told = [join_labels(labels) for labels in product(pieces, repeat=columns)]
        assert len(set(told)) == len(pieces) ** columns


def test_values_of_two_columns_are_told_apart() -> None:
    coding = replace(Coding.start(clinic()), value_labels=(("a / b", "c"), ("a", "b / c")))
    assert coding.values == ('"a / b" / c', 'a / "b / c"')
