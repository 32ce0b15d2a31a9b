"""Levels for a table in fragments: the best node that every fragment can publish, found with few questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product

import numpy as np
import pytest

from reissue.arrays.types import Bool, Int32
from reissue.coding import MISSING_CODE
from reissue.model.boxes import losses
from reissue.model.domain import Domain
from reissue.model.fragment_counts import Said
from reissue.model.requirement import Requirement
from reissue.model.requirement_check import violations
from reissue.partition.common_levels import choosing, packed, unpacked
from reissue.partition.incognito import Metric
from reissue.partition.lattice import Node, climb, extent_of, extents_together, ladder_of, ladders_of, minimal, shape_of
from reissue.partition.level_answers import LevelAnswers, at_levels, extents_said
from tests.partition.test_incognito import REQUIREMENTS, domains

METRICS: list[Metric] = ["loss", "discernibility", "classes", "height"]


def decided(
    said: Sequence[Said], fragments: Sequence[Callable[[Said], Said]], metric: Metric, beside: bool
) -> tuple[Said, int]:
    """What is chosen, and by how many questions."""
    conversation = choosing(said, metric, beside)
    question, count = next(conversation), 1
    while True:
        try:
            question = conversation.send([answer(question) for answer in fragments])
        except StopIteration as end:
            return end.value, count
        count += 1


def parts(rng: np.random.Generator, rows: int, count: int) -> list[Int32]:
    """A few fragments with rows of their own, some of them far apart."""
    home = rng.integers(0, count, rows) if rng.random() < 0.5 else np.arange(rows) * count // rows
    return [np.flatnonzero(home == fragment) for fragment in range(count)]


def some_rows(rng: np.random.Generator, made: Sequence[Domain], rows: int) -> Int32:
    """Codes in the lower part of their domains, now and then missing ones, the first attribute ascending."""
    columns = []
    for domain in made:
        high = min(domain.hi, domain.lo + int(rng.integers(1, 12)))
        column = rng.integers(domain.lo, high + 1, rows)
        if domain.tree is None and domain.lo > MISSING_CODE and rng.random() < 0.3:
            column[rng.random(rows) < 0.2] = MISSING_CODE
        columns.append(column)
    columns[0].sort()
    return np.stack(columns, axis=1).astype(np.int32, order="F")


def test_fragments_that_know_the_extents_have_the_levels_of_the_whole_table() -> None:
    rng = np.random.default_rng(1)
    differing = 0
    for _ in range(150):
        made = domains(rng)
        codes = some_rows(rng, made, int(rng.integers(4, 30)))
        fragments = [rows for rows in parts(rng, len(codes), int(rng.integers(1, 4))) if len(rows)]
        extents = extents_together([extents_said(codes[rows], made)["extents"] for rows in fragments])
        for a, domain in enumerate(made):
            np.testing.assert_array_equal(extents[a], extent_of(domain, codes[:, a]))
            whole = ladder_of(domain, codes[:, a])
            for rows in fragments:
                own = ladder_of(domain, codes[rows, a], extents[a])
                assert own.height == whole.height
                for level in range(own.height + 1):
                    mine, all_of_them = codes[rows, a], whole.boxes[level][whole.of(codes[rows, a], level)]
                    np.testing.assert_array_equal(own.boxes[level][own.of(mine, level)], all_of_them)
                differing += ladder_of(domain, codes[rows, a]).height != whole.height
    assert differing > 25, "by themselves the fragments would have had the same levels: nothing was tested"


def test_the_extent_of_nothing_adds_nothing() -> None:
    domain = Domain("age", 3, 9)
    nothing, some = extent_of(domain, np.zeros(0, dtype=np.int32)), extent_of(domain, np.array([5, 2], dtype=np.int32))
    assert extents_together([nothing[None], some[None]]).tolist() == [[2, 5, 5]]


@pytest.mark.parametrize("metric", METRICS)
def test_the_best_node_that_every_fragment_can_publish(metric: Metric) -> None:
    """Against trying every node of the whole table's lattice in every fragment."""
    rng = np.random.default_rng(METRICS.index(metric))
    compromises = 0
    for case in range(35):
        made, requirement = domains(rng), REQUIREMENTS[case % len(REQUIREMENTS)]
        codes = some_rows(rng, made, int(rng.integers(20, 50)))
        values = rng.integers(0, 4, len(codes)).astype(np.int32)
        table = np.bincount(values, minlength=4)
        fragments = parts(rng, len(codes), int(rng.integers(1, 4)))
        whole = _every_node(codes, values, made, fragments, requirement, metric)
        top = max(whole)
        if not whole[top][0]:
            continue  # some fragment, taken as one class, does not meet the requirement
        best = min((cost, sum(node), node) for node, (holds, cost, _) in whole.items() if holds)[2]
        asked = [LevelAnswers(codes[r], values[r], made, requirement.limits(table), metric) for r in fragments]
        chosen, questions = decided([extents_said(codes[r], made) for r in fragments], asked, metric, beside=False)
        assert tuple(chosen["levels"].tolist()) == best
        assert questions <= 2
        for rows in fragments:
            partition, node = at_levels(chosen, codes[rows], made)
            assert node == best
            np.testing.assert_array_equal(partition.boxes[partition.classes], whole[best][2][rows])
        compromises += best != top
    assert compromises > 10


