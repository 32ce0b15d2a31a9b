"""Tokens are dealt evenly over the quasi-identifiers, by multisets and the seed alone, and fairly to everybody."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from reissue.arrays.types import Int32
from reissue.methods.standing import dealing
from reissue.methods.standing.dealing import deal_tokens

VALUES = 6


def make_classes(count: int, seed: int = 3) -> tuple[Int32, Int32, Int32]:
    """(class, codes, value) of people; classes of 7 to 13 neighbours by the first attribute."""
    rng = np.random.default_rng(seed)
    codes = np.stack([np.sort(rng.integers(0, 60, count)), rng.integers(0, 2, count), rng.integers(0, 9, count)], 1)
    sizes = rng.integers(7, 14, count)
    standing = np.repeat(np.arange(count), sizes)[:count]
    share = np.arange(VALUES, 0, -1) / np.arange(VALUES + 1).sum()
    values = rng.choice(VALUES, count, p=share)
    return standing.astype(np.int32), codes.astype(np.int32), values.astype(np.int32)


def find_shares(standing: Int32, values: Int32) -> np.ndarray:
    """float64[people, values]: the shares in everybody's class."""
    counts = np.zeros((int(standing.max()) + 1, VALUES))
    np.add.at(counts, (standing, values), 1)
    return (counts / counts.sum(axis=1, keepdims=True))[standing]


def find_largest_deviation(standing: Int32, codes: Int32, values: Int32, seeds: int) -> float:
    """How far anybody's frequency of any value is from the share in the class, over many seeds, in standard errors."""
    found = np.zeros((len(standing), VALUES))
    for seed in range(seeds):
        found[np.arange(len(standing)), deal_tokens(standing, codes, values, VALUES, np.random.default_rng(seed))] += 1
    share = find_shares(standing, values)
    spread = np.sqrt(share * (1 - share) / seeds)
    off = (found / seeds - share)[spread > 0] / spread[spread > 0]
    assert np.array_equal(found[spread == 0], seeds * share[spread == 0])
    assert off.std() == pytest.approx(1, abs=0.2)
    return float(np.abs(off).max())


@pytest.mark.parametrize("attributes", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 9, 400])
def test_every_token_of_a_class_is_dealt_once(count: int, attributes: int) -> None:
    standing, codes, values = make_classes(count)
    dealt = deal_tokens(standing, codes[:, :attributes], values, VALUES, np.random.default_rng(1))
    for own in np.unique(standing):
        assert np.array_equal(np.sort(dealt[standing == own]), np.sort(values[standing == own]))


@pytest.mark.parametrize("value_count", [VALUES, dealing.MOST_VALUES + 1])
def test_a_class_larger_than_any_weighing_is_dealt_whole(value_count: int) -> None:
    _, codes, values = make_classes(1_001)
    everybody = np.zeros(1_001, dtype=np.int32)
    dealt = deal_tokens(everybody, codes, values, value_count, np.random.default_rng(1))
    assert np.array_equal(np.sort(dealt), np.sort(values))


def test_who_has_which_value_changes_nothing() -> None:
    standing, codes, values = make_classes(300)
    mixed = values.copy()
    for own in np.unique(standing):
        mixed[standing == own] = np.random.default_rng(int(own)).permutation(values[standing == own])
    assert not np.array_equal(mixed, values)
    one, other = (deal_tokens(standing, codes, each, VALUES, np.random.default_rng(5)) for each in (values, mixed))
    assert np.array_equal(one, other)


def test_everybody_gets_each_token_of_the_class_equally_often() -> None:
    assert find_largest_deviation(*make_classes(60), seeds=3_000) < 4.5


def test_dealing_is_fair_in_small_odd_and_large_classes() -> None:
    standing = np.repeat(np.arange(6), [1, 2, 3, 5, 7, 67]).astype(np.int32)
    _, codes, values = make_classes(len(standing))
    assert find_largest_deviation(standing, codes, values, seeds=3_000) < 4.5


def test_dealing_is_fair_where_many_people_are_weighed_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "MANY", 1)
    assert find_largest_deviation(*make_classes(60), seeds=3_000) < 4.5


def test_the_order_of_rows_tells_nothing() -> None:
    """Rows may come ordered by value: people who look alike get every arrangement of the tokens equally often."""
    alike, seeds = np.zeros(4, dtype=np.int32), 4_800
    found = Counter(
        tuple(deal_tokens(alike, np.zeros((4, 2), np.int32), np.arange(4, dtype=np.int32), 4, rng).tolist())
        for rng in map(np.random.default_rng, range(seeds))
    )
    assert len(found) == 24
    chance = np.sqrt(seeds / 24)
    assert max(abs(count - seeds / 24) for count in found.values()) < 4.5 * chance


def test_counts_follow_the_shares_of_classes_more_closely_than_chance() -> None:
    standing, codes, values = make_classes(3_000)
    share, cell = find_shares(standing, values), codes[:, 0] // 10 * 2 + codes[:, 1]
    expected = np.zeros((12, VALUES))
    np.add.at(expected, cell, share)
    off = {"even": 0.0, "chance": 0.0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        mixed = rng.permutation(len(values))
        people = mixed[np.argsort(standing[mixed], kind="stable")]
        chance = np.empty_like(values)
        chance[people] = values[np.argsort(standing, kind="stable")]
        for name, dealt in (("even", deal_tokens(standing, codes, values, VALUES, rng)), ("chance", chance)):
            found = np.zeros_like(expected)
            np.add.at(found, (cell, dealt), 1)
            off[name] += float(((found - expected) ** 2).sum())
    assert off["even"] < 0.6 * off["chance"]


def test_a_code_that_is_far_away_takes_no_memory() -> None:
    """A missing number is coded beyond all numbers: counting every code up to it took 8 GB."""
    import tracemalloc

    from reissue.methods.standing.dealing import _group_codes

    near = np.arange(400, dtype=np.int32)[:, None]
    far = np.where(near == 399, 2**30, near).astype(np.int32)
    tracemalloc.start()
    assert (_group_codes(far) == _group_codes(near)).all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
