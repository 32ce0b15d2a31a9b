"""People in many classes at once: what all the classes together say of each one's value, by belief propagation.

Every class deals its values to its members (`permanent`). It is told what each member's other classes and prior say,
and tells them what follows; classes take turns until nothing changes. Exact where the graph of people and classes is a
forest; else a good guess, as loops count some evidence twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.permanent import Deals, bethe_messages, deal, deal_scaled
from reissue.arrays.sorting import find_order
from reissue.arrays.types import NO_NUMBERS, Bool, Float64, Int32, Int64

MOST_SWEPT = 1 << 12
"""A class with more states than this is dealt by Bethe's approximation: it is dealt again in every sweep."""
DAMPING = 0.3
"""How much of its last message a class repeats: without any, loops may swing."""
FAINTEST = 1e-12
"""No message says that a value is less likely than this, beside the likeliest."""
_NEVER = 1e-60
"""A possible value keeps at least this belief, so that later messages can still raise it."""
INNER = 10
"""Rounds of Bethe's messages in one sweep."""


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """Classes, their members, and the values they deal.

    deals:   members, values and counts of each class
    members: int64[members of all classes]  who it is, 0..people-1
    values:  int32[values of all classes]   which value it is, 0..value_count-1, ascending within a class
    """

    deals: Deals
    members: Int64
    values: Int32
    people: int
    value_count: int

    @cached_property
    def cells(self) -> Int64:
        """int64[tables]: person * value_count + value of every cell of the tables members x values."""
        deals = self.deals
        members, values = np.diff(deals.member_start), np.diff(deals.value_start)
        width = np.repeat(values, members)  # of each member's row in its class's table
        start = np.cumsum(width) - width
        within = np.arange(int(width.sum())) - np.repeat(start, width)
        first = np.repeat(np.repeat(deals.value_start[:-1], members), width)
        return np.asarray(
            np.repeat(self.members, width) * self.value_count + self.values[first + within], dtype=np.int64
        )

    @cached_property
    def possible(self) -> Bool:
        """bool[people, values]: the values that every class of a person shows."""
        shown = np.bincount(self.cells, minlength=self.people * self.value_count)
        classes = np.bincount(self.members, minlength=self.people)
        return np.asarray(shown.reshape(self.people, self.value_count) == classes[:, None], dtype=np.bool_)

    @cached_property
    def ways(self) -> NDArray[np.uint64]:
        """uint64[people]: equal for people with the same classes."""
        owner = np.repeat(np.arange(len(self.deals), dtype=np.uint64), np.diff(self.deals.member_start))
        way = np.zeros(self.people, dtype=np.uint64)
        np.add.at(way, self.members, _mix(owner))
        return way

    def gather(self, table: Float64) -> Float64:
        """float64[tables]: the entry of float64[people, values] that belongs to each cell."""
        return np.asarray(np.ascontiguousarray(table).reshape(-1)[self.cells], dtype=np.float64)

    def add_up(self, tables: Float64) -> Float64:
        """float64[people, values]: the sum of each one's cells."""
        flat = np.bincount(self.cells, tables, minlength=self.people * self.value_count)
        return np.asarray(flat.reshape(self.people, self.value_count), dtype=np.float64)

    def deal_alone(self, priors: Float64) -> Float64:
        """float64[tables]: what each class by itself says of its members. priors: float64[people, values]"""
        return deal(self.gather(priors), self.deals, MOST_SWEPT)[0]


def restrict(priors: Float64, possible: Bool) -> Float64:
    """float64[people, values]: priors over the possible values only, adding up to 1; a possible value is never ruled
    out."""
    kept = np.where(possible, np.maximum(priors, 1e-30), 0.0)
    total = kept.sum(axis=1, keepdims=True)
    return np.asarray(kept / np.where(total > 0.0, total, 1.0), dtype=np.float64)


