"""How queries are written: on the command line each condition for itself, or all of them in one argument."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

import reissue as ri
from reissue.cli import main
from reissue.errors import InputError
from reissue.estimating.asking import _split, show, split, split_arguments


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


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"New York, NY"', "New York, NY"),
        ('"5, size=3 b=4"', "5, size=3 b=4"),
        ('"a..b"', "a..b"),
        ('"the ""old"" one, here"', 'the "old" one, here'),
        ('""""', '"'),
        ('5" pipe', '5" pipe'),
        ("'s-Hertogenbosch", "'s-Hertogenbosch"),
        ('"half', '"half'),
    ],
)
def test_what_is_quoted_is_one_value_as_it_is(written: str, value: str) -> None:
    """Alone, in a list, in one argument with other conditions, and in a query as Python takes it."""
    assert split([f"city={written}"]) == {"city": [value]}
    assert split([f"city={written},Paris,{written}"]) == {"city": [value, "Paris", value]}
    several = split_arguments([f"city={written},Paris age=3.."])
    assert several == {"city": [value, "Paris"], "age": ("3", None)}
    if written.endswith('"'):
        assert _split(f"city={written},Paris 'age=3..'") == several


def test_a_value_is_shown_so_that_it_can_be_asked_for() -> None:
    values = ["New York, NY", "a..b", 'the "old" one', '"x"', "plain"]
    assert split([f"city={show(values)}"]) == {"city": values}
    assert show(values[2:3]) == 'the "old" one'


def test_the_command_counts_values_that_have_commas(tmp_path: Path) -> None:
    """Quoted, they are one value; as before, what is not quoted is a list."""
    names = ["Flu, severe", "Flu", "severe", "HIV"]
    people = pa.table(
        {"person": range(80), "age": [20 + n // 8 for n in range(80)], "exam": [names[n % 4] for n in range(80)]}
    )
    schema = ri.Schema(identifier="person", quasi_identifiers={"age": ri.Numeric()}, sensitive=["exam"])
    with ri.Series.create(tmp_path / "s", schema, ri.Static(k=4), formats=["csv"]) as series:
        path = str(series.publish(people).path)
    for query, count in (('exam="Flu, severe"', 20), ('exam="Flu, severe",HIV', 40), ("exam=Flu,severe", 40)):
        asked = CliRunner().invoke(main, ["estimate", path, query])
        assert asked.output.startswith(f"About {count} people ("), asked.output
    found = ri.estimate(path, 'exam="Flu, severe"')
    assert found.count == ri.estimate(path, {"exam": ["Flu, severe"]}).count == 20
