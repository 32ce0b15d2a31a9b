"""Fragments that must know of each other: what they count for one another, and making a release until it settles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from reissue.arrays.combinations import Combinations
from reissue.arrays.types import Int64
from reissue.errors import InfeasiblePolicy
from reissue.methods.strategy import Strategy
from reissue.model.fragment_counts import FragmentCounts, TableCounts

MadeT = TypeVar("MadeT")

ATTEMPTS = 50
"""How often a release is made at most. Each attempt but the last undoes a class somewhere; two or three are usual."""


def wholes_of(tallies: Sequence[FragmentCounts | None]) -> list[TableCounts] | None:
    """What each fragment is told of the whole table; None if the strategy does not ask."""
    told = [tally for tally in tallies if tally is not None]
    return TableCounts.of(told) if told else None


def planned_together(tallies: Sequence[FragmentCounts | None]) -> dict[str, Combinations]:
    """What the planner is told: the sums of what all fragments counted for it."""
    told = [tally.planned for tally in tallies if tally is not None]
    return {name: Combinations.together([one[name] for one in told]) for name in told[0]}


def agreed(
    strategy: Strategy,
    wholes: Sequence[TableCounts] | None,
    make: Callable[[Sequence[TableCounts] | None], list[MadeT]],
    values: Callable[[MadeT], Int64],
) -> list[MadeT]:
    """Every fragment of a release, made until they agree on what is published.

    make:   all fragments, each with what it is told of the whole table
    values: int64[values] of a fragment, how often each value would be published
    """
    while True:
        made = make(wholes)
        again = _next_attempt(strategy, wholes, [values(one) for one in made])
        if again is None:
            return made
        wholes = again


def _next_attempt(
    strategy: Strategy, wholes: Sequence[TableCounts] | None, values: Sequence[Int64]
) -> list[TableCounts] | None:
    """What to make the release with once more; None if it may stand.

    values: int64[values] of each fragment, how often each value would be published. It stands once all together
    publish what every class has been compared with.
    """
    if wholes is None or not strategy.repeats_until_stable:
        return None
    published = np.sum(values, axis=0)
    announced = wholes[0].announced(len(published))
    if np.array_equal(published, announced):
        return None
    if len(wholes[0].published) == ATTEMPTS:
        raise InfeasiblePolicy(
            f"The fragments did not come to rest in {ATTEMPTS} attempts: rows that fit no class change the table that "
            'all classes are compared with. Raise beta (t) or J, use leftovers = "relax", or make fewer fragments.'
        )
    return [whole.announcing(published) for whole in wholes]
