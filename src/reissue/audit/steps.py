"""The steps of a series, for attacks that lay two releases side by side at a time (see `methods.attack_parts`)."""

from __future__ import annotations

from collections.abc import Sequence

from reissue.methods.attack import Attack, Outcome
from reissue.methods.attack_parts import merge_steps

Step = tuple[int, ...]
"""Positions of releases, ascending; the last is to be laid beside each of the others."""


def steps_of(releases: int, wanted: int) -> list[Step]:
    """Steps that have every pair of so many releases once, the longest first.

    At least `wanted` of them, if there are as many pairs; but few, since each reads its newest release.
    """
    pairs = releases * (releases - 1) // 2
    longest = max(1, pairs // max(wanted, 1))
    made = [
        (*range(first, min(first + longest, newest)), newest)
        for newest in range(releases)
        for first in range(0, newest, longest)
    ]
    return sorted(made, key=len, reverse=True) or [tuple(range(releases))]


def together(attack: Attack, steps: Sequence[Step], outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of the attack on a series, from those of its steps."""
    in_order = sorted(range(len(steps)), key=lambda i: (steps[i][-1:], steps[i]))
    return merge_steps(attack, [outcomes[i] for i in in_order])
