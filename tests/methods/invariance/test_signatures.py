"""Signatures: equal sets get equal numbers, and the caches are what their definition says."""

from __future__ import annotations

import numpy as np

from reissue.methods.invariance.signatures import Signatures, collect_sets, join_sets, recall, remember
from reissue.methods.invariance.strategy import MInvariance
from reissue.model.boxes import hilbert_keys
from reissue.model.domain import Domain
from tests.support.histories import CHURN, generate, run_series


def sets_of(signatures: Signatures) -> list[frozenset[int]]:
    return [
        frozenset(signatures.values[signatures.start[i] : signatures.start[i + 1]].tolist())
        for i in range(len(signatures))
    ]


def test_classes_with_equal_values_share_a_signature() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        count, rows = int(rng.integers(1, 9)), int(rng.integers(0, 30))
        classes, values = rng.integers(0, count, rows).astype(np.int32), rng.integers(0, 4, rows).astype(np.int32)
        signatures, number = collect_sets(classes, values, count)
        expected = [frozenset(values[classes == c].tolist()) for c in range(count)]
        assert [sets_of(signatures)[i] for i in number] == expected
        assert len(set(sets_of(signatures))) == len(signatures)


def test_joining_keeps_the_known_numbers() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        tables = []
        for _ in range(2):
            classes, values = rng.integers(0, 5, 15).astype(np.int32), rng.integers(0, 4, 15).astype(np.int32)
            used, classes = np.unique(classes, return_inverse=True)
            tables.append(collect_sets(classes.astype(np.int32), values, len(used))[0])
        union, number = join_sets(*tables)
        assert sets_of(union)[: len(tables[0])] == sets_of(tables[0])
        assert [sets_of(union)[i] for i in number] == sets_of(tables[1])


def test_caches_hold_the_first_signature_of_everybody_and_the_last_counterfeits() -> None:
    rng = np.random.default_rng(3)
    snapshots = generate(rng, releases=6, rows=60, values=6, turnover=CHURN, skew=0.3)
    releases = run_series(MInvariance(m=2, on_ineligible="counterfeit"), snapshots)
    caches: dict[str, dict[str, np.ndarray]] = {}
    first: dict[int, frozenset[int]] = {}
    for facts in releases:
        caches = remember(caches, facts)  # type: ignore[assignment]
        for subject, its in zip(facts.subjects.tolist(), facts.classes.tolist(), strict=True):
            if subject >= 0:
                first.setdefault(subject, frozenset(facts.values[facts.classes == its].tolist()))
    known = recall(caches, 3)
    sets = sets_of(known.signatures)
    assert {int(s): sets[i] for s, i in zip(known.subjects, known.signature, strict=True)} == first
    last = releases[-1]
    assert sorted(known.fakes["subject"].tolist()) == sorted(last.subjects[~last.real].tolist())
    assert known.lowest == min(0, min(int(facts.subjects[0]) for facts in releases))


def test_neighbours_on_the_curve_differ_in_one_step() -> None:
    """The defining property of a Hilbert curve: consecutive positions are adjacent cells."""
    for side, attributes in ((8, 2), (4, 3), (4, 4)):
        grid = np.stack(np.meshgrid(*[np.arange(side)] * attributes), axis=-1).reshape(-1, attributes).astype(np.int32)
        domains = tuple(Domain(f"a{i}", 0, side - 1) for i in range(attributes))
        keys = hilbert_keys(grid, domains)
        assert keys[0] == keys.min() == 0, "the curve begins in the first corner"
        order = np.argsort(keys, kind="stable")
        assert len(np.unique(keys)) == len(grid)
        steps = np.abs(np.diff(grid[order].astype(int), axis=0)).sum(axis=1)
        assert steps.mean() < 1.5, "the scaling to the key's bits may skip a cell here and there, not more"
