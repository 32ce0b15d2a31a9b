"""What the values of a column hint at, each hint and the nearest thing that is none."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

import reissue as ri
from reissue.engine.profile import ColumnProfile, profile
from reissue.errors import SchemaError
from reissue.schema.proposal import ProposedColumn
from reissue.suggest.clues import UNKNOWN, find_date_form, find_missing_codes, is_free_text
from reissue.suggest.suggesting import suggest

ROWS = 200


def look_at(values: Sequence[object], name: str = "column") -> ColumnProfile:
    others = {"person": [f"p{i}" for i in range(len(values))], "other": list(range(len(values)))}
    return profile([pa.table({**others, name: list(values)})], UNKNOWN).columns[name]


def test_people_who_differ_in_the_first_of_many_columns_are_told_apart() -> None:
    """Whose values together have more combinations than fit into 64 bits: 16 of each column, 17 columns."""
    names = [f"column{i}" for i in range(17)]
    rows = [[f"v{i}"] * 17 for i in range(15)] + [["v1"] + ["v0"] * 16]
    table = profile([pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})], UNKNOWN)
    assert table.count_alone(names) == 16
    assert table.count_alone(names[1:]) == 14


@pytest.mark.parametrize(
    ("values", "free"),
    [
        ([f"came at {i} with a cough" for i in range(ROWS)], True),
        ([f"word{i}" for i in range(ROWS)], False),
        ([f"came on day {i % 5} with a cough" for i in range(ROWS)], False),
    ],
    ids=["many sentences", "many words", "few sentences"],
)
def test_free_text_has_many_values_of_many_words(values: list[str], free: bool) -> None:
    assert is_free_text(look_at(values), ROWS) == free


@pytest.mark.parametrize(
    ("values", "form"),
    [
        (["31.12.2023", "01.02.2024"], "dd.mm.yyyy"),
        (["31.12.2023", "01.13.2024"], None),
        (["31.12.2023", "spring"], None),
        (["31.12.2023", "NA"], "dd.mm.yyyy"),
        (["NA", "unknown"], None),
        (["2024-02-30", "2024-02-01"], None),
    ],
)
def test_a_form_of_dates_is_that_of_every_value(values: list[str], form: str | None) -> None:
    column = look_at(values * 3)
    assert find_date_form(column, find_missing_codes(column)) == form


@pytest.mark.parametrize(
    ("numbers", "missing"),
    [
        ([*range(20, 40), 99, 99], ("99",)),
        ([*range(20, 40), 99], ()),
        ([*range(20, 60), 99, 99], ()),
        ([*range(20, 40), -9, -9], ("-9",)),
        ([*range(20, 40), -9], ()),
        ([*range(-3, 40), -9, -9], ()),
        ([*range(20, 40), -9, -9, 999, 999], ("-9",)),
    ],
    ids=["99", "99 once", "99 is near", "-9", "-9 once", "others are negative", "not both"],
)
def test_numbers_far_from_all_others_stand_for_missing(numbers: list[int], missing: tuple[str, ...]) -> None:
    assert find_missing_codes(look_at(numbers)) == missing


def propose(**changes: list[object]) -> dict[str, ProposedColumn]:
    table = {
        "person": [f"p{i}" for i in range(ROWS)],
        "age": [20 + i % 50 for i in range(ROWS)],
        "zip": [f"{10 + i % 9}{i % 7:03d}" for i in range(ROWS)],
        "illness": [f"illness {i % 8}" for i in range(ROWS)],
        **changes,
    }
    return {column.name: column for column in suggest([pa.table(table)]).columns}


def test_nulls_of_the_sensitive_column_are_told_apart_from_none() -> None:
    assert not propose()["illness"].nulls
    assert propose(illness=[None if i == 3 else f"illness {i % 8}" for i in range(ROWS)])["illness"].nulls


def test_postal_codes_are_cut_from_the_longest_on() -> None:
    assert propose(zip=["1234" if i % 2 else f"{10000 + i % 20}" for i in range(ROWS)])["zip"].coding == {
        "prefix": [4, 3, 2, 1]
    }


def test_of_several_identifiers_the_one_named_like_people_is_taken() -> None:
    mine = [f"x{i}" for i in range(ROWS)]
    others = {"age": [i % 50 for i in range(ROWS)], "illness": [f"illness {i % 8}" for i in range(ROWS)]}
    table = pa.table({"aaa": mine, "encounter": mine, "person": mine, **others})
    assert [one.name for one in suggest([table]).columns if one.role == "identifier"] == ["person"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ([None, *range(ROWS - 1)], "0 rows repeat a value and 1 are empty. Keep one row per person"),
        ([0, *range(ROWS - 1)], "1 rows repeat a value and 0 are empty. Keep one row per person"),
    ],
    ids=["empty", "repeated"],
)
def test_an_identifier_that_is_named_has_a_value_of_its_own_in_every_row(wrong: list[object], why: str) -> None:
    table = pa.table(
        {"who": wrong, "age": [i % 50 for i in range(ROWS)], "illness": [f"i{i % 8}" for i in range(ROWS)]}
    )
    with pytest.raises(SchemaError, match=f"column 'who' cannot be the identifier: {why}"):
        ri.Schema.suggest(table, identifier="who")


def test_no_table_at_all() -> None:
    with pytest.raises(SchemaError, match="at least one table"):
        suggest([])


def test_free_text_is_judged_by_its_first_thousand_texts() -> None:
    """Four words on average are free text; what comes after a thousand texts is not looked at."""
    words = [f"text{i:04} with four words" for i in range(1000)]
    assert is_free_text(look_at([*words, "z"]), 1001)
    assert not is_free_text(look_at([*words[:999], "text0999x"]), 1000)
