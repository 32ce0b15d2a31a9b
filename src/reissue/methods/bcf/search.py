"""The BCF-anonymizer's loop: specialize the best candidate that holds, drop one that does not for good.

Sound because everyone's candidates can only become fewer when the release is specialized (theorem 5.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.bcf.candidates import ReleaseChain, all_meet, possible_targets
from reissue.methods.bcf.cracks import GroupedRelease
from reissue.methods.bcf.memory import ChainLog, Records
from reissue.methods.bcf.scores import best_split, gain_of_parts, smallest_part
from reissue.methods.bcf.specialization import (
    Items,
    PastTargets,
    SplitStep,
    apply_split,
    begin,
    past_targets,
    plan_nothing,
    plan_split,
    tentative,
)
from reissue.methods.bcf.specialization_check import weigh
from reissue.model.requirement import Requirement
from reissue.model.requirement_kernels import Limits
from reissue.partition.global_recoding import Cut, Frontier, Ranges, clip_boxes, splittable

Score = Literal["discernibility", "information-gain"]
ExactCheck = Callable[[Int32, Int32], tuple[bool, Int64]]
"""A test of its own for a step: int32[items] class of each item and int32[classes, attributes, 2] boxes in; whether it
holds and the fewest candidates of each arrival out."""


@dataclass(frozen=True, eq=False)
class SpecializationTask:
    """What the release must satisfy: limits and more hold for everyone's candidates, and `check` where it is given.

    arrivals:   positions in the chain at which somebody arrived
    cuts:       of the earlier releases, by position in the chain
    splittable: int64[attributes, 3] where a range may be split (see `recoding.splittable`)
    """

    items: Items
    past: PastTargets
    arrivals: Sequence[int]
    cuts: Sequence[Cut]
    limits: Limits
    more: Limits
    value_count: int
    splittable: Int64
    check: ExactCheck | None = None


class TopDown:
    """The release being made: `fewest` measures the start, `run` specializes it as far as the task allows.

    newcomers: how many records are new in this release
    """

    def __init__(self, task: SpecializationTask, frontiers: Sequence[Frontier], score: Score, newcomers: int) -> None:
        self.task, self.frontiers, self.newcomers, self._by = task, frontiers, newcomers, score
        most = int(task.items.counts.sum()) // max(1, task.limits.k) + 1
        self.state = begin(task.items, task.past, most)
        self.classes, self.steps = 1, 0
        self._open: list[set[int]] = [{0} for _ in frontiers]
        self._gains: dict[tuple[int, int], float] = {}

    def fewest(self) -> tuple[bool, Int64]:
        """Whether the single class of the start holds, and the fewest candidates of each arrival in it."""
        holds, fewest = self._weigh(plan_nothing(self.task.items, self.state, self.task.past), measure=True)
        if self.task.check is not None:
            return self.task.check(np.zeros(len(self.task.items.values), dtype=np.int32), self.boxes())
        return holds, fewest

    def run(self) -> None:
        while any(self._advance(attribute, node) for attribute, node in self._ranking()):
            self.steps += 1

    def _advance(self, attribute: int, node: int) -> bool:
        """Try one candidate, once and for all; scores change only when it is taken."""
        self._open[attribute].remove(node)
        touched = self._touched(attribute, node)
        bounds = self._bounds(attribute, node, touched)
        return bounds is not None and self._specialize(attribute, node, touched, bounds)

    def boxes(self) -> Int32:
        """int32[classes, attributes, 2]: the intervals of the classes' labels, not clipped to the domain."""
        return self._intervals(self.state.node[: self.classes])

    def _intervals(self, nodes: Int32) -> Int32:
        boxes = np.empty((*nodes.shape, 2), dtype=np.int32)
        for a, frontier in enumerate(self.frontiers):
            used, at = np.unique(nodes[:, a], return_inverse=True)
            boxes[:, a] = np.array([frontier.labels.interval(int(node)) for node in used], dtype=np.int32)[at]
        return boxes

    def _touched(self, attribute: int, node: int) -> Int64:
        return np.flatnonzero(self.state.node[: self.classes, attribute] == node).astype(np.int64)

    def _weigh(self, step: SplitStep, measure: bool) -> tuple[bool, Int64]:
        task = self.task
        holds, fewest = weigh(
            task.items, task.past, self.state, step, task.limits, task.more, task.value_count, measure
        )
        return bool(holds), fewest

    def _specialize(self, attribute: int, node: int, touched: Int64, bounds: Int32) -> bool:
        """Take the step if everyone keeps enough candidates."""
        task, labels = self.task, self.frontiers[attribute].labels
        lo, hi = labels.interval(node)
        above = np.array([cut.below(attribute, lo, hi) for cut in task.cuts], dtype=np.bool_)
        # someone who came with release t is told apart by every cut from t on, so the finest of them counts
        finest = np.array([bool(above[t:].any()) for t in task.past.arrivals.tolist()], dtype=np.bool_)
        k = task.limits.k
        if smallest_part(task.items, self.state, touched, attribute, bounds, k) < k:
            return False  # nobody there could keep k candidates
        step = plan_split(task.items, self.state, touched, attribute, bounds, above, finest)
        if not self._weigh(step, measure=False)[0]:
            return False
        if task.check is not None and not self._passes(step, lo, hi):
            return False
        parts = labels.parts(node)
        if not parts and isinstance(labels, Ranges):
            parts = labels.split(node, int(bounds[0]))
        numbers = np.array(parts, dtype=np.int32)
        self.classes = apply_split(task.items, task.past, self.state, step, numbers, self.classes)
        self.frontiers[attribute].replace(node, parts)
        self._open[attribute].update(p for p in parts if isinstance(labels, Ranges) or labels.parts(p))
        return True

    def _passes(self, step: SplitStep, lo: int, hi: int) -> bool:
        """The further test, on the classes as they would be."""
        assert self.task.check is not None
        home, origin, part = tentative(self.state, step, self.classes)
        boxes = self.boxes()[origin]
        made = part >= 0
        ends = np.append(step.bounds[:-1], hi)
        starts = np.concatenate([[lo], step.bounds[:-1] + 1])
        boxes[made, step.attribute, 0] = starts[part[made]]
        boxes[made, step.attribute, 1] = ends[part[made]]
        return self.task.check(home, boxes)[0]

    def _bounds(self, attribute: int, node: int, touched: Int64) -> Int32 | None:
        """int32[parts]: the highest code of each part of a node; None if it cannot be specialized."""
        labels = self.frontiers[attribute].labels
        parts = labels.parts(node)
        if parts:
            return np.array([labels.interval(part)[1] for part in parts], dtype=np.int32)
        if not isinstance(labels, Ranges):
            return None
        allowed = self.task.splittable[attribute]
        at = best_split(self.task.items, self.state, touched, attribute, allowed, self._by != "discernibility")
        return None if at is None else np.array([at, np.iinfo(np.int32).max], dtype=np.int32)

    def _ranking(self) -> Iterator[tuple[int, int]]:
        """Open nodes with records, best first; among equals the first attribute, then the first node."""
        attributes = [a for a, nodes in enumerate(self._open) if nodes]
        nodes = [np.array(sorted(self._open[a]), dtype=np.int64) for a in attributes]
        if not nodes:
            return iter(())
        scores = np.concatenate(
            [self._scores(a, here) * self.frontiers[a].weight for a, here in zip(attributes, nodes, strict=True)]
        )
        owner = np.repeat(attributes, [len(here) for here in nodes])
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > 0]
        return zip(owner[order].tolist(), np.concatenate(nodes)[order].tolist(), strict=True)

    def _scores(self, attribute: int, nodes: Int64) -> Float64:
        """float64[nodes]: the sum of squared sizes of the classes a node is in, or information gained per loss."""
        here, size = self.state.node[: self.classes, attribute], self.state.size[: self.classes]
        if self._by == "discernibility":
            squares = np.bincount(here, size.astype(np.float64) ** 2, minlength=int(nodes.max()) + 1)
            return np.asarray(squares[nodes], dtype=np.float64)
        now = int(size.min())
        return np.array([self._gain_per_loss(attribute, node, now) for node in nodes.tolist()])

    def _gain_per_loss(self, attribute: int, node: int, now: int) -> float:
        """Information gain about the sensitive value, over one plus the fall of the smallest class (Fung et al. 2005).

        The gain is over all records with the node's label, whatever their other labels: it never changes.
        """
        touched = self._touched(attribute, node)
        if len(touched) == 0:
            return 0.0
        bounds = self._bounds(attribute, node, touched)
        if bounds is None:
            return 0.0
        items, state = self.task.items, self.state
        if (attribute, node) not in self._gains:
            gain = gain_of_parts(items, state, touched, attribute, bounds, self.task.value_count)
            self._gains[attribute, node] = gain
        after = min(now, smallest_part(items, state, touched, attribute, bounds))
        return (self._gains[attribute, node] + 1e-12) / (now - after + 1)


