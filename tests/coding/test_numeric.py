"""Numbers: codes within limits, labels that go both ways."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.coding import LARGEST_CODE, MISSING_CODE, Coding, NumericCoding, NumericSummary
from reissue.errors import ReleaseError, SnapshotError
from reissue.schema import Numeric
from tests.coding.support import clinic, numbered, snapshot


def test_the_first_snapshot_fixes_the_kind() -> None:
    whole = NumericSummary(kind="int", lowest=1, highest=9)
    floats = NumericSummary(kind="float", lowest=1.0, highest=9.0)
    parts = NumericSummary(kind="float", lowest=0.25, highest=9.5, decimals=2)
    days = NumericSummary(kind="date", lowest=0, highest=365)
    nothing = NumericSummary(kind="float", lowest=None, highest=None)
    assert numbered("int", Numeric(), whole, floats).hi == 9
    assert numbered("int", Numeric(), floats, whole).hi == 9
    assert numbered("float", Numeric(), nothing, parts, whole, floats).decimals == 2
    assert (numbered("float", Numeric(), parts).lo, numbered("float", Numeric(), parts).hi) == (25, 950)
    assert numbered("float", Numeric("float", 1), parts).hi == 95
    assert numbered("float", Numeric(decimals=1), whole, parts).hi == 95
    assert numbered("int", Numeric(decimals=0), whole).hi == 9
    assert numbered("date", Numeric(), days).hi == 365
    assert numbered("date", Numeric(decimals=2), days).hi == 365
    assert (
        numbered("float", Numeric(), NumericSummary(kind="float", lowest=0.1, highest=0.2, decimals=17)).decimals == 6
    )
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
        (Numeric(), NumericSummary(kind="int", lowest=0, highest=2**30), "larger unit"),
        (Numeric("float", 6), NumericSummary(kind="float", lowest=-2000.5, highest=1.0, decimals=1), "fewer decimals"),
        (Numeric("date"), NumericSummary(kind="date", lowest=0, highest=3_000_000), "years 1 to 9999"),
        (Numeric(), NumericSummary(kind="float", lowest=0.0, highest=float("inf")), "inf does not fit"),
    ],
)
def test_numbers_that_do_not_fit_are_refused_with_a_remedy(attribute: Numeric, seen: NumericSummary, part: str) -> None:
    with pytest.raises(SnapshotError, match=part):
        numbered("", attribute, seen)


@given(
    st.lists(st.floats(-1000, 1000), min_size=1, max_size=20),
    st.integers(0, 6),
)
def test_codes_of_floats_lie_within_the_learned_limits(values: list[float], decimals: int) -> None:
    seen = NumericSummary(kind="float", lowest=min(values), highest=max(values), decimals=decimals)
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


def test_days_count_from_1970() -> None:
    number = numbered("date", Numeric("date"), NumericSummary(kind="date", lowest=0, highest=1))
    assert number.text(0) == "1970-01-01"
    assert number.parse(str(date(1970, 1, 1) + timedelta(days=20_000))) == (20_000, 20_000)


@pytest.mark.parametrize("decimals", [0, 1])
def test_a_bound_between_two_codes_holds_the_codes_inside_it(decimals: int) -> None:
    """As other tools write them, with more decimals than the values have: by looking at each code."""
    number = NumericCoding(kind="float" if decimals else "int", decimals=decimals, lo=-60, hi=60)
    for low in (-2.05, -2.0, -1.5, -0.5, 0.45, 0.5, 1.5):
        for high in (2.55, 3.0, 3.5, 4.04):
            inside = [code for code in range(-60, 61) if low <= code / number.scale <= high]
            assert number.parse(f"[{low}, {high}]") == (inside[0], inside[-1])
            inner = [code for code in inside if low < code / number.scale < high]
            assert number.parse(f"({low}, {high})") == (inner[0], inner[-1])
            assert number.parse(f"<={high}") == (-60, inside[-1])
            assert number.parse(f"<{high}") == (-60, inner[-1])
            assert number.parse(f">={low}") == (inside[0], 60)
            assert number.parse(f">{low}") == (inner[0], 60)