class Propagation:
    """Messages of all classes of a graph, and the beliefs that follow. Memory: twice the tables."""

    def __init__(self, graph: FactorGraph) -> None:
        self.graph = graph
        self.messages = np.ones(len(graph.cells))
        self.beliefs = np.zeros((graph.people, graph.value_count))
        self._twins = NO_NUMBERS

    def start(self, priors: Float64, *, afresh: bool) -> None:
        """Begin from priors float64[people, values]; classes say nothing at first, or what they said last."""
        self._twins = find_twins(self.graph, priors)
        if afresh:
            self.messages[:] = 1.0
            self.beliefs = restrict(priors, self.graph.possible)
            return
        logs = np.log(restrict(priors, self.graph.possible) + (~self.graph.possible))  # nothing is added where it is 0
        logs += self.graph.add_up(np.log(self.messages))
        logs[~self.graph.possible] = -np.inf
        high = logs.max(axis=1, keepdims=True)
        told = np.exp(logs - np.where(np.isfinite(high), high, 0.0))
        self.beliefs = restrict(told, self.graph.possible)

    def sweep(self, most: int, close: float = 0.0) -> tuple[int, float]:
        """Let every class speak, at most so many times. (sweeps, mean change of a person's beliefs in the last one)

        Stops when the change is below `close`. A sweep: O(sum of values * states), or members * values if larger.
        """
        graph, deals = self.graph, self.graph.deals
        small = deals.small(MOST_SWEPT)
        room = np.empty((2, int(deals.states[small].max(initial=1.0))))
        starts = deals.member_start, deals.value_start, deals.table_start
        classes = (*starts, deals.counts, graph.members, graph.values, self._twins)
        change, done = 0.0, 0
        while done < most:
            done += 1
            changed = _sweep(self.beliefs, self.messages, *classes, small, room)
            change = float(changed) / max(1, graph.people)
            if change < close:
                break
        return done, change


def find_twins(graph: FactorGraph, priors: Float64) -> Int64:
    """int64[members]: for each member of a class the first one there who has the same priors and the same classes.

    The same is believed of both. Sweeps do not see to that by themselves: where loops count evidence twice, rounding
    errors between twins grow until one of them is believed to have what the other has not. O(members log members).
    """
    kind = graph.ways.copy()
    for s in range(graph.value_count):
        kind = _mix(kind ^ np.ascontiguousarray(priors[:, s]).view(np.uint64))
    return np.asarray(_find_alike(kind[graph.members], graph.deals.member_start), dtype=np.int64)


@njit(cache=True)
def _find_alike(kind, start):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """int64[members]: the first one of the same class and kind, counted within the class."""
    alike = np.empty(len(kind), np.int64)
    for one in range(len(start) - 1):
        own = kind[start[one] : start[one + 1]]
        order, first = find_order(own), 0
        for place in range(len(own)):
            if own[order[place]] != own[order[first]]:
                first = place
            alike[start[one] + order[place]] = order[first]
    return alike


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, the same for the same (SplitMix64)."""
    with np.errstate(over="ignore"):
        x = numbers + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


@njit(cache=True)
def _sweep(beliefs, messages, member_start, value_start, table_start, counts, members, values, twins, small, room):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """One turn of every class; how much beliefs changed in all."""
    change, most = 0.0, np.diff(table_start).max() if len(small) else 0
    tables = np.empty((2, most))
    for one in range(len(small)):
        people = members[member_start[one] : member_start[one + 1]]
        shown = values[value_start[one] : value_start[one + 1]]
        if len(people) == 0 or len(shown) == 0:
            continue
        own = counts[value_start[one] : value_start[one + 1]]
        old = messages[table_start[one] : table_start[one + 1]].reshape(len(people), len(shown))
        others = tables[0, : old.size].reshape(old.shape)  # what everything but this class says of its members
        for i in range(len(people)):
            high = 0.0
            for s in range(len(shown)):
                others[i, s] = beliefs[people[i], shown[s]] / old[i, s]
                high = max(high, others[i, s])
            for s in range(len(shown)):
                others[i, s] = others[i, s] / high if high > 0.0 else 0.0
        new = tables[1, : old.size].reshape(old.shape)
        if small[one]:
            deal_scaled(others, own, room, new)
        else:
            new[:] = old
            bethe_messages(others, own, new, INNER)
        for i in range(len(people)):
            twin = twins[member_start[one] + i]
            if twin != i:
                new[i] = new[twin]
        change += _tell(beliefs, old, new, others, people, shown)
    return change


@njit(cache=True)
def _tell(beliefs, old, new, others, people, shown):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """A class tells its members `new`, damped, in place of `old`; how much their beliefs changed."""
    change = 0.0
    for i in range(len(people)):
        total = 0.0
        for s in range(len(shown)):
            old[i, s] = DAMPING * old[i, s] + (1.0 - DAMPING) * max(new[i, s], FAINTEST)
            new[i, s] = others[i, s] * old[i, s]
            total += new[i, s]
        if total <= 0.0:
            continue
        for s in range(len(shown)):
            before = beliefs[people[i], shown[s]]
            if before > 0.0:
                after = max(new[i, s] / total, _NEVER)
                change += abs(after - before)
                beliefs[people[i], shown[s]] = after
    return change
