"""Anatomized releases, rows that count people, and numbers in bins, as files that somebody may have altered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import reissue as ri
from reissue.audit import audit
from reissue.errors import ReleaseError
from tests.support.hospital import hospital_schema

PEOPLE = pa.table(
    {
        "name": [f"p{i}" for i in range(12)],
        "age": [20 + 3 * i for i in range(12)],
        "gender": ["Male", "Female"] * 6,
        "diagnosis": ["Flu", "Cancer", "Asthma", "Flu", "Cancer", "Gout"] * 2,
    }
)


def class_left_out(values: dict[str, list[object]]) -> None:
    kept = [row for row, own in enumerate(values["class"]) if own != values["class"][-1]]
    for name, column in values.items():
        values[name] = [column[row] for row in kept]


def class_that_nobody_is_in(values: dict[str, list[object]]) -> None:
    """One value of a class moves on to a class of its own."""
    values["class"][-1] = 1 + values["class"][-1]  # type: ignore[operator]


def no_numbers(values: dict[str, list[object]]) -> None:
    del values["class"]


def no_counts(values: dict[str, list[object]]) -> None:
    del values["count"]


def a_count_of_nobody(values: dict[str, list[object]]) -> None:
    values["count"][0] = 0


def one_too_many(values: dict[str, list[object]]) -> None:
    values["count"][0] = int(values["count"][0]) + 1  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (class_left_out, "the values count "),
        (class_that_nobody_is_in, "the two tables name different classes."),
        (no_numbers, "The column 'class' must hold the class number of every row."),
        (no_counts, "the table of values needs a column 'count' of whole numbers from 1 on."),
        (a_count_of_nobody, "the table of values needs a column 'count' of whole numbers from 1 on."),
        (one_too_many, "the values count 13 rows, the other table has 12."),
    ],
)
def test_a_table_of_values_that_was_altered(
    change: Callable[[dict[str, list[object]]], None], sentence: str, tmp_path: Path
) -> None:
    with ri.Series.create(
        tmp_path / "s", hospital_schema(), ri.MInvariance(m=2, publishing="anatomized"), seed=1
    ) as series:
        release = series.publish(PEOPLE)
    assert audit([release.path], hospital_schema()).to_dict()["releases"][0]["rows"] == 12  # type: ignore[index]
    for file in release.path.glob("*.parquet"):
        file.unlink()
    values = pa.csv.read_csv(release.path / "values.csv").to_pydict()
    change(values)
    pa.csv.write_csv(pa.table(values), release.path / "values.csv")
    with pytest.raises(ReleaseError) as refused:
        audit([release.path], hospital_schema())
    assert sentence in str(refused.value)


def test_rows_that_stand_for_more_people_than_there_are() -> None:
    table = pa.table(
        {"age": ["20-29", "30-39"], "gender": ["Male"] * 2, "diagnosis": ["Flu"] * 2, "count": [3, 49_999_998]}
    )
    with pytest.raises(ReleaseError, match=r"'count' adds up to 50,000,001 people\. Correct the counts\."):
        audit([table], hospital_schema())


def test_numbers_are_put_into_the_bins_of_the_schema_and_other_texts_stay() -> None:
    schema = ri.Schema(
        identifier="name", quasi_identifiers={"age": ri.Numeric()}, sensitive="cost", bins={"cost": [10, 20]}
    )
    table = pa.table({"age": ["20-29"] * 4 + ["30-39"] * 4, "cost": ["5", "12.5", "1_5", "", "20", "5", "9.9", "5"]})
    done = audit([table], schema, attacks=["association"])
    assert [label for (label,) in done.coding.value_labels] == [
        "(missing)", "10 to under 20", "1_5", "20 and over", "below 10",
    ]  # fmt: skip
