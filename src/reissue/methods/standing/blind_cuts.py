"""Mondrian whose cuts are chosen by quasi-identifiers alone: values may accept or refuse a cut, never choose one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.arrays.types import Int32
from reissue.model.release import Coded
from reissue.model.requirement import Requirement
from reissue.partition.mondrian import Partition, mondrian


def cut_blindly(snapshot: Coded, values: Int32, requirement: Requirement, rng: np.random.Generator) -> Partition:
    """Cut all rows until no legal cut is left; taken as one class they must meet the requirement.

    values: int32[rows] what the requirement looks at. Cuts of equal worth go by the order of their attributes, which is
    drawn from the secret seed.
    O(rows * attributes * log rows).
    """
    order = rng.permutation(len(snapshot.domains))
    counts = np.bincount(values, minlength=snapshot.value_count).astype(np.int64)
    domains = [snapshot.domains[a] for a in order]
    found = mondrian(snapshot.codes[:, order], values, domains, requirement.limits(counts))
    return replace(found, boxes=found.boxes[:, np.argsort(order)])
