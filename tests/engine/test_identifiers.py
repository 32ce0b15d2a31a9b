"""Identifiers: one text per person, whatever type the file used."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.engine import identifiers
from reissue.engine.identifiers import find_repeated, hash_identifiers, have_twins, join_identifiers, normalize


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 20, None], ["1", "20", None]),
        ([1.0, 20.0, None], ["1", "20", None]),
        ([" 7 ", "007", "", "  "], ["7", "007", None, None]),
        (["1.0", "20.0"], ["1", "20"]),
        (["1.0", "x"], ["1.0", "x"]),
        ([decimal.Decimal(12), decimal.Decimal(3)], ["12", "3"]),
        ([decimal.Decimal("12.00"), decimal.Decimal("100.00"), None], ["12", "100", None]),
        ([datetime.date(2026, 1, 31)], ["2026-01-31"]),
    ],
)
def test_normalized(values: list[object], expected: list[str | None]) -> None:
    text, bad = normalize(pa.chunked_array([pa.array(values)]))
    assert text.to_pylist() == expected
    assert bad.tolist() == []


def test_fractions_and_infinities_are_no_identifiers() -> None:
    text, bad = normalize(pa.chunked_array([[1.0, 1.5, float("inf"), float("nan"), 2.0**60]]))
    assert text.to_pylist() == ["1", None, None, None, None]
    assert bad.tolist() == [1, 2, 3, 4]


def test_repeated() -> None:
    extra, shown = find_repeated(pa.array(["a", "b", "a", None, None, "c", "b", "a"]))
    assert extra == 3
    assert [(one.identifier, one.rows.tolist()) for one in shown] == [("a", [0, 2, 7]), ("b", [1, 6])]
    assert find_repeated(pa.array(["a", "b", None, None])) == (0, [])


def test_different_identifiers_with_one_hash_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifiers, "MANY", 0)
    monkeypatch.setattr(identifiers, "hash_identifiers", lambda some: np.zeros(len(some), dtype=np.uint64))
    assert find_repeated(pa.array(["a", "b", None])) == (0, [])
    assert find_repeated(pa.array(["a", "b", None, "b"]))[0] == 1


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\x1c", "\x1f", "\x85", "\xa0", "\u2003", "\u3000"])
def test_every_space_around_an_identifier_goes_wherever_it_stands(space: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ["a", "ä", "b c", "7"]
    monkeypatch.setattr(identifiers, "MANY", 0)
    for row in range(len(plain)):
        for around in (f"{space}{plain[row]}", f"{plain[row]}{space}"):
            text, _ = normalize(pa.chunked_array([[*plain[:row], around, *plain[row + 1 :]]]))
            assert text.to_pylist() == plain


def test_twins_are_found_among_many_hashes_wherever_they_are() -> None:
    rng = np.random.default_rng(8)
    for size in (0, 1, 2, 100, 10_000, 40_000):
        hashes = np.unique(rng.integers(0, 2**63, size).astype(np.uint64) * np.uint64(2))
        rng.shuffle(hashes)
        assert not have_twins(hashes)
        if len(hashes) > 1:
            one, other = rng.choice(len(hashes), 2, replace=False)
            hashes[one] = hashes[other]
            assert have_twins(hashes)


@given(st.dictionaries(st.text(max_size=4), st.integers(0, 2**62)), st.lists(st.text(max_size=4)))
def test_join_identifiers_is_a_lookup(known: dict[str, int], wanted: list[str]) -> None:
    wanted = [*wanted, *list(known)[::2]]
    numbers = join_identifiers(
        (pa.array(list(known), pa.string()), np.array(list(known.values()), dtype=np.int64)),
        pa.array(wanted, pa.large_string()),
    )
    assert numbers.dtype == np.int64
    assert numbers.tolist() == [known.get(name, -1) for name in wanted]


def test_identifiers_are_joined_by_their_text_where_hashes_deceive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifiers, "hash_identifiers", lambda some: np.zeros(len(some), dtype=np.uint64))
    known = (pa.array(["a", "b", "a", "c"]), np.array([1, 2, 9, 4]))
    assert join_identifiers(known, pa.array(["b", "a", None, "d", "b"])).tolist() == [2, 9, -1, -1, 2]
    assert join_identifiers(known, pa.array(["b"])).tolist() == [2]
    assert join_identifiers((pa.array(["a"]), np.array([3])), pa.array(["a", "b"])).tolist() == [3, -1]


def test_of_several_numbers_the_latest_counts() -> None:
    known = (pa.array(["a", "b", "a", "a"]), np.array([1, 2, 9, 4]))
    assert join_identifiers(known, pa.array(["b", "a", None, "c"])).tolist() == [2, 9, -1, -1]


def test_many_known_ones_are_found_as_a_dictionary_finds_them() -> None:
    rng = np.random.default_rng(3)
    names, numbers = [f"p{number}" for number in rng.integers(0, 300, 500)], rng.permutation(500)
    wanted = pa.array([f"p{number}" for number in rng.integers(0, 400, 300)])
    found: dict[str, int] = {}
    for name, number in zip(names, numbers.tolist(), strict=True):
        found[name] = max(number, found.get(name, -1))
    got = join_identifiers((pa.array(names), numbers), wanted).tolist()
    assert got == [found.get(name, -1) for name in wanted.to_pylist()]


def test_hashes_are_fnv_1a_of_the_bytes() -> None:
    """The published test vectors: fragments must be the same on every machine."""
    text = pa.array(["x", "", "a", "foobar"]).slice(1)
    assert hash_identifiers(text).tolist() == [0xCBF29CE484222325, 0xAF63DC4C8601EC8C, 0x85944171F73967E8]


def test_decimals_with_a_fraction_are_no_identifiers() -> None:
    text, bad = normalize(pa.chunked_array([pa.array([decimal.Decimal("1.00"), decimal.Decimal("1.50")])]))
    assert text.to_pylist() == ["1", None]
    assert bad.tolist() == [1]
