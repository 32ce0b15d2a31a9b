"""Mondrian whose cuts are chosen by quasi-identifiers alone: values may accept or refuse a cut, never choose one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reissue.arrays.types import Int32
from reissue.model.domain import Domain
from reissue.model.release import Coded
from reissue.model.requirement import Requirement
from reissue.partition.mondrian import Partition, mondrian

NUMBER, PAIR = 4.0, 2.0
"""How much more the cut of a number at a round one is worth to classes than another cut, and of two groups into each:
counts are asked for by such ranges and groups, and are exact where classes lie inside."""


def favour_round_cuts(domains: Sequence[Domain]) -> list[float]:
    """By attribute, how much more its round cuts are worth than others."""
    return [NUMBER if domain.numeric else PAIR if domain.hi - domain.lo == 1 else 1.0 for domain in domains]


def cut_blindly(
    snapshot: Coded, values: Int32, requirement: Requirement, rng: np.random.Generator, *, classes: bool
) -> Partition:
    """Cut all rows until no legal cut is left; taken as one class they must meet the requirement.

    values: int32[rows] what the requirement looks at. Numbers are cut at round ones as far as that is possible; to
    classes such cuts are worth more than others. Cuts of equal worth go by the order of their attributes, which is
    drawn from the secret seed.
    O(rows * attributes * log rows).
    """
    order = rng.permutation(len(snapshot.domains))
    counts = np.bincount(values, minlength=snapshot.value_count).astype(np.int64)
    domains = [snapshot.domains[a] for a in order]
    favours = favour_round_cuts(domains) if classes else [1.0] * len(domains)
    found = mondrian(snapshot.codes[:, order], values, domains, requirement.limits(counts), favours=favours)
    return replace(found, boxes=found.boxes[:, np.argsort(order)])
