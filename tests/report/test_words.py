"""Numbers, days and names as pages write them."""

from __future__ import annotations

import pytest

from reissue.report.pages import _group_points
from reissue.report.text import (
    LONGEST,
    capitalize,
    clean,
    count_words,
    format_count,
    format_day,
    format_level,
    format_number,
    list_in_order,
    list_settings,
)


@pytest.mark.parametrize(
    ("created", "day"),
    [
        ("2026-03-02T09:30:00+00:00", "2 March 2026, 09:30 UTC"),
        ("2026-03-02T09:30:00", "2 March 2026, 09:30"),
        ("yesterday", "yesterday"),
        ("", ""),
        (None, ""),
    ],
)
def test_days_are_written_out(created: str | None, day: str) -> None:
    assert format_day(created) == day


def test_numbers_are_as_long_as_they_say_something() -> None:
    assert [format_count(one) for one in (None, 0, 1234567.4)] == ["–", "0", "1,234,567"]
    assert [format_number(one) for one in (None, 2.0, 0.123456, 9999.5, 10_000.5, -10_000.5)] == [
        "–", "2", "0.1235", "1e+04", "10,000", "-10,000",
    ]  # fmt: skip
    assert [format_level(0.25, unit) for unit in ("share of one value", "chance", "possible values")] == [
        "25%", "25%", "0.25",
    ]  # fmt: skip
    assert [count_words(one, "person", "people") for one in (0, 1, 2, None)] == [
        "0 people", "1 person", "2 people", "– people",
    ]  # fmt: skip


def test_texts_are_cut_only_above_the_limit() -> None:
    assert clean("a" * LONGEST) == "a" * LONGEST
    assert clean("a" * (LONGEST + 1)) == "a" * LONGEST + "…"
    assert clean("a\u202eb\tc\nd") == "a\ufffdb\tc\nd"


def test_runs_of_releases_are_told_by_their_ends() -> None:
    names = {1: "a", 2: "b", 3: "c", 4: "d", 7: "e"}
    assert list_in_order([1, 2, 3, 7], names) == "a to c, e"
    assert list_in_order([1, 2, 4, 7], names) == "a, b, d, e"
    assert list_in_order([], names) == ""


def test_settings_are_named_and_those_not_set_left_out() -> None:
    assert list_settings({"k": 5, "c": 0.5, "l": None, "ordered": False, "order": "", "more": [], "own": {}}) == (
        "k = 5, c = 0.5"
    )
    assert list_settings({"steps": [1, 2], "hold_back": True}) == "steps = 1 and 2, hold_back = True"
    assert capitalize("the end") == "The end"
    assert capitalize("") == ""


def test_sentences_have_the_lines_that_belong_to_them_and_what_was_refused_stands_elsewhere() -> None:
    told = ["Take a.", "It is broken by b.", "  b: knows all", "  c: knows more", "Could not be used here:", "  d: why"]
    assert _group_points(told) == [
        {"text": "Take a.", "points": []},
        {"text": "It is broken by b.", "points": ["b: knows all", "c: knows more"]},
    ]
    assert _group_points(["  alone"]) == [{"text": "  alone", "points": []}]
