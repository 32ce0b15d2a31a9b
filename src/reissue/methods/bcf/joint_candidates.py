"""The exact number of candidates over three and more releases, by integer programs over joint boxes.

Every record belongs to a kind of person: an arrival, and a class in every release since, with a point in common. How
many records of a value each kind has is unknown; the groups of the releases fix the sums. The most records that one
kind can have is what remains for such a person. Two releases make this a flow; from three on it is an integer program,
small because only kinds connected with the target matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.sets import bipartite_components
from reissue.arrays.types import Int32, Int64
from reissue.methods.bcf.candidates import ReleaseChain, Targets, possible_targets
from reissue.methods.bcf.cracks import GroupedRelease

if TYPE_CHECKING:  # is only needed on request, so that nobody else waits for the import
    from scipy.sparse import csr_array


class Kinds:
    """All kinds of people that the records of one value may be, and the groups that fix their sums.

    arrival: int64[kinds]; classes: int32[kinds, releases] (-1 before the arrival)
    """

    def __init__(self, chain: ReleaseChain, value: int) -> None:
        only = ReleaseChain([_of_value(release, value) for release in chain.releases])
        paths = [possible_targets(only, arrival) for arrival in range(len(chain))]
        self.arrival = np.concatenate([np.full(len(p), p.arrival, dtype=np.int64) for p in paths])
        self.classes = np.concatenate([_pad(p, len(chain)) for p in paths])
        self._sums = np.concatenate([release.counts for release in only.releases])
        self._rows = self._incidence(only)
        group, kind = (end.astype(np.int64) for end in self._rows.nonzero())
        self._of_group, self._of_kind = bipartite_components(group, kind, *self._rows.shape)

    def _incidence(self, only: ReleaseChain) -> csr_array:
        """groups x kinds: which kinds a group's records may be."""
        from scipy.sparse import csr_array

        offset, group, kind = 0, [], []
        for position, release in enumerate(only.releases):
            place = np.full(len(release.boxes) + 1, -1, dtype=np.int64)
            place[release.classes] = np.arange(len(release.classes)) + offset
            here = np.flatnonzero(self.classes[:, position] >= 0)
            group.append(place[self.classes[here, position]])
            kind.append(here)
            offset += len(release.classes)
        ends = np.concatenate(group), np.concatenate(kind)
        return csr_array((np.ones(len(ends[0])), ends), shape=(offset, len(self.arrival)))

    def most(self, kind: int) -> int | None:
        """The most records that can be of this kind, over all histories that explain the releases, if any does."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        groups = np.flatnonzero(self._of_group == self._of_kind[kind])
        kinds = np.flatnonzero(self._of_kind == self._of_kind[kind])
        sums = self._sums[groups].astype(np.float64)
        goal = -(kinds == kind).astype(np.float64)
        fixed = LinearConstraint(self._rows[groups][:, kinds], sums, sums)
        solved = milp(goal, constraints=fixed, integrality=np.ones(len(kinds), dtype=np.int8), bounds=Bounds(0, np.inf))
        return round(-solved.fun) if solved.success else None

    def find(self, arrival: int, path: Int32) -> int:
        """The number of a kind, or -1 if nobody can be of it."""
        same = (self.arrival == arrival) & (self.classes[:, arrival:] == path).all(axis=1)
        return int(same.argmax()) if same.any() else -1


def exact_amounts(chain: ReleaseChain, targets: Targets) -> Targets:
    """The targets with their exact candidates; only amounts that the closed formula leaves positive can shrink."""
    kinds: dict[int, Kinds] = {}
    amounts: Int64 = targets.amounts.copy()
    for row in range(len(targets)):
        for entry in range(targets.start[row], targets.start[row + 1]):
            value = int(targets.values[entry])
            if value not in kinds:
                kinds[value] = Kinds(chain, value)
            kind = kinds[value].find(targets.arrival, targets.classes[row])
            most = kinds[value].most(kind) if kind >= 0 else 0
            amounts[entry] = amounts[entry] if most is None else min(int(amounts[entry]), most)
    return Targets(targets.arrival, targets.classes, targets.start, targets.values, amounts)


def _of_value(release: GroupedRelease, value: int) -> GroupedRelease:
    here = release.values == value
    return GroupedRelease.of(release.boxes, release.classes[here], release.values[here], release.counts[here])


def _pad(paths: Targets, releases: int) -> Int32:
    classes = np.full((len(paths), releases), -1, dtype=np.int32)
    classes[:, paths.arrival :] = paths.classes
    return classes
