"""Numbers that look random: hashes keyed by a seed, and a permutation that needs no table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.types import Int64

UInt64 = NDArray[np.uint64]


def permute_ids(numbers: Int64, count: int, seed: int) -> Int64:
    """The numbers 0..count-1 renamed by a secret permutation of them, each by itself: no table of all is needed.

    Six rounds of a Feistel network on the smallest even number of bits; what falls outside is sent round again.
    """
    half = np.uint64((max(1, int(count - 1).bit_length()) + 1) // 2)
    mask = np.uint64((1 << int(half)) - 1)
    keys = np.random.SeedSequence([seed, 3]).generate_state(6, np.uint64)
    found = numbers.astype(np.uint64)
    outside = np.ones(len(found), dtype=np.bool_)
    while outside.any():
        left, right = found[outside] >> half, found[outside] & mask
        for key in keys:
            left, right = right, left ^ (mix_bits(right ^ key) & mask)
        found[outside] = (left << half) | right
        outside = found >= count
    return found.astype(np.int64)


def hash_numbers(numbers: UInt64, seed: int) -> UInt64:
    """Numbers that look random, one for each: a hash keyed by the seed."""
    key = np.random.SeedSequence([seed, 4]).generate_state(1, np.uint64)[0]
    return mix_bits(mix_bits(numbers) ^ key)


def mix_bits(x: UInt64) -> UInt64:
    """The finalizer of SplitMix64: every bit of the input changes about half of the output's."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def sum_hashes(numbers: UInt64, seed: int) -> int:
    """The sum, modulo 2**64, of `hash_numbers`. A block at a time: numbers in the cache are hashed twice as fast."""
    block = 1 << 15
    parts = [hash_numbers(numbers[start : start + block], seed) for start in range(0, len(numbers), block)]
    return sum(int(part.sum(dtype=np.uint64)) for part in parts) % 2**64
