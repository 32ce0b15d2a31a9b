"""Who cannot share a value with whom, by how classes were cut or dealt, and what follows for everybody's value.

Cuts: if someone left of a cut comes after someone right of it, they do not have the same value: the rows of one value
are left of the cut up to their median, and right of it from there on.

Dealing: m-invariance deals the rows of a cell into sets as long as there is one of every value; only what is left over
waits in the cell around it. Cells are cut by quasi-identifiers, so who knows these knows the cells, and sees by the
smallest cell around a class where it was dealt: all its people were left over in the cells inside that one. Of those
left over who had a signature, some value of it was missing; of the newcomers, some value of every signature that was
still to be dealt to newcomers where they live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.factor_graph import FactorGraph, Propagation, restrict
from reissue.arrays.sets import find_starts
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.methods.invariance.attack_cuts import RebuiltCuts
from reissue.methods.invariance.dealing import CELL, REGION, part_regions, sort_cells
from reissue.methods.invariance.signatures import collect_sets
from reissue.model.domain import Domain
from reissue.model.observed import Members, ObservedRelease
from reissue.partition.tables import grow_tree

TRUST = 0.99
"""How far a deduction, or a cut that was rebuilt, is trusted."""
ROUNDS = 60
"""Rounds at most in which everybody's beliefs exclude what others may have, and classes deal their values."""
CAREFUL = 0.8
"""How much of the last round's exclusions stays: beliefs that turn certain too soon do not turn back."""
CLOSE = 1e-3


@dataclass(frozen=True, eq=False)
class Leftovers:
    """Groups of people of whom at least one value of a set is missing.

    start: int64[groups + 1] into people: int32[]; shared: int64[groups + 1] into sets: int64[], the sets of each group,
    numbers into first: int64[sets + 1] and values: int32[]
    """

    start: Int64
    people: Int32
    shared: Int64
    sets: Int64
    first: Int64
    values: Int32


def rebuild_leftovers(
    release: ObservedRelease, members: Members, people: Int64, known: Bool, domains: Sequence[Domain], values: int
) -> Leftovers:
    """Who was left over where, in one release. people: int64[members], their numbers in the whole series; known:
    bool[members], who was published before; values: how many the series knows. O(rows log rows * attributes).
    """
    sets, own = collect_sets(release.classes, release.values, release.class_count)
    size = int(sets.sizes.min())
    tree = grow_tree(np.asfortranarray(members.codes), domains, CELL * size)
    region = part_regions(tree.parent, tree.leaf, np.flatnonzero(~known), REGION * size * values)
    rank = np.empty(len(tree.parent), dtype=np.int64)
    rank[sort_cells(tree.parent, tree.leaf)] = np.arange(len(rank))
    dealt = _find_dealt(tree.parent, tree.leaf, members.classes, release.class_count)
    mixed = np.bincount(members.classes, known, minlength=release.class_count) > 0
    latest = _find_latest(dealt, rank, region, mixed, own, len(sets))
    cell, who = _wait(tree.parent, tree.leaf, dealt[members.classes])
    kind = np.where(known[who], own[members.classes[who]], -1)  # newcomers wait together
    order = np.lexsort((kind, cell))
    cell, who, kind = cell[order], who[order], kind[order]
    begin = np.flatnonzero((np.diff(cell, prepend=-1) != 0) | (np.diff(kind, prepend=-2) != 0))
    start = np.append(begin, len(cell)).astype(np.int64)
    first, new = begin, kind[begin] < 0
    told = latest[region[cell[first[new]]]] > rank[cell[first[new]]][:, None]
    many = np.ones(len(first), dtype=np.int64)
    many[new] = told.sum(axis=1)
    shared = find_starts(many)
    joined = np.empty(int(shared[-1]), dtype=np.int64)
    of_new = np.repeat(new, many)
    joined[of_new], joined[~of_new] = np.nonzero(told)[1], kind[first[~new]]
    return Leftovers(start, people[who].astype(np.int32), shared, joined, sets.start, sets.values)


def _find_latest(dealt: Int64, rank: Int64, region: Int64, mixed: Bool, own: Int32, sets: int) -> Int64:
    """int64[regions, sets]: when the last class of newcomers alone was dealt there; -1: none was."""
    latest = np.full((int(region.max()) + 1, sets), -1, dtype=np.int64)
    started = np.flatnonzero((dealt >= 0) & ~mixed & (region[np.maximum(dealt, 0)] >= 0))
    np.maximum.at(latest, (region[dealt[started]], own[started]), rank[dealt[started]])
    return np.concatenate([latest, np.full((1, sets), -1, dtype=np.int64)])  # cells of several regions: the last row


