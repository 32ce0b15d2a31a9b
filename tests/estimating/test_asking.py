"""How queries are written: on the command line each condition for itself, or all of them in one argument."""

from __future__ import annotations

import pytest

from reissue.errors import InputError
from reissue.estimating.asking import split, split_arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ["age=30..39", "wages=41000 to under 59000", "sex=F,M"],
        ["age=30..39 wages=41000 to under 59000 sex=F,M"],
        ["age=30..39, wages=41000 to under 59000,  sex=F,M"],
        ["age=30..39", " wages=41000 to under 59000, sex=F,M "],
    ],
)
def test_conditions_stand_in_one_argument_or_in_several(arguments: list[str]) -> None:
    wanted = {"age": ("30", "39"), "wages": ["41000 to under 59000"], "sex": ["F", "M"]}
    assert split_arguments(arguments) == wanted


def test_a_column_whose_name_has_a_space_is_no_second_condition() -> None:
    assert split_arguments(["native country=US"]) == split(["native country=US"]) == {"native country": ["US"]}


def test_what_is_no_condition_is_told_with_an_example() -> None:
    with pytest.raises(InputError, match=r"has 'adults', where column=value is expected\. Write for example: age="):
        split_arguments(["adults"])


def test_a_list_may_have_ranges_in_it() -> None:
    assert split(["age=20..29,40,50..", "sex=F"]) == {"age": [("20", "29"), "40", ("50", None)], "sex": ["F"]}
