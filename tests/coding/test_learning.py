"""Learning: codes are stable while snapshots are read, and what does not fit is told."""

from __future__ import annotations

import unicodedata

import pytest

from reissue.coding import MISSING, Coding, NumericSummary, SnapshotSummary
from reissue.errors import SnapshotError
from reissue.schema import Categorical, Numeric
from tests.coding.support import clinic, counted, snapshot


def test_codes_are_stable_while_the_coding_learns() -> None:
    start = Coding.start(clinic())
    first = start.learn(snapshot())
    assert (start.version, first.version) == (0, 1)
    assert first.values == ("cold", "flu")
    assert first.lookup("zip") == {"12043": 0, "12044": 1, "13000": 2}
    assert (first.domains[0].lo, first.domains[0].hi, first.domains[0].tree) == (20, 60, None)
    assert [domain.name for domain in first.domains] == ["age", "zip", "place"]
    assert first.learn(snapshot()) is first
    assert (
        first.learn(snapshot(NumericSummary(kind="int", lowest=30, highest=40), ["13000"], values=[("flu",)])) is first
    )
    second = first.learn(
        snapshot(NumericSummary(kind="int", lowest=-1, highest=30), ["11999", "13000"], values=[("asthma",), ("flu",)])
    )
    assert second.version == 2
    assert second.values == ("cold", "flu", "asthma")
    assert second.lookup("zip") == {"11999": 0, "12043": 1, "12044": 2, "13000": 3}
    assert (second.domains[0].lo, second.domains[0].hi) == (-1, 60)
    wider = second.learn(snapshot(NumericSummary(kind="int", lowest=0, highest=99), values=[("x",)]))
    assert wider.version == 3
    assert wider.hierarchies == second.hierarchies


def test_jointly_sensitive_columns_keep_their_labels_apart() -> None:
    schema = clinic(sensitive=("job", "income"), missing="value", quasi_identifiers={"age": Numeric("int")})
    seen = SnapshotSummary(
        numbers={"age": NumericSummary(kind="int", lowest=1, highest=2)},
        sensitive=[("cook", "low"), (None, "high"), ("a / b", "c"), ("a", "b / c")],
    )
    coding = Coding.start(schema).learn(seen)
    assert coding.values == ("(missing) / high", 'a / "b / c"', '"a / b" / c', "cook / low")
    assert coding.value_columns == {"job": [MISSING, "a", "a / b", "cook"], "income": ["high", "b / c", "c", "low"]}
    assert coding.value_lookup["a / b", "c"] == 2


def test_everything_that_does_not_fit_is_one_message() -> None:
    coding = Coding.start(clinic()).learn(snapshot())
    unknown = [f"X{i:02}" for i in range(12)]
    with pytest.raises(SnapshotError) as caught:
        coding.learn(
            SnapshotSummary(
                categories={
                    "zip": counted("12043", "12*", None, None),
                    "place": {**counted("France", "Europe", " Spain", *unknown), "Peru": (17, 4)},
                },
                numbers={"age": NumericSummary(kind="int", lowest=1, highest=2, nulls=3, first_null=6)},
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
        coding.learn(SnapshotSummary(categories={"zip": counted(value)}))
    assert hint in str(caught.value)


def test_values_that_differ_in_spaces_only_are_refused_not_counted_twice() -> None:
    coding = Coding.start(clinic()).learn(snapshot(values=[("flu",), ("cold",)]))
    seen = snapshot(values=[])
    for values in ({("flu ",): (3, 4), ("cold",): (1, 0)}, {("gout",): (1, 0), (" gout",): (3, 4)}):
        with pytest.raises(SnapshotError, match=r"differ only in spaces around them, in 3 rows, first in row 5\. They"):
            coding.learn(SnapshotSummary(categories=seen.categories, numbers=seen.numbers, sensitive=values))
    assert coding.learn(snapshot(values=[("flu",), ("the flu",)])).values[-1] == "the flu"


def test_values_that_read_alike_are_refused_not_counted_twice() -> None:
    one, two = "Morbus Behçet", unicodedata.normalize("NFD", "Morbus Behçet")
    assert one != two
    seen = snapshot(values=[])
    for before, values in (([], {(one,): (1, 0), (two,): (3, 4)}), ([(one,)], {(f" {two}",): (3, 4)})):
        coding = Coding.start(clinic()).learn(snapshot(values=before))
        with pytest.raises(SnapshotError, match=r"read alike but are made of other .*Morbus Behc.u0327et.* in row 5"):
            coding.learn(SnapshotSummary(categories=seen.categories, numbers=seen.numbers, sensitive=values))


@pytest.mark.parametrize("other", ["lung  cancer", "lung\u00a0cancer", "lung\u200b cancer", "\ufefflung cancer"])
def test_values_that_differ_in_what_nobody_sees_are_refused(other: str) -> None:
    coding = Coding.start(clinic()).learn(snapshot(values=[("lung cancer",)]))
    seen = snapshot(values=[])
    with pytest.raises(SnapshotError, match="read alike but are made of other characters"):
        coding.learn(SnapshotSummary(categories=seen.categories, numbers=seen.numbers, sensitive={(other,): (3, 4)}))


def test_an_absent_column_is_named() -> None:
    with pytest.raises(SnapshotError, match="Column 'zip' is missing"):
        Coding.start(clinic()).learn(
            SnapshotSummary(categories={"place": counted("Japan")}, numbers=snapshot().numbers)
        )


@pytest.mark.parametrize(
    ("low", "high", "told"), [(-(2**31), 9, "-2147483648 in row 8"), (0, 2**31, "2147483648 in row 3")]
)
def test_the_number_that_is_too_large_is_told_with_its_row(low: int, high: int, told: str) -> None:
    seen = SnapshotSummary(numbers={"age": NumericSummary(kind="int", lowest=low, highest=high, rows=(7, 2))})
    with pytest.raises(SnapshotError, match=f"Column 'age': the value {told} does not fit: "):
        Coding.start(clinic()).learn(seen)