def _every_node(
    codes: Int32, values: Int32, made: Sequence[Domain], fragments: Sequence[Int32], asked: Requirement, metric: Metric
) -> dict[Node, tuple[bool, float, Int32]]:
    """By node: whether all classes of all fragments meet the requirement, what it costs, and the boxes of all rows."""
    ladders = ladders_of(made, codes)
    share = np.bincount(values, minlength=4) / len(values)
    found = {}
    for node in product(*map(range, shape_of(ladders))):
        boxes = np.stack(
            [
                ladder.boxes[level][ladder.of(codes[:, a], level)]
                for a, (ladder, level) in enumerate(zip(ladders, node, strict=True))
            ],
            axis=1,
        )
        holds, cost = True, float(losses(boxes, made).sum()) if metric == "loss" else 0.0
        for rows in fragments:
            _, classes = np.unique(boxes[rows].reshape(len(rows), -1), axis=0, return_inverse=True)
            classes = classes.reshape(-1).astype(np.int32)
            holds &= len(rows) > 0 and not list(violations(asked, classes, values[rows], 4, share))
            sizes = np.bincount(classes)
            cost += {"discernibility": float((sizes**2).sum()), "classes": -float(len(sizes))}.get(metric, 0.0)
        found[node] = (holds, round(cost, 9), boxes)
    return found


class Fragment:
    """Answers as one would that has these sets of nodes, and counts what it is asked."""

    def __init__(self, admissible: Bool, safe: Bool, lost: Sequence[float]) -> None:
        self.admissible, self.safe, self.lost = admissible, safe, np.array(lost)
        self.tried: set[Node] = set()

    def __call__(self, question: Said) -> Said:
        if "nodes" not in question:
            return {**packed(self.admissible), "lost": self.lost}
        nodes = [tuple(node) for node in question["nodes"].tolist()]
        if "start" not in question:
            return {"costs": np.array([float(sum(level**2 for level in node)) for node in nodes])}
        return {"lowest": np.array([self._lowest(nodes[i:j]) for i, j in pairwise(question["start"].tolist())])}

    def _lowest(self, path: list[Node]) -> int:
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            self.tried.add(path[middle])
            low, high = (low, middle) if self.safe[path[middle]] else (middle + 1, high)
        return low


def _upwards(rng: np.random.Generator, shape: tuple[int, ...], height: float) -> Bool:
    """A random set of nodes with all above them; the top is in it."""
    nodes = np.zeros(shape, dtype=np.bool_)
    nodes[tuple(size - 1 for size in shape)] = True
    for _ in range(int(rng.integers(1, 5))):
        nodes[tuple(slice(int(rng.binomial(size - 1, height)), None) for size in shape)] = True
    return nodes


