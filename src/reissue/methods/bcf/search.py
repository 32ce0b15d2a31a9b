"""The BCF-anonymizer's loop: specialize the best candidate that holds, drop one that leaves someone too few for good.

Sound because everyone's candidates can only become fewer when the release is specialized (theorem 5.1). How diverse
their values are may become better again: a candidate that fails by that alone is put off, and tried once more after
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.methods.bcf.candidates import ReleaseChain, all_meet, possible_targets
from reissue.methods.bcf.memory import ChainLog, Records
from reissue.methods.bcf.scores import best_split, gain_of_parts, smallest_part
from reissue.methods.bcf.specialization import (
    Items,
    PastTargets,
    SplitStep,
    apply_split,
    begin,
    homes,
    past_targets,
    plan_nothing,
    plan_split,
    tentative,
)
from reissue.methods.bcf.specialization_check import weigh
from reissue.model.overlap import GroupedRelease
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

    sizes:      (k alone, nothing): what never holds again once it does not
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
    sizes: tuple[Limits, Limits]
    value_count: int
    splittable: Int64
    check: ExactCheck | None = None

    @property
    def diverse(self) -> bool:
        """Whether more is asked than k."""
        return self.limits.by_value or self.more.by_value


@dataclass(frozen=True)
class SearchRules:
    """How far a search may go.

    nested: only steps after which every class contains, or is in, or is apart from every class of earlier releases
    banned: steps not to be taken, as in `TopDown.taken`; most: how many steps at most
    """

    nested: bool = False
    banned: frozenset[TakenStep] = frozenset()
    most: int | None = None


TakenStep = tuple[int, int, int]
"""(attribute, lowest, highest code of the label that was specialized)."""


class TopDown:
    """The release being made: `fewest` measures the start, `run` specializes it as far as task and rules allow.

    newcomers: how many records are new in this release
    taken:     the steps so far; begun: how many of them were needed to make values diverse at all
    """

    def __init__(
        self,
        task: SpecializationTask,
        frontiers: Sequence[Frontier],
        score: Score,
        newcomers: int,
        rules: SearchRules,
    ) -> None:
        self.task, self.frontiers, self.newcomers, self._by, self._rules = task, frontiers, newcomers, score, rules
        most = int(task.items.counts.sum()) // max(1, task.limits.k) + 1
        self.state = begin(task.items, task.past, most)
        self.classes, self.begun = 1, 0
        self.taken: list[TakenStep] = []
        self._open: list[set[int]] = [{0} for _ in frontiers]
        self._put_off: list[tuple[int, int]] = []
        self._by_size, self._tried_again = False, -1
        self._gains: dict[tuple[int, int], float] = {}

    def fewest(self) -> tuple[bool, Int64]:
        """Whether the single class of the start holds, and the fewest candidates of each arrival in it."""
        if self.task.check is not None:
            return self.task.check(self.homes(), self.boxes())
        return self._weigh(plan_nothing(self.task.items, self.state, self.task.past, self.classes), measure=True)

    def reach_diversity(self) -> bool:
        """Specialize by k alone until the values of everyone's candidates are diverse enough; whether they ever are."""
        self._by_size = True
        while not self.fewest()[0]:
            if not self._advance_best():
                return False
        self._by_size, self.begun = False, len(self.taken)
        return True

    def run(self) -> None:
        while self._advance_best():
            pass

    def _advance_best(self) -> bool:
        """Take the best step that holds; what was put off is tried again once nothing else is left."""
        if self._rules.most is not None and len(self.taken) >= self._rules.most:
            return False
        while not any(self._advance(attribute, node) for attribute, node in self._ranking()):
            if not self._put_off or self._tried_again == len(self.taken):
                return False
            self._tried_again = len(self.taken)
            for attribute, node in self._put_off:
                self._open[attribute].add(node)
            self._put_off.clear()
        return True

    def _advance(self, attribute: int, node: int) -> bool:
        """Try one candidate; scores change only when it is taken."""
        self._open[attribute].remove(node)
        touched = self._touched(attribute, node)
        bounds = self._bounds(attribute, node, touched)
        step = (attribute, *self.frontiers[attribute].labels.interval(node))
        if bounds is None or step in self._rules.banned or not self._specialize(attribute, node, touched, bounds):
            return False
        self.taken.append(step)
        return True

    def homes(self) -> Int32:
        """int32[items]: the class of each item."""
        return homes(self.state.order, self.state.begin, self.state.end, self.classes)

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

    def _weigh(self, step: SplitStep, *, by_size: bool = False, measure: bool = False) -> tuple[bool, Int64]:
        task = self.task
        limits, more = task.sizes if by_size else (task.limits, task.more)
        holds, fewest = weigh(task.items, task.past, self.state, step, limits, more, task.value_count, measure)
        return bool(holds), fewest

    def _specialize(self, attribute: int, node: int, touched: Int64, bounds: Int32) -> bool:
        """Take the step if everyone keeps enough candidates; put it off if it may hold later."""
        task, labels = self.task, self.frontiers[attribute].labels
        lo, hi = labels.interval(node)
        above = np.array([cut.below(attribute, lo, hi) for cut in task.cuts], dtype=np.bool_)
        # someone who came with release t is told apart by every cut from t on, so the finest of them counts
        finest = np.array([bool(above[t:].any()) for t in task.past.arrivals.tolist()], dtype=np.bool_)
        k = task.limits.k
        if smallest_part(task.items, self.state, touched, attribute, bounds, k) < k:
            return False  # nobody there could keep k candidates
        if self._rules.nested and self._would_cross(attribute, touched, above):
            self._put_off.append((attribute, node))  # until the other attributes are as fine as in earlier releases
            return False
        step = plan_split(task.items, self.state, touched, attribute, bounds, above, finest)
        holds, later = self._judge(step, lo, hi)
        if not holds:
            self._put_off += [(attribute, node)] if later else []
            return False
        parts = labels.parts(node)
        if not parts and isinstance(labels, Ranges):
            parts = labels.split(node, int(bounds[0]))
        numbers = np.array(parts, dtype=np.int32)
        self.classes = apply_split(task.items, task.past, self.state, step, numbers, self.classes)
        self.frontiers[attribute].replace(node, parts)
        self._open[attribute].update(p for p in parts if isinstance(labels, Ranges) or labels.parts(p))
        return True

    def _would_cross(self, attribute: int, touched: Int64, above: Bool) -> bool:
        """Whether a class would be narrower than those of an earlier release here, and wider in another attribute."""
        coarse = [cut for cut, finer in zip(self.task.cuts, above.tolist(), strict=True) if not finer]
        for other in range(len(self.frontiers) if coarse else 0):
            if other != attribute:
                nodes = np.unique(self.state.node[touched, other]).tolist()
                spans = [self.frontiers[other].labels.interval(node) for node in nodes]
                if any(cut.below(other, *span) for cut in coarse for span in spans):
                    return True
        return False

    def _judge(self, step: SplitStep, lo: int, hi: int) -> tuple[bool, bool]:
        """(whether everyone keeps what is asked, whether at least k; asked is no more while `_by_size`)."""
        task = self.task
        holds = self._weigh(step, by_size=self._by_size)[0]
        if not holds:
            return False, task.diverse and self._weigh(step, by_size=True)[0]
        if task.check is None:
            return True, True
        holds, fewest = task.check(*self._tentative(step, lo, hi))
        enough = int(fewest.min(initial=task.limits.k)) >= task.limits.k
        return holds or (self._by_size and enough), enough

    def _tentative(self, step: SplitStep, lo: int, hi: int) -> tuple[Int32, Int32]:
        """The class of each item and the boxes of the classes as they would be."""
        home, origin, part = tentative(self.state, step, self.classes)
        boxes = self.boxes()[origin]
        made = part >= 0
        ends = np.append(step.bounds[:-1], hi)
        starts = np.concatenate([[lo], step.bounds[:-1] + 1])
        boxes[made, step.attribute, 0] = starts[part[made]]
        boxes[made, step.attribute, 1] = ends[part[made]]
        return home, boxes

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
    sizes = Requirement(k=asked[0].k).limits(table), Requirement().limits(table)
    cuts = [cut for cut in log.cuts if cut is not None]
    limited = splittable(known_limits, cuts)
    if len(cuts) == newest:
        targets = [possible_targets(chain, t) for t in arrivals if t < newest]
        boxes = [chain.joint_boxes(target) for target in targets]
        items = Items(codes, values, total, np.ascontiguousarray(after))
        past = past_targets(arrivals, targets, boxes, codes.shape[1])
        return SpecializationTask(items, past, arrivals, cuts, limits, more, sizes, value_count, limited)
    items = Items(codes, values, total, np.empty((0, len(values)), dtype=np.int64))
    check = _exact_check(items, asked, value_count, chain, arrivals, known_limits)
    past = past_targets([0], [], [], codes.shape[1])
    return SpecializationTask(items, past, arrivals, [], *sizes, sizes, value_count, limited, check)


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
