"""BayFrame (Amiri et al. 2019): people share a class only if an attacker with statistics believes alike of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.types import NO_NUMBERS, Float64, Int32, Int64
from reissue.errors import SettingsError
from reissue.methods.beliefs.believing import Believing
from reissue.methods.beliefs.classes import MOST_SUPPRESSED, Divergence, Leftovers
from reissue.methods.beliefs.cycle import Reasoning
from reissue.methods.beliefs.knowledge import Knowledge
from reissue.methods.beliefs.neighbours import gap
from reissue.methods.beliefs.posterior import Estimator
from reissue.model.boxes import hilbert_keys
from reissue.model.domain import Domain
from reissue.model.release import Coded
from reissue.model.requirement import Distance, Gain
from reissue.model.settings import Chance, RowCount


@dataclass(frozen=True, kw_only=True)
class BayFrame(Believing):
    """J-similarity: k rows, beta-likeness (or t-closeness), and prior beliefs at most J bits apart in every class.

    k, J:       rows of a class at least; Jensen-Shannon divergence of its members' (revised) priors at most, in bits
    beta, t:    how far the values of a class may be from the snapshot's (see reissue.model.requirement); one is needed
    ordered:    t along the order of the values: their numbers, or as `value_order` lists them, the lowest first
    steps:      1 or 2: how many observations back an attacker's knowledge of transitions goes
    estimator:  how the attacker reads a class: "bayes", "js-reduce" or "omega"
    cascading:  compromised records enter the "prior" (known before the release) or the "posterior" (known after it)
    leftovers:  "suppress" rows that fit no class, and others drawn at random so that absence reveals nothing
    most_suppressed: the share of the rows that may be suppressed; a release that needs more is refused
    order:      rows along the "hilbert" curve, or by "nearest" point next, as in the paper
    knowledge:  what the attacker knows
    """

    k: RowCount
    J: Divergence
    beta: Gain | None = None
    t: Distance | None = None
    ordered: bool = False
    value_order: tuple[str, ...] = ()
    steps: Literal[1, 2] = 1
    estimator: Estimator = "bayes"
    cascading: Literal["prior", "posterior"] = "prior"
    leftovers: Leftovers = "suppress"
    most_suppressed: Chance = MOST_SUPPRESSED
    order: Literal["hilbert", "nearest"] = "hilbert"
    knowledge: Knowledge = field(default_factory=Knowledge)

    name: ClassVar[str] = "bay-frame"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta is None and self.t is None:
            raise SettingsError("Neither beta nor t is given; a class must be like the table: set beta, for example 5.")
        if self.cascading == "posterior" and self.estimator != "bayes":
            raise SettingsError(f'cascading "posterior" needs the estimator "bayes", not "{self.estimator}".')

    @property
    def asked_beta(self) -> float | None:
        return self.beta

    @property
    def reasoning(self) -> Reasoning:
        return Reasoning(self.estimator, self.steps, self.cascading)

    def line_up(self, snapshot: Coded) -> Int64:
        if self.order == "nearest":
            return order_nearest_next(snapshot.codes, snapshot.domains)
        return super().line_up(snapshot)


BUCKET = 8
"""Rows in a leaf of the tree of boxes, over the Hilbert order, that finds the nearest row left: one that was taken
leaves the tree, and the boxes above it shrink, so that a search never walks through emptied regions."""


def order_nearest_next(codes: Int32, domains: Sequence[Domain]) -> Int64:
    """int64[rows]: the order (Domingo-Ferrer et al.); it starts with the row farthest from the centroid.

    Euclidean distance of the codes in shares of the domains' spans. About O(n log n) on real tables: each step looks at
    the boxes on one path and the few that may hold something nearer; ties go along the Hilbert curve.
    """
    if len(codes) == 0:
        return NO_NUMBERS
    along = np.argsort(hilbert_keys(codes, domains), kind="stable")
    span = np.array([domain.cost_span for domain in domains], dtype=np.float64)
    points = np.ascontiguousarray(codes[along] / span[None, :] if len(domains) else np.zeros((len(codes), 1)))
    away = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    order: Int64 = _order_points(points, int(away.argmax()))
    return along[order]


@njit(cache=True)
def _order_points(points: Float64, first: int) -> Int64:
    n, d = points.shape
    leaves = 1
    while leaves * BUCKET < n:
        leaves *= 2
    low, high = np.full((2 * leaves, d), np.inf), np.full((2 * leaves, d), -np.inf)
    left = np.zeros(2 * leaves, dtype=np.int64)  # rows that are left below each node; leaf i is node leaves + i
    alive = np.ones(n, dtype=np.bool_)
    for leaf in range(leaves):
        _refit_leaf(leaf, leaves, points, alive, low, high, left)
    for node in range(leaves - 1, 0, -1):
        _refit(node, low, high, left)
    order, stack = np.empty(n, dtype=np.int64), np.empty(128, dtype=np.int64)
    here = first
    for step in range(n):
        order[step] = here
        alive[here] = False
        _refit_leaf(here // BUCKET, leaves, points, alive, low, high, left)
        node = (leaves + here // BUCKET) >> 1
        while node > 0:
            _refit(node, low, high, left)
            node >>= 1
        if step + 1 < n:
            here = _find_nearest(points[here], leaves + here // BUCKET, leaves, points, alive, low, high, left, stack)
    return order


@njit(cache=True)
def _refit_leaf(leaf, leaves, points, alive, low, high, left) -> None:  # type: ignore[no-untyped-def]
    node = leaves + leaf
    low[node], high[node], left[node] = np.inf, -np.inf, 0
    for row in range(leaf * BUCKET, min(len(points), (leaf + 1) * BUCKET)):
        if alive[row]:
            left[node] += 1
            for a in range(points.shape[1]):
                low[node, a] = min(low[node, a], points[row, a])
                high[node, a] = max(high[node, a], points[row, a])


@njit(cache=True)
def _refit(node, low, high, left) -> None:  # type: ignore[no-untyped-def]
    one, other = 2 * node, 2 * node + 1
    left[node] = left[one] + left[other]
    for a in range(low.shape[1]):
        low[node, a] = min(low[one, a], low[other, a])
        high[node, a] = max(high[one, a], high[other, a])


@njit(cache=True)
def _find_nearest(point, start, leaves, points, alive, low, high, left, stack) -> int:  # type: ignore[no-untyped-def]
    """The nearest row that is left: from the row's own leaf up, going down only where something nearer may be."""
    best, found = np.inf, -1
    node, top = start, 0
    stack[0], top = start, 1
    while True:
        while top > 0:
            top -= 1
            at = stack[top]
            if left[at] == 0 or gap(point, low[at], high[at]) >= best:
                continue
            if at >= leaves:
                for row in range((at - leaves) * BUCKET, min(len(points), (at - leaves + 1) * BUCKET)):
                    if alive[row]:
                        distance = 0.0
                        for a in range(len(point)):
                            distance += (points[row, a] - point[a]) ** 2
                        if distance < best:
                            best, found = distance, row
            else:
                one, other = 2 * at, 2 * at + 1
                if gap(point, low[one], high[one]) > gap(point, low[other], high[other]):
                    one, other = other, one
                stack[top], stack[top + 1] = other, one
                top += 2
        if node <= 1 or best == 0.0:
            return found
        stack[0], top = node ^ 1, 1
        node >>= 1
