"""Who cannot share a value with whom, by the cuts that were rebuilt, and what follows for everybody's value.

If someone left of a cut comes after someone right of it, they do not have the same value: the rows of one value are
left of the cut up to their median, and right of it from there on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.factor_graph import FactorGraph, Propagation, restrict
from reissue.arrays.types import Float64, Int64
from reissue.methods.invariance.attack_cuts import RebuiltCuts
from reissue.methods.invariance.attack_leftovers import Leftovers, add_missing

ROUNDS = 60
"""Rounds at most in which everybody's beliefs exclude what others may have, and classes deal their values."""
CAREFUL = 0.8
"""How much of the last round's exclusions stays: beliefs that turn certain too soon do not turn back."""
TRUST = 0.99
"""How far a rebuilt cut is trusted."""
CLOSE = 1e-3


def exclude(graph: FactorGraph, cuts: RebuiltCuts, leftovers: Sequence[Leftovers], priors: Float64) -> Float64:
    """float64[people, values]: beliefs in which nobody has the value of someone he cannot share it with, on average.

    Mean field over the pairs, exact dealing inside classes. A round: O(people * values * depth of the cuts).
    """
    possible = graph.possible
    logs = np.log(restrict(priors, possible) + ~possible)
    talk = Propagation(graph)
    talk.start(priors, afresh=True)
    talk.sweep(3)
    weights = np.zeros(logs.shape)
    for _ in range(ROUNDS):
        before = talk.beliefs
        found = np.zeros(logs.shape)
        told = (cuts.start, cuts.people, cuts.left, cuts.place, cuts.weight, cuts.shared, cuts.values)
        _add_exclusions(before, *told, found)
        for one in leftovers:
            add_missing(before, one, found)
        weights = CAREFUL * weights + (1.0 - CAREFUL) * found
        both = np.where(possible, logs + weights, -np.inf)
        talk.start(np.exp(both - both.max(axis=1, keepdims=True)), afresh=False)
        talk.sweep(1)
        if np.abs(talk.beliefs - before).sum() < CLOSE * len(before):
            break
    return talk.beliefs


def count_excluded(cuts: RebuiltCuts, people: int) -> Int64:
    """int64[people]: how many others stand where they would not if they shared the person's value, cut by cut.

    Only by cuts of which the attribute is beyond doubt.
    """
    counts = np.zeros(people, dtype=np.int64)
    _count_excluded(cuts.start, cuts.people, cuts.left, cuts.place, cuts.weight, counts)
    return counts


@njit(cache=True)
def _add_exclusions(beliefs, start, people, left, place, weight, shared, values, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Add to found[i, v] the logarithm of the chance that nobody who cannot share a value with i has v."""
    surely = np.log(1.0 - TRUST * beliefs)  # once for the many cuts that are beyond doubt
    for cut in range(len(weight)):
        own = values[shared[cut] : shared[cut + 1]]
        trust = TRUST * weight[cut] if weight[cut] < 1.0 else 0.0
        said = beliefs if trust > 0.0 else surely
        _pass_along(said, start[cut], start[cut + 1], 1, True, people, left, place, own, trust, found)
        _pass_along(said, start[cut + 1] - 1, start[cut] - 1, -1, False, people, left, place, own, trust, found)


@njit(cache=True)
def _pass_along(said, begin, end, step, told, people, left, place, own, trust, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Go along a cut: who is on the side `told` is excluded by everybody of the other side whom one came by before.

    said: float64[people, values], beliefs that are trusted so far; where trust is 0, the logarithms ready to be added.
    """
    gathered = np.zeros(len(own))
    at = begin
    while at != end:
        stop = at
        while stop != end and place[stop] == place[at]:  # equals neither come before nor after each other
            if left[stop] == told:
                for s in range(len(own)):
                    found[people[stop], own[s]] += gathered[s]
            stop += step
        while at != stop:
            if left[at] != told:
                for s in range(len(own)):
                    one = said[people[at], own[s]]
                    gathered[s] += np.log(1.0 - trust * one) if trust > 0.0 else one
            at += step


@njit(cache=True)
def _count_excluded(start, people, left, place, weight, counts):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    for cut in range(len(weight)):
        if weight[cut] < 1.0:
            continue
        for step in (1, -1):
            told = step == 1
            at, end = (start[cut], start[cut + 1]) if told else (start[cut + 1] - 1, start[cut] - 1)
            others = 0
            while at != end:
                stop = at
                while stop != end and place[stop] == place[at]:
                    if left[stop] == told:
                        counts[people[stop]] += others
                    stop += step
                while at != stop:
                    others += left[at] != told
                    at += step
