"""The study of what places in classes tell: its parts say what they should, and on a slice it runs from end to end."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from reissue.methods.invariance.strategy import MInvariance
from tests.arrays.test_permanent import deal_class

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
known_algorithm = pytest.importorskip("known_algorithm")
learning_people = pytest.importorskip("learning_people")


def test_values_dealt_anew_are_as_likely_as_the_statistics_say() -> None:
    prior, counts = np.array([[0.8, 0.1, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.2, 0.2]]), np.array([2, 1, 1])
    rng = np.random.default_rng(0)
    drawn = np.stack([known_algorithm._draw_dealing(prior, counts, rng) for _ in range(2_000)])
    shares = np.stack([(drawn == value).mean(axis=0) for value in range(3)], axis=1)
    np.testing.assert_allclose(shares, deal_class(prior, counts), atol=0.05)


def test_every_row_is_a_candidate_for_every_value_of_its_class(shared_data: Path) -> None:
    table = learning_people.read_adult(shared_data)
    statistics = learning_people.count_others(table, np.arange(2_000, 8_000))
    release = known_algorithm.publish_once(MInvariance(m=4), table.part(np.arange(1_000)))
    found = known_algorithm.list_candidates(release, statistics, table)
    shown = Counter(number for number, _ in set(zip(release.classes.tolist(), release.values.tolist(), strict=True)))
    assert min(shown.values()) >= 4
    assert len(found.row) == sum(shown[number] for number in release.classes.tolist())
    assert np.isfinite(found.features).all()
    dealt = np.bincount(found.row, found.dealt)
    np.testing.assert_allclose(dealt, 1.0)
    belief, right, _ = known_algorithm.judge(found, found.dealt, release.values)
    assert belief > 0.4
    assert right > 0.5
    anew = known_algorithm.deal_anew(release, found, 0)
    for number in range(20):
        mine = release.classes == number
        assert sorted(anew.values[mine]) == sorted(release.values[mine])
