"""A series whose possible worlds are settled, by path: what is certain of the people of each, and what remains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.arrays.sets import sorted_unique
from reissue.arrays.types import Bool, Float64, Int64
from reissue.methods.worlds.solver import Settled
from reissue.methods.worlds.worlds import Paths, Worlds
from reissue.model.observed import ObservedRelease
from reissue.model.requirement import as_fraction


@dataclass(frozen=True, eq=False)
class SettledSeries:
    """A settled series, by path."""

    releases: list[ObservedRelease]
    paths: Paths
    worlds: Worlds
    settled: Settled

    @property
    def order(self) -> Int64:
        return np.arange(len(self.paths.size), dtype=np.int64)

    @property
    def _asked(self) -> Bool:
        """bool[paths]: paths of people whose value the attacker does not know beforehand."""
        return np.asarray((self.order < self.paths.people) & (self.paths.known < 0), dtype=np.bool_)

    @cached_property
    def _first(self) -> Int64:
        """int64[paths of people]: the first subject of each."""
        return self.paths.subjects[np.unique(self.paths.of, return_index=True)[1]]

    @cached_property
    def share(self) -> Float64:
        """float64[paths]: the largest share of one value that is certain."""
        top = np.zeros(len(self.paths.size))
        np.maximum.at(top, self.worlds.path, self.settled.least / self.paths.size[self.worlds.path])
        return top

    @cached_property
    def possible(self) -> Int64:
        """int64[paths]: how many values remain."""
        return np.bincount(self.worlds.path, self.settled.most > 0, len(self.paths.size)).astype(np.int64)

    def broken(self, c: float, m: int) -> Bool:
        limit = as_fraction(c)
        size = self.paths.size[self.worlds.path]
        over = (self.settled.least * limit.denominator > size * limit.numerator) | (self.settled.least == size)
        any_over = np.bincount(self.worlds.path, over, len(self.paths.size)) > 0
        return np.asarray(self._asked & (any_over | (self.possible < m)), dtype=np.bool_)

    def ruled_out(self) -> Bool:
        """bool[paths]: some value that all its classes show is in no world."""
        never = np.bincount(self.worlds.path, self.settled.most == 0, len(self.paths.size)) > 0
        return np.asarray(self._asked & never, dtype=np.bool_)

    def worst(self, chosen: Bool, limit: int) -> Int64:
        """The worst of the chosen paths: the surest first, then those with the fewest values left."""
        which = np.flatnonzero(chosen)
        rank = np.lexsort((self._first[which], self.possible[which], -self.share[which]))
        return which[rank[: max(limit, 0)]]

    def subjects(self, chosen: Bool) -> Int64:
        return self.paths.subjects[chosen[self.paths.of]]

    def about(self, path: int) -> tuple[Int64, tuple[tuple[int, int], ...], Int64]:
        """(subjects, (release, class) pairs, entries) of one path."""
        way = self.paths.classes[path]
        classes = tuple((r.number, r.called(c)) for r, c in zip(self.releases, way, strict=True) if c >= 0)
        first, last = np.searchsorted(self.worlds.path, [path, path + 1])
        return self.paths.subjects[self.paths.of == path], classes, np.arange(first, last)

    def measures(self, at_risk: int) -> dict[str, float]:
        asked = self._asked
        share, possible = self.share[asked], self.possible[asked]
        sure = share >= 1.0
        single = np.bincount(self.worlds.path, minlength=len(self.paths.size))[asked] == 1
        size = self.paths.size[asked]
        return {
            "paths": float(asked.sum()),
            "highest_certain_share": float(share.max(initial=0.0)),
            "fewest_possible_values": float(possible.min()) if len(possible) else 0.0,
            "subjects_at_risk": float(at_risk),
            "certain_subjects": float(size[sure].sum()),
            "certain_only_jointly": float(size[sure & ~single].sum()),
            "values_ruled_out_jointly": float((self.settled.most == 0)[asked[self.worlds.path]].sum()),
            "components": float(self.settled.components),
            "paths_left_out": float(len(self._people_of(~self.settled.looked))),
            "paths_undecided": float(len(self._people_of(self.settled.looked & ~self.settled.whole))),
        }

    def _people_of(self, entries: Bool) -> Int64:
        """int64[]: the paths of people with one of these entries."""
        paths = sorted_unique(self.worlds.path[entries])
        return np.asarray(paths[paths < self.paths.people], dtype=np.int64)

    @cached_property
    def tallies(self) -> dict[str, int]:
        """Rows of nobody known, people whom the time did not reach, people for whom it reached in part."""
        left, open_ = self._people_of(~self.settled.looked), self._people_of(self.settled.looked & ~self.settled.whole)
        size = self.paths.size
        return {
            "nobody": int(size[self.paths.people :].sum()),
            "left_out": int(size[left].sum()),
            "undecided": int(size[open_].sum()),
        }