def make_task(
    records: Records, log: ChainLog, asked: tuple[Requirement, Requirement], value_count: int, known_limits: Int64
) -> SpecializationTask:
    """The count tables and limits; exact flows check every step where an earlier release was no global cut.

    asked: what everyone's candidates must satisfy; known_limits: as in `Cut.limits`
    """
    codes, values, counts = records.codes, records.values, records.counts
    newest = len(counts) - 1
    chain, total = log.chain(), counts.sum(axis=0)
    after = counts[::-1].cumsum(axis=0)[::-1][1:]
    arrivals = [*chain.arrivals(), *([newest] if counts[newest].any() else [])]
    table = np.bincount(values, total, minlength=value_count).astype(np.int64)
    limits, more = (requirement.limits(table) for requirement in asked)
    cuts = [cut for cut in log.cuts if cut is not None]
    limited = splittable(known_limits, cuts)
    if len(cuts) == newest:
        targets = [possible_targets(chain, t) for t in arrivals if t < newest]
        boxes = [chain.joint_boxes(target) for target in targets]
        items = Items(codes, values, total, np.ascontiguousarray(after))
        past = past_targets(arrivals, targets, boxes, codes.shape[1])
        return SpecializationTask(items, past, arrivals, cuts, limits, more, value_count, limited)
    items = Items(codes, values, total, np.empty((0, len(values)), dtype=np.int64))
    check = _exact_check(items, asked, value_count, chain, arrivals, known_limits)
    size_only, nothing = Requirement(k=asked[0].k).limits(table), Requirement().limits(table)
    return SpecializationTask(
        items, past_targets([0], [], [], codes.shape[1]), arrivals, [], size_only, nothing, value_count, limited, check
    )


def _exact_check(
    items: Items,
    asked: Sequence[Requirement],
    value_count: int,
    chain: ReleaseChain,
    arrivals: list[int],
    known_limits: Int64,
) -> ExactCheck:
    """The attack's own measure of a step, by flows: for chains that were begun with another strategy."""
    table = np.bincount(items.values, items.counts, minlength=value_count).astype(np.int64)
    limits = [requirement.limits(table) for requirement in asked]

    def check(home: Int32, boxes: Int32) -> tuple[bool, Int64]:
        longer = chain.extend(
            GroupedRelease.from_counts(clip_boxes(boxes, known_limits), home, items.values, items.counts)
        )
        everyone = [possible_targets(longer, t, strict=True) for t in arrivals]
        fewest = np.array([int(t.totals.min()) if len(t) else 0 for t in everyone], dtype=np.int64)
        return longer.holds_last() and all(all_meet(t, limits, value_count) for t in everyone), fewest

    return check
