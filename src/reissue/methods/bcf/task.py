"""What the next release of a chain must satisfy, in the form in which `topdown` works on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.methods.bcf.candidates import ReleaseChain, all_meet, possible_targets
from reissue.methods.bcf.cracks import GroupedRelease
from reissue.methods.bcf.memory import ChainLog
from reissue.methods.bcf.records import Records
from reissue.methods.bcf.search import ExactCheck, SpecializationTask
from reissue.methods.bcf.specialization import Items, past_targets
from reissue.model.requirement import Requirement
from reissue.partition.global_recoding import clipped, splittable


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
        longer = chain.extended(GroupedRelease.counted(clipped(boxes, known_limits), home, items.values, items.counts))
        everyone = [possible_targets(longer, t, strict=True) for t in arrivals]
        fewest = np.array([int(t.totals.min()) if len(t) else 0 for t in everyone], dtype=np.int64)
        return longer.holds_last() and all(all_meet(t, limits, value_count) for t in everyone), fewest

    return check
