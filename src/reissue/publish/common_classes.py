"""Checking a release whose classes are common to all fragments: on counts, since no process has all of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.combinations import Combinations
from reissue.arrays.types import Int32
from reissue.errors import refuse_release
from reissue.history.public_files import Extent
from reissue.methods.attack import WorkDivision
from reissue.methods.registry import attack_from
from reissue.methods.strategy import Planner
from reissue.model.domain import Domain
from reissue.model.observed import Observed, Words
from reissue.model.paths import make_counted_releases
from reissue.publish.self_check import check_again


@dataclass(frozen=True)
class Checked:
    """The release as a whole, found sound. squares: sum of squared class sizes; stopped: the attacks that failed."""

    extent: Extent
    squares: int
    stopped: tuple[str, ...]


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
    releases = make_counted_releases(boxes, ways, np.arange(len(ways)))
    sizes = releases[-1].sizes
    if (sizes == 0).any():
        refuse_release("a class is empty")
    observed = Observed(releases, domains, value_count, words)
    for name in strategy.stops:
        attack = attack_from(name, strategy.thresholds())
        if not attack.divides(WorkDivision.COUNTS):
            refuse_release(f"the {name} attack cannot be tried on counts")
        outcome = attack.run(observed, involving=len(releases))
        if outcome.breaches:
            refuse_release(f"the {name} attack would succeed. {outcome.breaches[0].sentence}")
    check_again(strategy, observed, len(releases))
    extent = Extent(int(sizes.sum()), len(sizes), int(sizes.min(initial=0)), int(sizes.max(initial=0)))
    return Checked(extent, int((sizes**2).sum()), tuple(strategy.stops))