@njit(cache=True)
def _find_dealt(parent, leaf, classes, count):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """int64[classes]: the smallest cell around the people of each class, -1 if it has none."""
    depth = np.zeros(len(parent), np.int64)
    for cell in range(1, len(parent)):
        depth[cell] = depth[parent[cell]] + 1
    dealt = np.full(count, -1, np.int64)
    for row in range(len(leaf)):
        one, other = leaf[row], dealt[classes[row]]
        if other >= 0:
            while one != other:
                if depth[one] >= depth[other]:
                    one = parent[one]
                else:
                    other = parent[other]
        dealt[classes[row]] = one
    return dealt


@njit(cache=True)
def _wait(parent, leaf, dealt):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """(cell, row) of everybody who was left over in a cell. dealt: int64[rows], where the row's class was dealt."""
    count = 0
    for row in range(len(leaf)):
        cell = leaf[row]
        while cell != dealt[row]:
            cell, count = parent[cell], count + 1
    cells, rows, count = np.empty(count, np.int64), np.empty(count, np.int64), 0
    for row in range(len(leaf)):
        cell = leaf[row]
        while cell != dealt[row]:
            cells[count], rows[count] = cell, row
            cell, count = parent[cell], count + 1
    return cells, rows


def add_missing(surely: Float64, leftovers: Leftovers, found: Float64) -> None:
    """Add to found[i, v] the logarithm of the chance that some value is missing in i's groups, if i has v.

    surely: float64[people, values], the logarithm of the chance that a person does not have the value.
    O(entries * values + entries * sets of the group * values of a set).
    """
    one = leftovers
    _add_missing(surely, one.start, one.people, one.shared, one.sets, one.first, one.values, found)


@njit(cache=True)
def _add_missing(surely, start, people, shared, sets, first, values, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Looked at are the values of a group's sets; a person's own (the others are 0 in surely) are fewer still.

    Of one person alone all values of a set but the person's are missing: that adds the logarithm of 1.
    """
    kinds = surely.shape[1]
    absent, others, here = np.zeros(kinds), np.zeros(kinds), np.zeros(kinds)
    own, shown, seen = np.empty(kinds, np.int64), np.empty(kinds, np.int64), np.full(kinds, -1, np.int64)
    for group in range(len(start) - 1):
        if start[group + 1] - start[group] < 2:
            continue
        wanted = 0
        for one in range(shared[group], shared[group + 1]):
            for e in range(first[sets[one]], first[sets[one] + 1]):
                if seen[values[e]] != group:
                    seen[values[e]] = group
                    shown[wanted], wanted = values[e], wanted + 1
        for v in shown[:wanted]:
            absent[v] = 0.0
            for i in range(start[group], start[group + 1]):
                absent[v] += surely[people[i], v]
            others[v] = here[v] = 1.0 - np.exp(absent[v])  # whether one of them has it
        for i in range(start[group], start[group + 1]):
            person, many = people[i], 0
            for v in range(kinds):
                if surely[person, v] != 0.0:
                    own[many], many = v, many + 1
                    if seen[v] == group:
                        here[v] = 1.0 - np.exp(absent[v] - surely[person, v])
            for one in range(shared[group], shared[group + 1]):
                _add_set(values, first[sets[one]], first[sets[one] + 1], own, many, here, person, found)
            for at in range(many):
                here[own[at]] = others[own[at]]


@njit(cache=True)
def _add_set(values, begin, end, own, many, here, person, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """As `add_missing`, for one person, whose values are own[:many], and the set values[begin:end]."""
    everything = 1.0
    for e in range(begin, end):
        everything *= here[values[e]]
    left = 1.0 - TRUST * everything
    apart = np.log(left) if left < 1.0 else 0.0  # for values that are not in the set
    for at in range(many):
        v, rest, inside = own[at], 1.0, False
        for e in range(begin, end):
            inside |= values[e] == v
            rest *= here[values[e]] if values[e] != v else 1.0
        if not inside:
            found[person, v] += apart
        elif rest > 0.0:
            left = 1.0 - TRUST * rest
            found[person, v] += np.log(left) if left < 1.0 else 0.0


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
        surely = np.log(1.0 - TRUST * before)  # once for the many cuts that are beyond doubt, and for all groups
        told = (cuts.start, cuts.people, cuts.left, cuts.place, cuts.weight, cuts.shared, cuts.values)
        _add_exclusions(before, surely, *told, found)
        for one in leftovers:
            add_missing(surely, one, found)
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
def _add_exclusions(beliefs, surely, start, people, left, place, weight, shared, values, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Add to found[i, v] the logarithm of the chance that nobody who cannot share a value with i has v."""
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
