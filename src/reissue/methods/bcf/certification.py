"""Whether a release leaves everyone enough candidates in truth, where the formula that the search plans with may err.

The search weighs its steps by the formula of `candidates`, which says too much where classes of three and more
releases cross (`crossing`). What it made is therefore counted again by integer programs. Where that fails, the step
with which it began to fail is not taken; where the programs would be too much work, only steps are taken after which
the classes nest with those of all earlier releases: there the formula is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.types import Int32
from reissue.methods.bcf.candidates import ReleaseChain, all_meet, possible_targets
from reissue.methods.bcf.joint_candidates import JointCandidates, Work
from reissue.methods.bcf.search import SearchRules, TopDown
from reissue.model.overlap import GroupedRelease
from reissue.model.requirement import Requirement

CROSSINGS = 1_000
"""Pairs of classes of the first two releases that may cross; with more, later releases could not be certified."""
SECONDS = 5.0
"""Work on programs for one release, counted: see `Work`."""
DETOURS = 50
"""How many ways are tried to reach values that are diverse enough, where the most general release has them not."""


@dataclass(frozen=True, eq=False)
class Certifier:
    """chain: the releases before; asked: what everyone's candidates must satisfy; clip: see `clip_boxes`."""

    chain: ReleaseChain
    asked: Sequence[Requirement]
    value_count: int
    clip: Callable[[Int32], Int32]
    work: Work

    def judge(self, search: TopDown) -> bool | None:
        """Whether the release as searched keeps what is asked; None if it would be too much work to know."""
        items = search.task.items
        boxes = self.clip(search.boxes())
        chain = self.chain.extend(GroupedRelease.from_counts(boxes, search.homes(), items.values, items.counts))
        if len(chain) == 2:  # exact; beside a release that is no cut nothing nests, whatever is taken
            return True if not search.task.cuts or chain.pair(0, 1).count_crossings() <= CROSSINGS else None
        joint = JointCandidates(chain, self.work)
        if not joint.crossing:
            return True
        table = np.bincount(items.values, items.counts, minlength=self.value_count).astype(np.int64)
        limits = [requirement.limits(table) for requirement in self.asked]
        diverse, known = any(limit.by_value for limit in limits), True
        for arrival in chain.arrivals():
            targets = joint.settle(possible_targets(chain, arrival), None if diverse else self.asked[0].k)
            assert targets.least is not None
            sure = ~targets.loose if diverse else (targets.least >= self.asked[0].k) | ~targets.loose
            there = targets.totals > 0  # where nothing is left nobody can be
            if not all_meet(targets.keep(np.flatnonzero(sure & there)), limits, self.value_count):
                return False
            known = known and bool(sure[there].all())
        return True if known else None


def specialize_certified(start: Callable[[SearchRules], TopDown], certifier: Certifier) -> TopDown | None:
    """The best release that is certified; None if even the most general one fails.

    start: makes a search and runs it by the rules
    """
    rules = SearchRules()
    search = start(rules)
    verdict = certifier.judge(search)
    if verdict is None and search.task.cuts:
        nested = start(SearchRules(nested=True))
        if certifier.judge(nested):
            return nested
    while not verdict:
        certified, failed = search.begun, len(search.taken)
        while failed - certified > 1:  # fewer steps leave more candidates
            middle = (certified + failed) // 2
            if certifier.judge(start(replace(rules, most=middle))):
                certified = middle
            else:
                failed = middle
        if certified == search.begun and certifier.judge(start(replace(rules, most=certified))) is False:
            return None
        if certifier.work.left <= 0 or failed <= certified:
            return start(replace(rules, most=certified))
        rules = replace(rules, banned=rules.banned | {search.taken[failed - 1]})
        search = start(rules)
        verdict = certifier.judge(search)
    return search


def reach_diversity(make: Callable[[SearchRules], TopDown], rules: SearchRules) -> TopDown | None:
    """A search that has specialized until the values of everyone's candidates are diverse enough; None: none found.

    Each way is gone by the best steps. Where it leads nowhere, one of its steps is not taken in the next: first all
    ways without one step, then those without two, and so on.
    """
    ways, at = [rules.banned], 0
    while at < min(len(ways), DETOURS):
        search = make(replace(rules, banned=ways[at]))
        if search.reach_diversity():
            return search
        ways += [way for step in search.taken if (way := ways[at] | {step}) not in ways]
        at += 1
    return None
