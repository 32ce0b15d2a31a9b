"""The split against a plain version of the same rule, and placement by nearness."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.invariance.assignment import place_rows
from reissue.methods.invariance.buckets import Demand, plan_buckets
from reissue.methods.invariance.signatures import Signatures
from reissue.methods.invariance.splitting import split
from reissue.model.boxes import losses, widen_to_nodes
from reissue.model.domain import Domain
from reissue.model.release import Coded
from tests.support.histories import toy_domains, uniform_tree

Group = list[list[int]]
"""Per value, the rows of it."""


def semiperimeter(rows: list[int], codes: np.ndarray, domains: tuple[Domain, ...]) -> float:
    box = np.stack([codes[rows].min(axis=0), codes[rows].max(axis=0)], axis=1)[None].astype(np.int32)
    return float(losses(widen_to_nodes(box, domains), domains).sum())


def plainly(group: Group, codes: np.ndarray, domains: tuple[Domain, ...]) -> list[frozenset[int]]:
    """Halve every value at its own median along the best attribute, again and again."""
    height = len(group[0])
    if height == 1:
        return [frozenset(rows[0] for rows in group)]
    best: tuple[float, tuple[Group, Group]] | None = None
    for a in range(codes.shape[1]):
        if len({int(codes[r, a]) for rows in group for r in rows}) == 1:
            continue
        ordered = [sorted(rows, key=lambda r, a=a: (codes[r, a], r)) for rows in group]  # type: ignore[misc]
        halves = [rows[: height // 2] for rows in ordered], [rows[height // 2 :] for rows in ordered]
        cost = sum(semiperimeter([r for rows in half for r in rows], codes, domains) for half in halves)
        if best is None or cost < best[0]:
            best = cost, halves
    if best is None:
        return plainly([rows[: height // 2] for rows in group], codes, domains) + plainly(
            [rows[height // 2 :] for rows in group], codes, domains
        )
    return plainly(best[1][0], codes, domains) + plainly(best[1][1], codes, domains)


def test_split_follows_the_rule() -> None:
    domains = toy_domains()
    for seed in range(120):
        rng = np.random.default_rng(seed)
        kinds, height = int(rng.integers(2, 4)), int(rng.integers(1, 7))
        rows = kinds * height
        codes = np.stack([rng.integers(d.lo, d.hi + 1, rows) for d in domains], axis=1).astype(np.int32)
        values = np.repeat(np.arange(kinds), height).astype(np.int32)
        keys = np.arange(rows, dtype=np.int64)  # ties go by row
        classes, count = split(codes, np.zeros(rows, dtype=np.int32), values, keys, domains)
        made = {frozenset(np.flatnonzero(classes == c).tolist()) for c in range(count)}
        group = [np.flatnonzero(values == v).tolist() for v in range(kinds)]
        assert made == set(plainly(group, codes, domains)), seed


def test_every_class_has_each_value_of_its_bucket_once() -> None:
    rng = np.random.default_rng(1)
    domains = (Domain("a", -5, 40), Domain("b", 0, 11, uniform_tree(3, 4)))
    parts = [(bucket, v, h) for bucket, (kinds, h) in enumerate(((3, 7), (2, 64), (5, 1))) for v in range(kinds)]
    bucket = np.concatenate([np.full(h, b) for b, _, h in parts]).astype(np.int32)
    values = np.concatenate([np.full(h, v) for _, v, h in parts]).astype(np.int32)
    mixed = rng.permutation(len(bucket))
    bucket, values = bucket[mixed], values[mixed]
    codes = np.stack([rng.integers(d.lo, d.hi + 1, len(bucket)) for d in domains], axis=1).astype(np.int32)
    classes, count = split(codes, bucket, values, rng.integers(0, 9, len(bucket)), domains)
    assert count == 7 + 64 + 1
    for c in range(count):
        own = classes == c
        assert len(set(bucket[own])) == 1
        assert sorted(values[own]) == sorted(set(values[bucket == bucket[own][0]]))


def test_any_number_of_threads_gives_the_same_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    heights = rng.integers(1, 9, 60)
    bucket = np.repeat(np.arange(60), 3 * heights).astype(np.int32)
    values = np.concatenate([np.repeat(np.arange(3), height) for height in heights]).astype(np.int32)
    shuffled = rng.permutation(len(bucket))
    bucket, values = bucket[shuffled], values[shuffled]
    codes = rng.integers(0, 4, (len(bucket), 2)).astype(np.int32)
    keys, domains = rng.integers(0, 50, len(bucket)), (Domain("a", 0, 3), Domain("b", 0, 3, uniform_tree(2, 2)))
    alone = split(codes, bucket, values, keys, domains, threads=1)
    for portion, threads in ((1, 2), (7, 3), (40, 2), (10_000, 2)):
        monkeypatch.setattr("reissue.methods.invariance.splitting._PORTION", portion)
        classes, number = split(codes, bucket, values, keys, domains, threads=threads)
        assert number == alone[1]
        assert np.array_equal(classes, alone[0])


def test_nothing_to_split() -> None:
    none = np.empty(0, dtype=np.int32)
    classes, count = split(np.empty((0, 3), dtype=np.int32), none, none, np.empty(0, dtype=np.int64), toy_domains())
    assert (len(classes), count) == (0, 0)


def test_new_rows_go_to_the_bucket_they_are_near_to() -> None:
    """Two buckets at the two ends of the curve, each lacking one value: the near row fills each gap."""
    signatures = Signatures(np.array([0, 2, 4]), np.array([0, 1, 0, 2], dtype=np.int32))
    alive = np.array([0, 3, 0, 3])
    new = np.array([6, 0, 0])
    demand = Demand(signatures, alive, new, new, np.zeros(4, dtype=np.int64), np.zeros(2, dtype=np.int64))
    made = plan_buckets(demand, 2, repair=False)
    assert made.quota.tolist() == [3, 0, 3, 0]
    keys = np.array([10, 11, 12, 90, 91, 92, 95, 9, 93, 13, 94, 8])
    bucket = np.array([0, 0, 0, 1, 1, 1, -1, -1, -1, -1, -1, -1], dtype=np.int32)
    values = np.array([1, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0], dtype=np.int32)
    rows = Coded(np.arange(12), np.zeros((12, 1), dtype=np.int32), values, (Domain("a", 0, 1),), 3)
    assert place_rows(made, rows, bucket, keys).tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0]