def _asked(rng: np.random.Generator, monotone: bool) -> tuple[list[Fragment], list[Said]]:
    shape = tuple(int(size) for size in rng.integers(1, 8, int(rng.integers(1, 5))))
    fragments = []
    for _ in range(int(rng.integers(1, 4))):
        safe = _upwards(rng, shape, 0.6)
        if not monotone:
            safe ^= rng.random(shape) < 0.1
            safe[tuple(size - 1 for size in shape)] = True
        lost = np.concatenate([np.cumsum(rng.integers(0, 3, size)) for size in shape])
        fragments.append(Fragment(_upwards(rng, shape, 0.3), safe, lost.astype(np.float64)))
    return fragments, [{"extents": np.zeros((len(shape), 3), dtype=np.int64)}] * len(fragments)


def _cost(fragments: Sequence[Fragment], node: Node, metric: Metric) -> float:
    if metric != "loss":
        return 0.0 if metric == "height" else float(len(fragments) * sum(level**2 for level in node))
    lost = np.split(sum(one.lost for one in fragments), np.cumsum(fragments[0].safe.shape)[:-1])
    return float(sum(lost[a][level] for a, level in enumerate(node)))


@pytest.mark.parametrize("metric", METRICS)
def test_the_best_node_that_is_safe_for_all(metric: Metric) -> None:
    """Every fragment tries hardly more nodes than an undivided table of the same kind would, in a few questions."""
    rng = np.random.default_rng(10 + METRICS.index(metric))
    climbed = alone = tried = asked = 0
    for _ in range(150):
        fragments, said = _asked(rng, monotone=True)
        chosen, questions = decided(said, fragments, metric, beside=True)
        best, tries = _undivided(fragments, metric)
        assert tuple(chosen["levels"].tolist()) == best
        assert all(best in one.tried for one in fragments), "every fragment has tried it itself"
        climbed += questions > 3
        alone, tried, asked = alone + tries, tried + max(len(one.tried) for one in fragments), asked + questions
    assert climbed > 25, "the first choice was nearly always safe: nothing was tested"
    assert tried < 1.3 * alone
    assert asked < 150 * 12


def _undivided(fragments: Sequence[Fragment], metric: Metric) -> tuple[Node, int]:
    """The best node of all, and how many checked Incognito would try of a table that holds and is safe so."""
    admissible = np.logical_and.reduce([one.admissible for one in fragments])
    safe = np.logical_and.reduce([one.safe for one in fragments])

    def rank(node: Node) -> tuple[float, int, Node]:
        return _cost(fragments, node, metric), sum(node), node

    best = min((tuple(node) for node in np.argwhere(admissible & safe).tolist()), key=rank)
    tried = {min(minimal(admissible), key=rank)}
    if best not in tried:
        bound = [tuple(size - 1 for size in safe.shape)]
        tried |= {*bound}

        def settled(node: Node) -> bool:
            if rank(node) < rank(bound[0]):
                tried.add(node)
                bound[0] = node if safe[node] else bound[0]
            return rank(node) >= rank(bound[0])

        climb(admissible, settled)
        assert bound == [best]
    return best, len(tried)


def test_what_is_chosen_is_safe_even_if_safety_is_not_monotone() -> None:
    """What is merely inferred from a node below is never chosen."""
    rng = np.random.default_rng(20)
    odd = 0
    for case in range(300):
        fragments, said = _asked(rng, monotone=False)
        chosen, _ = decided(said, fragments, METRICS[case % 4], beside=True)
        node = tuple(chosen["levels"].tolist())
        assert all(one.safe[node] and one.admissible[node] and node in one.tried for one in fragments)
        odd += any(len(np.argwhere(~one.safe[tuple(slice(level, None) for level in node)])) for one in fragments)
    assert odd > 25


def test_sets_of_nodes_are_sent_as_bits() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        nodes = _upwards(rng, tuple(int(size) for size in rng.integers(1, 7, int(rng.integers(1, 5)))), 0.5)
        np.testing.assert_array_equal(unpacked(packed(nodes)), nodes)
    assert packed(_upwards(rng, (8,) * 8, 0.5))["nodes"].nbytes < 100_000, "the largest lattice that is searched"
