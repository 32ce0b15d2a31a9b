"""The coding: codes are stable, labels go both ways, growth keeps the meaning of what was published."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.coding import (
    LARGEST_CODE,
    MISSING,
    MISSING_CODE,
    Coding,
    CodingWords,
    NumericCoding,
    NumericSeen,
    Seen,
)
from reissue.core.boxes import hulls, snap
from reissue.core.observed import Words
from reissue.errors import ReleaseError, SchemaError, SnapshotError
from reissue.hierarchy import Hierarchy
from reissue.schema import Categorical, Numeric, Schema


def counted(*values: str | None) -> dict[str | None, tuple[int, int]]:
    return {value: (values.count(value), values.index(value)) for value in values}


def clinic(**changes: object) -> Schema:
    place = Categorical({"Europe": ["France", "Spain"], "Asia": ["Japan", "China"]})
    given: dict[str, object] = {
        "identifier": "patient",
        "quasi_identifiers": {"age": Numeric(), "zip": Categorical(Hierarchy.prefix([3, 1])), "place": place},
        "sensitive": "diagnosis",
    }
    return Schema(**{**given, **changes})  # type: ignore[arg-type]


def snapshot(
    ages: NumericSeen | None = None,
    zips: Iterable[str | None] = ("12043", "12044", "13000"),
    places: Iterable[str | None] = ("France",),
    values: Iterable[tuple[str | None, ...]] = (("flu",), ("cold",)),
) -> Seen:
    ages = ages or NumericSeen(kind="int", lowest=20, highest=60)
    return Seen(
        categories={"zip": counted(*zips), "place": counted(*places)}, numbers={"age": ages}, sensitive=tuple(values)
    )


def numbered(kind: str, attribute: Numeric, *seen: NumericSeen) -> NumericCoding:
    coding = Coding.start(clinic(quasi_identifiers={"age": attribute}))
    for one in seen:
        coding = coding.learn(Seen(numbers={"age": one}))
    assert coding.numeric("age").kind == kind
    return coding.numeric("age")


# --- learning -------------------------------------------------------------------------------------------------


def test_codes_are_stable_while_the_coding_learns() -> None:
    start = Coding.start(clinic())
    first = start.learn(snapshot())
    assert (start.version, first.version) == (0, 1)
    assert first.values == ("cold", "flu")
    assert first.lookup("zip") == {"12043": 0, "12044": 1, "13000": 2}
    assert (first.domains[0].lo, first.domains[0].hi, first.domains[0].tree) == (20, 60, None)
    assert [domain.name for domain in first.domains] == ["age", "zip", "place"]
    assert first.learn(snapshot()) is first
    assert first.learn(snapshot(NumericSeen(kind="int", lowest=30, highest=40), ["13000"], values=[("flu",)])) is first
    second = first.learn(
        snapshot(NumericSeen(kind="int", lowest=-1, highest=30), ["11999", "13000"], values=[("asthma",), ("flu",)])
    )
    assert second.version == 2
    assert second.values == ("cold", "flu", "asthma")
    assert second.lookup("zip") == {"11999": 0, "12043": 1, "12044": 2, "13000": 3}
    assert (second.domains[0].lo, second.domains[0].hi) == (-1, 60)
    assert first.keeps_codes_of(start) is False
    assert second.keeps_codes_of(first) is False
    wider = second.learn(snapshot(NumericSeen(kind="int", lowest=0, highest=99), values=[("x",)]))
    assert wider.version == 3
    assert wider.keeps_codes_of(second)


def test_jointly_sensitive_columns_keep_their_labels_apart() -> None:
    schema = clinic(sensitive=("job", "income"), missing="value", quasi_identifiers={"age": Numeric("int")})
    seen = Seen(
        numbers={"age": NumericSeen(kind="int", lowest=1, highest=2)},
        sensitive=[("cook", "low"), (None, "high"), ("a / b", "c"), ("a", "b / c")],
    )
    coding = Coding.start(schema).learn(seen)
    assert coding.values == ("(missing) / high", "a / b / c", "a / b / c", "cook / low")
    assert coding.value_columns == {"job": [MISSING, "a", "a / b", "cook"], "income": ["high", "b / c", "c", "low"]}
    assert coding.value_lookup["a / b", "c"] == 2


def test_everything_that_does_not_fit_is_one_message() -> None:
    coding = Coding.start(clinic()).learn(snapshot())
    unknown = [f"X{i:02}" for i in range(12)]
    with pytest.raises(SnapshotError) as caught:
        coding.learn(
            Seen(
                categories={
                    "zip": counted("12043", "12*", None, None),
                    "place": {**counted("France", "Europe", " Spain", *unknown), "Peru": (17, 4)},
                },
                numbers={"age": NumericSeen(kind="int", lowest=1, highest=2, nulls=3, first_null=6)},
                sensitive={("flu",): (3, 0), (None,): (2, 5)},
            )
        )
    for part in (
        "The snapshot does not fit the schema; 5 problems:",
        "- Column 'age' is empty in 3 rows, first in row 7.",
        "- Column 'zip' is empty in 2 rows, first in row 3.",
        'set missing = "value"',
        "- Column 'zip': a value is not allowed: '12*' is a reserved label",
        "- Column 'place': 15 values are not in its hierarchy: 'Peru' in 17 rows, first in row 5; ' Spain'",
        "' Spain' (with spaces around it) in row 3",
        "'Europe' (a group, not a value)",
        "... and 5 more",
        "reissue extend SERIES --hierarchy place=FILE.csv",
        "- Column 'diagnosis' (sensitive) is empty in 2 rows, first in row 6.",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("known", "value", "hint"),
    [
        ("01201", "1201", "'01201' without its zeros"),
        ("5", "5.0", "'5', read as a decimal"),
        (" a", "a", "the hierarchy has ' a', with spaces around it"),
        ("a", "b", "'b' in row 1. Correct"),
    ],
)
def test_unknown_values_come_with_a_likely_reason(known: str, value: str, hint: str) -> None:
    coding = Coding.start(clinic(quasi_identifiers={"zip": Categorical([known, "other"])}))
    with pytest.raises(SnapshotError, match="Column 'zip': a value is not in its hierarchy: ") as caught:
        coding.learn(Seen(categories={"zip": counted(value)}))
    assert hint in str(caught.value)


def test_values_that_differ_in_spaces_only_are_refused_not_counted_twice() -> None:
    coding = Coding.start(clinic()).learn(snapshot(values=[("flu",), ("cold",)]))
    seen = snapshot(values=[])
    for values in ({("flu ",): (3, 4), ("cold",): (1, 0)}, {("gout",): (1, 0), (" gout",): (3, 4)}):
        with pytest.raises(SnapshotError, match=r"differ only in spaces around them, in 3 rows, first in row 5\. They"):
            coding.learn(Seen(categories=seen.categories, numbers=seen.numbers, sensitive=values))
    assert coding.learn(snapshot(values=[("flu",), ("the flu",)])).values[-1] == "the flu"


def test_values_that_read_alike_are_refused_not_counted_twice() -> None:
    one, two = "Morbus Behçet", unicodedata.normalize("NFD", "Morbus Behçet")
    assert one != two
    seen = snapshot(values=[])
    for before, values in (([], {(one,): (1, 0), (two,): (3, 4)}), ([(one,)], {(f" {two}",): (3, 4)})):
        coding = Coding.start(clinic()).learn(snapshot(values=before))
        with pytest.raises(SnapshotError, match=r"read alike but are made of other .*Morbus Behc.u0327et.* in row 5"):
            coding.learn(Seen(categories=seen.categories, numbers=seen.numbers, sensitive=values))


def test_an_absent_column_is_named() -> None:
    with pytest.raises(SnapshotError, match="Column 'zip' is missing"):
        Coding.start(clinic()).learn(Seen(categories={"place": counted("Japan")}, numbers=snapshot().numbers))


# --- numbers --------------------------------------------------------------------------------------------------


def test_the_first_snapshot_fixes_the_kind() -> None:
    whole = NumericSeen(kind="int", lowest=1, highest=9)
    floats = NumericSeen(kind="float", lowest=1.0, highest=9.0)
    parts = NumericSeen(kind="float", lowest=0.25, highest=9.5, decimals=2)
    days = NumericSeen(kind="date", lowest=0, highest=365)
    nothing = NumericSeen(kind="float", lowest=None, highest=None)
    assert numbered("int", Numeric(), whole, floats).hi == 9
    assert numbered("int", Numeric(), floats, whole).hi == 9
    assert numbered("float", Numeric(), nothing, parts, whole, floats).decimals == 2
    assert (numbered("float", Numeric(), parts).lo, numbered("float", Numeric(), parts).hi) == (25, 950)
    assert numbered("float", Numeric("float", 1), parts).hi == 95
    assert numbered("float", Numeric(decimals=1), whole, parts).hi == 95
    assert numbered("int", Numeric(decimals=0), whole).hi == 9
    assert numbered("date", Numeric(), days).hi == 365
    assert numbered("date", Numeric(decimals=2), days).hi == 365
    assert numbered("float", Numeric(), NumericSeen(kind="float", lowest=0.1, highest=0.2, decimals=17)).decimals == 6
    for first, then, part in (
        (whole, days, "holds dates, but this series codes it as whole numbers"),
        (days, parts, "holds decimal numbers, but this series codes it as dates"),
        (whole, parts, "has decimals, but this series codes it as whole numbers"),
    ):
        with pytest.raises(SnapshotError, match=part):
            numbered("", Numeric(), first, then)
    with pytest.raises(SnapshotError, match="Column 'age' has decimals"):
        numbered("", Numeric("int"), parts)


@pytest.mark.parametrize(
    ("attribute", "seen", "part"),
    [
        (Numeric(), NumericSeen(kind="int", lowest=0, highest=2**30), "larger unit"),
        (Numeric("float", 6), NumericSeen(kind="float", lowest=-2000.5, highest=1.0, decimals=1), "fewer decimals"),
        (Numeric("date"), NumericSeen(kind="date", lowest=0, highest=3_000_000), "years 1 to 9999"),
        (Numeric(), NumericSeen(kind="float", lowest=0.0, highest=float("inf")), "inf does not fit"),
    ],
)
def test_numbers_that_do_not_fit_are_refused_with_a_remedy(attribute: Numeric, seen: NumericSeen, part: str) -> None:
    with pytest.raises(SnapshotError, match=part):
        numbered("", attribute, seen)


@given(
    st.lists(st.floats(-1000, 1000), min_size=1, max_size=20),
    st.integers(0, 6),
)
def test_codes_of_floats_lie_within_the_learned_limits(values: list[float], decimals: int) -> None:
    seen = NumericSeen(kind="float", lowest=min(values), highest=max(values), decimals=decimals)
    number = numbered("float", Numeric("float", decimals), seen)
    codes = number.encode(np.array(values))
    assert codes.dtype == np.int32
    assert (codes.min(), codes.max()) == (number.lo, number.hi)
    assert np.abs(codes / 10**decimals - values).max() <= 0.5000001 / 10**decimals


def test_encoding_in_bulk() -> None:
    number = NumericCoding(kind="int", missing=True)
    assert number.encode(np.array([3, -4], dtype=np.int16)).tolist() == [3, -4]
    assert number.encode(np.array([3.0, np.nan])).tolist() == [3, MISSING_CODE]
    days = np.array(["1970-01-02", "NaT", "1969-12-31"], dtype="datetime64[s]")
    assert NumericCoding(kind="date", missing=True).encode(days).tolist() == [1, MISSING_CODE, -1]
    money = NumericCoding(kind="float", decimals=2)
    assert money.encode(np.array([1, 2])).tolist() == [100, 200]
    assert money.encode(np.array([1.29, -0.07])).tolist() == [129, -7]
    with pytest.raises(SnapshotError, match="has nulls"):
        money.encode(np.array([np.nan]))
    for large in (np.array([2**62]), np.array([1e300]), np.array([LARGEST_CODE + 1.0]), np.array([-np.inf])):
        with pytest.raises(SnapshotError, match="does not fit"):
            money.encode(large)
    assert np.iinfo(np.int32).max >= LARGEST_CODE - MISSING_CODE


DAY_CODES = st.dates().map(lambda day: (day - date(1970, 1, 1)).days)


@given(st.data(), st.sampled_from(["int", "float", "date"]), st.integers(0, 6), st.booleans())
@settings(max_examples=500)
def test_numeric_labels_go_both_ways(data: st.DataObject, kind: str, decimals: int, missing: bool) -> None:
    number = NumericCoding(kind=kind, decimals=decimals if kind == "float" else 0, missing=missing)  # type: ignore[arg-type]
    codes = DAY_CODES if kind == "date" else st.integers(-LARGEST_CODE, LARGEST_CODE) | st.integers(-20, 20)
    lo, hi = sorted(data.draw(st.tuples(codes, codes)))
    if missing:
        lo, hi = data.draw(st.sampled_from([(lo, hi), (MISSING_CODE, hi), (MISSING_CODE, MISSING_CODE)]))
    assert number.parse(number.label(lo, hi)) == (lo, hi)


def test_numeric_labels_as_people_write_them() -> None:
    whole = NumericCoding(kind="int", lo=0, hi=99)
    assert [whole.label(*pair) for pair in ((25, 25), (20, 29), (-5, 3), (-5, -3), (0, 3))] == [
        "25",
        "20-29",
        "-5 to 3",
        "-5 to -3",
        "0-3",
    ]
    money = NumericCoding(kind="float", decimals=2)
    assert [money.label(*pair) for pair in ((150, 275), (-7, -7), (-7, 5))] == ["1.50-2.75", "-0.07", "-0.07 to 0.05"]
    days = NumericCoding(kind="date")
    january = (date(2026, 1, 1) - date(1970, 1, 1)).days
    assert days.label(january, january) == "2026-01-01"
    assert days.label(january, january + 30) == "2026-01-01 to 2026-01-31"
    assert whole.label(MISSING_CODE, MISSING_CODE) == "(missing)"
    assert whole.label(MISSING_CODE, 35) == "(missing) or <=35"


@pytest.mark.parametrize(
    ("label", "interval"),
    [
        ("*", (10, 90)),
        ("[20, 30]", (20, 30)),
        ("[20, 30[", (20, 29)),
        ("[20, 30)", (20, 29)),
        ("(20, 30]", (21, 30)),
        ("]20; 30]", (21, 30)),
        ("(19.5, 30.5)", (20, 30)),
        ("<=30", (10, 30)),
        ("<30", (10, 29)),
        (">= 80", (80, 90)),
        (">80", (81, 90)),
        ("20 - 29", (20, 29)),
        ("25.0", (25, 25)),
    ],
)
def test_ranges_as_other_tools_write_them(label: str, interval: tuple[int, int]) -> None:
    assert NumericCoding(kind="int", lo=10, hi=90).parse(label) == interval


@pytest.mark.parametrize("label", ["abc", "", "30-20", "[30, 20]", "1-2-3", "nan", "inf", "99999999999", "[a, b]"])
def test_labels_that_are_no_range_are_refused(label: str) -> None:
    coding = Coding.start(clinic()).learn(snapshot())
    with pytest.raises(ReleaseError, match="age: "):
        coding.parse(0, label)
    with pytest.raises(ReleaseError, match="2026-01-15"):
        NumericCoding(kind="date").parse("2026-13-01")


# --- labels of hierarchies, missing values --------------------------------------------------------------------


def test_missing_is_a_value_where_the_schema_says_so() -> None:
    schema = clinic(missing="value")
    ages = NumericSeen(kind="float", lowest=20.0, highest=60.0, nulls=1)
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
    assert "both its ends" in coding.reading(0)
    assert "group" in coding.reading("zip")


# --- releases made elsewhere ----------------------------------------------------------------------------------


def test_labels_of_other_tools_teach_limits_and_values() -> None:
    kinds = {"age": Numeric(), "sex": Categorical(), "place": Categorical({"A": ["x", "y"]}), "day": Numeric()}
    start = Coding.start(clinic(quasi_identifiers=kinds))
    coding = start.learn_labels(
        {
            "age": ["[20, 30[", "*", "<=45", ">60"],
            "sex": ["m", "*", "f"],
            "place": ["A", "x", "*"],
            "day": ["2026-01-01 to 2026-01-31", "(missing)"],
        }
    )
    assert coding.version == 1
    assert (coding.domains[0].lo, coding.domains[0].hi) == (20, 61)
    assert coding.parse("age", "<=45") == (20, 45)
    assert coding.parse("age", "*") == (20, 61)
    assert coding.lookup("sex") == {"f": 0, "m": 1}
    assert coding.numeric("day").kind == "date"
    assert coding.parse("day", "(missing)") == (MISSING_CODE, MISSING_CODE)
    assert coding.learn_labels({"age": ["20-30"], "sex": ["*"]}) is coding
    assert Coding.from_dict(coding.to_dict()).numeric("day") == coding.numeric("day")
    floats = start.learn_labels({"age": ["1.50-2.75", "3.0"]})
    assert (floats.numeric("age").decimals, floats.domains[0].hi) == (2, 300)
    assert Coding.start(clinic()).parse("age", "*") == (-LARGEST_CODE, LARGEST_CODE)
    with pytest.raises(ReleaseError) as caught:
        start.learn_labels({"age": ["young", "20-30"], "place": ["B", "A"]})
    assert "- age: 'young'\n- place: 'B'\nGive the hierarchies" in str(caught.value)


# --- extension and remapping ----------------------------------------------------------------------------------


def test_extending_a_hierarchy() -> None:
    coding = Coding.start(clinic()).learn(snapshot())
    bigger = coding.extend("place", Hierarchy.from_nested({"Europe": ["Italy"], "America": ["Peru"]}))
    assert bigger.version == coding.version + 1
    assert bigger.lookup("place") == {"France": 0, "Spain": 1, "Italy": 2, "Japan": 3, "China": 4, "Peru": 5}
    assert bigger.learn(snapshot(places=["Peru"])) is bigger
    assert bigger.extend("place", Hierarchy.from_nested({"America": ["Peru"]})) is bigger
    assert Coding.from_dict(bigger.to_dict(with_schema=False), bigger.schema) == bigger
    with pytest.raises(SchemaError, match="place: 'France' is under 'Europe' so far and under 'Asia'"):
        bigger.extend("place", Hierarchy.from_nested({"Asia": ["France"]}))
    with pytest.raises(SchemaError, match=r"'age' has no hierarchy to extend. Columns with one: zip, place"):
        bigger.extend("age", Hierarchy.flat())
    with pytest.raises(SchemaError, match="zip: This attribute grows with the data"):
        bigger.extend("zip", Hierarchy.from_nested(["a"]))


ZIPS = st.lists(st.text("12", min_size=4, max_size=4), min_size=1, max_size=6)


@given(st.data(), ZIPS, st.lists(ZIPS, max_size=3), st.booleans())
@settings(max_examples=150, deadline=None)
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
    boxes = hulls(codes, classes, 3)
    boxes[real] = snap(boxes[real], old.domains)
    new = old
    for zips in later:
        new = new.learn(snapshot(NumericSeen(kind="int", lowest=0, highest=99), zips))
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
    if new.keeps_codes_of(old):
        assert moved_boxes is boxes
        assert moved_codes is codes
    assert Coding.from_dict(json.loads(json.dumps(new.to_dict()))) == new


def test_a_box_that_is_no_node_is_refused() -> None:
    old = Coding.start(clinic()).learn(snapshot(zips=["1", "2", "3"]))
    new = old.learn(snapshot(zips=["0"]))
    boxes = np.array([[[20, 30], [0, 1], [0, 0]]], dtype=np.int32)
    with pytest.raises(ValueError, match="a box of 'zip' is no node"):
        new.remap(old, boxes, np.zeros((0, 3), dtype=np.int32))


# --- words ----------------------------------------------------------------------------------------------------


def test_words_for_sentences() -> None:
    coding = Coding.start(clinic()).learn(snapshot())
    words: Words = CodingWords(coding, lambda number: f"patient {number}")
    box = np.array([[21, 30], [0, 1], [0, 3]], dtype=np.int32)
    assert words.box(box) == "age 21-30, zip 120*"
    everything = np.array([[20, 60], [0, 2], [0, 3]], dtype=np.int32)
    assert words.box(everything) == "everyone"
    assert (words.value(1), words.subject(7), words.release(2)) == ("flu", "patient 7", "release 2")
    with_nulls = Coding.start(clinic(missing="value")).learn(
        snapshot(NumericSeen(kind="int", lowest=20, highest=60, nulls=1))
    )
    box = np.array([[20, 60], [0, 3], [0, 4]], dtype=np.int32)
    assert CodingWords(with_nulls, str).box(box) == "age 20-60"
    box[0, 0] = MISSING_CODE
    assert CodingWords(with_nulls, str).box(box) == "everyone"


def test_days_count_from_1970() -> None:
    number = numbered("date", Numeric("date"), NumericSeen(kind="date", lowest=0, highest=1))
    assert number.text(0) == "1970-01-01"
    assert number.parse(str(date(1970, 1, 1) + timedelta(days=20_000))) == (20_000, 20_000)
