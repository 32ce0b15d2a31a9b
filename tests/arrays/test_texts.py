"""Hashes and texts: the kernels against what Python does with the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reissue.arrays.sets import find_used, hash_numbers, sum_hashes
from reissue.arrays.texts import append_hashes, match_hashes


@given(st.lists(st.integers(0, 40), max_size=60), st.lists(st.integers(0, 60), max_size=60))
def test_hashes_are_matched_as_a_dictionary_would(own: list[int], others: list[int]) -> None:
    first: dict[int, int] = {}
    for place, number in enumerate(own):
        first.setdefault(number, place)
    hashes = [hash_numbers(np.array(some, dtype=np.uint64), 1) for some in (own, others)]
    same, match = match_hashes(*hashes)
    assert same.tolist() == [first[number] for number in own]
    assert match.tolist() == [first.get(number, -1) for number in others]


def test_many_hashes_are_matched_in_several_heaps() -> None:
    rng = np.random.default_rng(4)
    own, others = rng.permutation(30_000), rng.integers(0, 60_000, 20_000)
    same, match = match_hashes(*(hash_numbers(some.astype(np.uint64), 2) for some in (own, others)))
    assert (same == np.arange(len(own))).all()
    assert (np.where(match >= 0, own[match], -1) == np.where(others < len(own), others, -1)).all()


def test_a_code_is_appended_to_a_hash_by_its_label_or_as_it_is() -> None:
    hashes, codes = np.array([1, 2**63, 5], dtype=np.uint64), np.array([3, 4, 3], dtype=np.int32)
    labels = np.array([7, 2**64 - 1], dtype=np.uint64)
    step = 0x9E3779B97F4A7C15
    by_label, by_code = hashes.copy(), hashes.copy()
    append_hashes(by_label, codes, 3, labels)
    append_hashes(by_code, -codes, 0, labels[:0])
    rows = list(zip(hashes.tolist(), codes.tolist(), strict=True))
    assert by_label.tolist() == [(own * step + int(labels[code - 3])) % 2**64 for own, code in rows]
    assert by_code.tolist() == [(own * step - code) % 2**64 for own, code in rows]


def test_hashes_are_summed_as_if_all_at_once() -> None:
    numbers = np.arange(70_000, dtype=np.uint64)
    assert sum_hashes(numbers, 3) == sum(hash_numbers(numbers, 3).tolist()) % 2**64


@given(st.lists(st.integers(-5, 9), max_size=20))
def test_used_codes_are_the_different_ones(codes: list[int]) -> None:
    assert find_used(np.array(codes, dtype=np.int32)).tolist() == sorted(set(codes))
