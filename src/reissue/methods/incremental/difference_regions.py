"""Regions of a difference: connected sets of classes that a flow for one value shows to be too full of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.sets import bipartite_components, difference
from reissue.arrays.types import Float64, Int64
from reissue.model.observed import Groups

if TYPE_CHECKING:
    from reissue.methods.incremental.difference import DifferencePart


@dataclass(frozen=True, eq=False)
class Gap:
    """One difference that gives people away.

    lefts: int64[] the classes E; rights: int64[] the classes N(E); size: how many people are left over
    value: the value that is too frequent among them, count times; -1 if they are just too few
    of: the class of the left whose smallest difference it is; where a value is too frequent, the first of E
    """

    lefts: Int64
    rights: Int64
    size: int
    value: int = -1
    count: int = 0
    left: int = -1

    @property
    def share(self) -> float:
        return self.count / self.size

    @property
    def of(self) -> int:
        return self.left if self.left >= 0 else int(self.lefts[0])


def counts_of(groups: Groups, value: int) -> Int64:
    """int64[classes]: how often one value occurs in each class."""
    at = np.flatnonzero(groups.value == value)
    count = np.zeros(len(groups.sizes), dtype=np.int64)
    count[groups.classes[at]] = groups.count[at]
    return count


@dataclass(frozen=True, eq=False)
class ConnectedSets:
    """Connected sets of classes of a part: what the flow of w for one value shows to be too full of it.

    label, label_right: int64[lefts], int64[rights] the set of each class, -1 if none; size, count: int64[sets] the
    people left over, and those of them with the value
    """

    part: DifferencePart
    value: int
    label: Int64
    label_right: Int64
    size: Int64
    count: Int64

    @cached_property
    def filled(self) -> Int64:
        """int64[]: the sets that leave anybody over."""
        return np.flatnonzero(self.size > 0)

    @cached_property
    def share(self) -> Float64:
        return np.asarray(self.count / np.maximum(self.size, 1), dtype=np.float64)

    @cached_property
    def first(self) -> Int64:
        """int64[sets]: the first left class of each."""
        inside = self.label >= 0
        first = np.full(len(self.size), np.iinfo(np.int64).max)
        np.minimum.at(first, self.label[inside], self.part.lefts[inside])
        return first

    def worst(self, chosen: Int64, limit: int) -> Int64:
        return chosen[np.lexsort((self.first[chosen], -self.share[chosen]))][:limit]

    def best(self) -> tuple[Int64, Int64]:
        """(components, sets): of each component of the part, the set with the largest share, the first of them."""
        of = np.zeros(len(self.size), dtype=np.int64)
        inside = self.label_right >= 0
        of[self.label_right[inside]] = self.part.right_component[inside]
        order = self.worst(self.filled, len(self.filled))
        component, at = np.unique(of[order], return_index=True)
        return component, order[at]

    def gap(self, one: int) -> Gap:
        lefts, rights = self.part.lefts[self.label == one], self.part.rights[self.label_right == one]
        return Gap(lefts, rights, int(self.size[one]), self.value, int(self.count[one]))


def find_obstructions(part: DifferencePart, value: int, top: Int64, bottom: Int64) -> ConnectedSets | None:
    """The sets in which the value has more than share top / bottom of their component; None if there are none."""
    transport = part.transport(*part.weights(value, top, bottom))
    if transport.saturate() == 0:
        return None
    lefts, rights = transport.obstruction()
    tied = np.flatnonzero(rights[part.edge_right] & lefts[part.edge_left])
    label, label_right = bipartite_components(
        part.edge_left[tied], part.edge_right[tied], len(part.lefts), len(part.rights)
    )
    label[~lefts], label_right[~rights] = -1, -1
    total = max(label.max(), label_right.max()) + 1
    size, count = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
    for sign, groups, which, at in ((1, part.right, rights, label_right), (-1, part.left, lefts, label)):
        np.add.at(size, at[which], sign * groups.sizes[which])
        np.add.at(count, at[which], sign * counts_of(groups, value)[which])
    return ConnectedSets(part, value, label, label_right, size, count)


def find_largest(part: DifferencePart, value: int, top: Int64, bottom: Int64) -> None:
    """Raise top / bottom, int64[components], to the largest share of the value in a difference of each component.

    Dinkelbach's iteration, for all components at once: look for sets above the best share so far until there are none.
    At the start no class is above it.
    """
    while (sets := find_obstructions(part, value, top, bottom)) is not None:
        component, best = sets.best()
        top[component], bottom[component] = sets.count[best], sets.size[best]
        open_ = np.zeros(len(top), dtype=np.bool_)
        open_[component] = True
        part = part.only(open_)


def sharpen(sets: ConnectedSets, components: int) -> list[tuple[ConnectedSets, Int64]]:
    """The sets, but of each component instead of its best one the difference with the largest share of the value.

    Dinkelbach's iteration, for all components at once: look for sets above the best share so far until there are none.
    """
    top, bottom = np.zeros(components, dtype=np.int64), np.ones(components, dtype=np.int64)
    turn, best = np.zeros(components, dtype=np.int64), np.full(components, -1, dtype=np.int64)
    found, (at, one) = [sets], sets.best()
    first = one
    while len(at):
        top[at], bottom[at] = found[-1].count[one], found[-1].size[one]
        turn[at], best[at] = len(found) - 1, one
        open_ = np.zeros(components, dtype=np.bool_)
        open_[at] = True
        more = find_obstructions(sets.part.only(open_), sets.value, top, bottom)
        if more is None:
            break
        found.append(more)
        at, one = more.best()
        better = more.count[one] * bottom[at] > top[at] * more.size[one]
        at, one = at[better], one[better]
    others = difference(sets.filled, np.sort(first))
    return [(sets, others), *((its, best[(turn == i) & (best >= 0)]) for i, its in enumerate(found))]
