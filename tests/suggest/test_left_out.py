"""What cannot be proposed is said column by column, and what nobody can propose from is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import SchemaError

ROWS = 300


def table(**more: object) -> pa.Table:
    r = np.random.default_rng(1)
    known = {
        "id": [f"p{i}" for i in range(ROWS)],
        "age": r.integers(20, 80, ROWS),
        "diagnosis": r.choice(["flu", "cold", "ulcer", "gout", "mumps"], ROWS),
    }
    return pa.table({**known, **more})


def why(proposal: object, name: str) -> str:
    (column,) = (one for one in proposal.columns if one.name == name)  # type: ignore[attr-defined]
    assert column.role == "left out"
    return str(column.reason)


def test_each_column_that_is_left_out_says_why() -> None:
    r = np.random.default_rng(2)
    proposal = ri.Schema.suggest(
        table(
            moments=pa.array([1_000_000 + i for i in range(ROWS)], pa.timestamp("s")),
            constant=["x"] * ROWS,
            reading=r.choice(np.array([1, 2, 3, 4, 10**12]), ROWS),
            own=[f"{i:x}ab" for i in range(ROWS)],
            village=[f"village {i}" for i in r.integers(0, 110, ROWS)],
            lists=[[1]] * ROWS,
        )
    )
    assert why(proposal, "constant") == "all its values are the same."
    assert why(proposal, "lists") == "its type cannot be published: lists, bytes, or moments with a time of day."
    assert why(proposal, "moments") == why(proposal, "lists")
    assert why(proposal, "reading") == "its numbers are too large to be measurements, and may identify people."
    assert why(proposal, "own") == "nearly every row has its own value (300 in 300 rows): it identifies people."


def test_icd_codes_are_cut_to_category_and_letter() -> None:
    r = np.random.default_rng(3)
    codes = [f"{letter}{number:02d}.{more}" for letter in "EIJ" for number in range(10, 40) for more in (0, 1)]
    proposal = ri.Schema.suggest(table(admitted_with=r.choice(codes, ROWS)), sensitive="diagnosis")
    (column,) = (one for one in proposal.columns if one.name == "admitted_with")
    assert column.role == "quasi-identifier"
    assert column.reason.endswith("ICD codes, published as a code, its category or its chapter's letter.")
    assert column.coding == {"prefix": [3, 1]}


@pytest.mark.parametrize(
    ("given", "said", "on_page"),
    [
        (
            {"id": ["a", "b", "c", "d"], "age": [1, 2, 3, 4], "code": ["x"] * 4},
            "No column looks like something that nobody may learn: all are unique, constant or text. Name it with",
            "all are unique, constant or text. Give it to the table, in groups if it has many values.",
        ),
        (
            {"id": [f"p{i}" for i in range(60)], "diagnosis": ["flu", "cold", "gout"] * 20, "constant": ["x"] * 60},
            "no column is left that outsiders may know. Name some with --quasi-identifier.",
            "no column is left that outsiders may know. Choose at least one.",
        ),
    ],
)
def test_tables_without_a_column_for_a_role_are_refused(given: dict[str, object], said: str, on_page: str) -> None:
    with pytest.raises(SchemaError) as refused:
        ri.Schema.suggest(pa.table(given))
    assert said in str(refused.value)
    assert on_page in str(refused.value.page)


def test_a_sensitive_column_of_one_value_leaves_nothing_to_protect() -> None:
    with pytest.raises(SchemaError, match=r"^'ill' has only one value: there is nothing to protect\. Name another"):
        ri.Schema.suggest(table(ill=["flu"] * ROWS), sensitive="ill")
    assert ri.Schema.suggest(table(ill=["flu", "cold"] * (ROWS // 2)), sensitive="ill").policy["l"] == 2
