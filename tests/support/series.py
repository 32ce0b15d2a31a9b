"""Tiny random cumulative series, as groups: global cuts of taxonomies, or any boxes."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Int32
from reissue.methods.bcf.candidates import ReleaseChain
from reissue.model.domain import Tree
from reissue.model.overlap import GroupedRelease
from tests.support.generators import released
from tests.support.histories import uniform_tree


def random_cut(rng: np.random.Generator, tree: Tree, chance: float = 0.6) -> Int32:
    """int32[leaves]: the node of each leaf in a random cut."""
    cut = np.zeros(tree.leaves, dtype=np.int32)
    start, child = tree.children
    todo = [0]
    while todo:
        node = todo.pop()
        kids = child[start[node] : start[node + 1]]
        if len(kids) and rng.random() < chance:
            for kid in kids.tolist():
                cut[tree.lo[kid] : tree.hi[kid] + 1] = kid
                todo.append(kid)
    return cut


def recode(codes: Int32, values: Int32, trees: list[Tree], cuts: list[Int32]) -> GroupedRelease:
    """The release that generalizes every attribute to its cut."""
    nodes = np.stack([cut[codes[:, a]] for a, cut in enumerate(cuts)], axis=1)
    labels, classes = np.unique(nodes, axis=0, return_inverse=True)
    boxes = np.stack([np.stack([t.lo[labels[:, a]], t.hi[labels[:, a]]], axis=1) for a, t in enumerate(trees)], axis=1)
    return released(codes, values, boxes, classes.reshape(-1).astype(np.int32))


def _people(rng: np.random.Generator, trees: list[Tree], values: int, people: int) -> tuple[Int32, Int32]:
    codes = np.stack([rng.integers(0, tree.leaves, people) for tree in trees], axis=1).astype(np.int32)
    return codes, rng.integers(0, values, people).astype(np.int32)


def _ends(rng: np.random.Generator, releases: int, people: int) -> list[int]:
    return sorted(int(n) for n in rng.integers(max(1, people // 3), people + 1, releases))


def random_cut_chain(rng: np.random.Generator, releases: int, values: int = 2, people: int = 7) -> ReleaseChain:
    trees = [uniform_tree(2, 2), uniform_tree(2)]
    codes, value = _people(rng, trees, values, people)
    ends = _ends(rng, releases, people)
    return ReleaseChain([recode(codes[:n], value[:n], trees, [random_cut(rng, t) for t in trees]) for n in ends])


def random_boxes_chain(rng: np.random.Generator, releases: int, values: int = 2, people: int = 7) -> ReleaseChain:
    """Rows dealt to classes at random; boxes are the hulls, widened at random: any overlap may happen."""
    trees = [uniform_tree(5), uniform_tree(3)]
    codes, value = _people(rng, trees, values, people)
    made = []
    for n in _ends(rng, releases, people):
        order = np.argsort(codes[:n, 0] + rng.normal(0, 1.0, n))
        classes = np.empty(n, dtype=np.int32)
        classes[order] = (np.arange(n) * int(rng.integers(1, 4)) // n).astype(np.int32)
        _, classes = np.unique(classes, return_inverse=True)
        rows = [codes[:n][classes == c] for c in range(int(classes.max()) + 1)]
        boxes = np.array([np.stack([r.min(axis=0), r.max(axis=0)], axis=1) for r in rows], dtype=np.int32)
        made.append(released(codes[:n], value[:n], boxes, classes.astype(np.int32)))
    return ReleaseChain(made)
