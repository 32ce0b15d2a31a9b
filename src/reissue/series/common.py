"""Checking a release whose classes are common to all fragments: on counts, since no process has all of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.core.combinations import Combinations
from reissue.core.distinct import distinct
from reissue.core.domain import Domain, Int32, Int64
from reissue.core.observed import Members, Observed, Release, Words
from reissue.core.sets import union
from reissue.core.snapshot import Facts
from reissue.series.checks import attack_from, broken
from reissue.series.publication import Extent
from reissue.strategies.base import Planner


@dataclass(frozen=True)
class Checked:
    """The release as a whole, found sound. squares: sum of squared class sizes; stopped: the attacks that failed."""

    extent: Extent
    squares: int
    stopped: tuple[str, ...]


def ways_of(releases: Sequence[Facts]) -> tuple[Combinations, Int64]:
    """(the ways of a fragment's people through the releases, int64[ways] the first person who went each). O(rows).

    A way is a value, and a class in each release, -1 where the person was not in it. What outsiders see of all
    releases, and who could be whom, follows from how many people of all fragments went each way.
    """
    people = union(*(facts.subjects for facts in releases))
    values = np.full(len(people), -1, dtype=np.int32)
    columns = []
    for facts in releases:
        if not facts.real.all():
            broken("a row of this strategy stands for nobody")
        at = np.searchsorted(people, facts.subjects)
        if ((values[at] >= 0) & (values[at] != facts.values)).any():
            broken("a sensitive value differs from the one that was published before")
        values[at] = facts.values
        classes = np.full(len(people), -1, dtype=np.int32)
        classes[at] = facts.classes
        columns.append(classes)
    first, home = distinct([values, *columns])
    counts = np.bincount(home, minlength=len(first)).astype(np.int64)
    return Combinations(tuple(column[first] for column in (values, *columns)), counts), people[first]


def counted_releases(boxes: Sequence[Int32], ways: Combinations, people: Int64) -> list[Release]:
    """The releases in counts. All who went the same way are one member: the one of `people`, which ascend.

    boxes: int32[classes, attributes, 2] of each release
    """
    values, *classes = ways.columns
    releases = []
    for number, (its, own) in enumerate(zip(boxes, classes, strict=True), start=1):
        here = np.flatnonzero(own >= 0)
        nothing = np.empty((len(here), 0), dtype=np.int32)
        members = Members(people[here], own[here], nothing, values[here])
        releases.append(Release(number, its, own[here], values[here], members, amounts=ways.counts[here]))
    return releases


def check_common(
    strategy: Planner,
    boxes: Sequence[Int32],
    ways: Combinations,
    domains: tuple[Domain, ...],
    value_count: int,
    words: Words,
) -> Checked:
    """No class is empty, and the attacks that the strategy claims to stop find nobody.

    boxes: int32[classes, attributes, 2] of each release, the new one last; ways: of all fragments, added up
    """
    releases = counted_releases(boxes, ways, np.arange(len(ways)))
    sizes = releases[-1].sizes
    if (sizes == 0).any():
        broken("a class is empty")
    observed = Observed(releases, domains, value_count, words)
    for name in strategy.stops:
        attack = attack_from(name, strategy.thresholds())
        if not getattr(attack, "by_counts", False):
            broken(f"the {name} attack cannot be tried on counts")
        outcome = attack.run(observed, involving=len(releases))
        if outcome.breaches:
            broken(f"the {name} attack would succeed. {outcome.breaches[0].sentence}")
    extent = Extent(int(sizes.sum()), len(sizes), int(sizes.min(initial=0)), int(sizes.max(initial=0)))
    return Checked(extent, int((sizes**2).sum()), tuple(strategy.stops))
