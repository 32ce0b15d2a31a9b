"""AIL, NCP, GCP, discernibility and class size: by hand, and within their ranges."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import SettingsError
from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Coded, Facts
from reissue.utility import (
    ail,
    average_class_size,
    counterfeits,
    discernibility,
    discernibility_share,
    gcp,
    measure,
    ncp,
    observed_domains,
    suppressed,
)
from tests.support.histories import uniform_tree
from tests.utility.support import random_facts, random_snapshot, small_domains

AGE_AND_PLACE = (Domain("age", 20, 60), Domain("place", 0, 4, uniform_tree(5)))


def by_hand(*, anatomized: bool = False) -> ObservedRelease:
    """Class 0: ages 20-30 (10 of 40), one place: 3 rows. Class 1: ages 40-60 (20 of 40), all places: 2 rows."""
    boxes = np.array([[[20, 30], [2, 2]], [[40, 60], [0, 4]]], dtype=np.int32)
    classes = np.array([0, 0, 0, 1, 1], dtype=np.int32)
    return ObservedRelease(1, boxes, classes, np.array([0, 1, 2, 0, 1], dtype=np.int32), None, anatomized)


def test_average_information_loss_is_per_row() -> None:
    assert ail(by_hand(), AGE_AND_PLACE) == pytest.approx((3 * 0.25 + 2 * (0.5 + 1.0)) / 5)


def test_a_suppressed_row_loses_all_attributes() -> None:
    assert ail(by_hand(), AGE_AND_PLACE, suppressed=5) == pytest.approx((3.75 + 5 * 2) / 10)
    assert gcp(by_hand(), AGE_AND_PLACE, suppressed=5) == pytest.approx(3 * 0.125 + 2 * 0.75 + 5)


def test_certainty_penalty_per_class_and_summed_over_rows() -> None:
    assert ncp(by_hand(), AGE_AND_PLACE).tolist() == pytest.approx([0.125, 0.75])
    assert gcp(by_hand(), AGE_AND_PLACE) == pytest.approx(3 * 0.125 + 2 * 0.75)
    assert ncp(by_hand(), AGE_AND_PLACE, weights=[1.0, 0.0]).tolist() == pytest.approx([0.25, 0.5])


@pytest.mark.parametrize("weights", [[1.0], [0.7, 0.7], [1.5, -0.5]])
def test_weights_that_make_no_average_are_refused(weights: list[float]) -> None:
    with pytest.raises(SettingsError, match="sum to 1"):
        ncp(by_hand(), AGE_AND_PLACE, weights=weights)


def test_discernibility_raw_and_normalized() -> None:
    assert discernibility(by_hand()) == 9 + 4
    assert discernibility_share(by_hand()) == pytest.approx(13 / 25)
    assert discernibility(by_hand(), suppressed=2) == 13 + 2 * 7
    assert discernibility_share(by_hand(), suppressed=2) == pytest.approx(27 / 49)


def test_class_size_is_per_class_that_has_rows() -> None:
    release = by_hand()
    with_empty = ObservedRelease(1, np.concatenate([release.boxes, release.boxes[:1]]), release.classes, release.values)
    assert average_class_size(release) == average_class_size(with_empty) == 2.5
    people = Coded(np.arange(5), np.asfortranarray(np.zeros((5, 2), dtype=np.int32)), release.values, AGE_AND_PLACE, 3)
    assert measure(with_empty, people).classes == measure(release, people).classes == 2
    assert average_class_size(release, k=2) == 1.25
    with pytest.raises(SettingsError, match="k is 0"):
        average_class_size(release, k=0)


def test_an_anatomized_release_keeps_its_quasi_identifiers() -> None:
    release = by_hand(anatomized=True)
    assert ail(release, AGE_AND_PLACE) == gcp(release, AGE_AND_PLACE) == 0.0
    assert discernibility(release) == 13


def test_gcp_of_one_class_of_everybody_is_the_number_of_rows_by_the_ranges_of_the_snapshot() -> None:
    codes = np.array([[22, 1], [30, 2], [25, 3]], dtype=np.int32)
    snapshot = Coded(np.arange(3), codes, np.zeros(3, dtype=np.int32), AGE_AND_PLACE, 1)
    classes = np.zeros(3, dtype=np.int32)
    facts = Facts(1, bounding_boxes(codes, classes, 1), snapshot.subjects, classes, snapshot.values, codes)
    assert gcp(facts, observed_domains(snapshot)) == pytest.approx(3.0)
    assert gcp(facts, AGE_AND_PLACE) == pytest.approx(3 * (8 / 40 + 2 / 4) / 2)


@pytest.mark.parametrize("seed", range(40))
def test_measures_stay_in_their_ranges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domains = small_domains()
    snapshot = random_snapshot(rng, int(rng.integers(5, 60)), 4, domains)
    facts = random_facts(rng, snapshot, int(rng.integers(1, 6)), suppress=0.2)
    penalties = ncp(facts, observed_domains(snapshot))
    assert ((penalties >= 0) & (penalties <= 1)).all()
    found = measure(facts, snapshot)
    assert found.suppressed == len(snapshot) - int(facts.real.sum())
    assert found.counterfeits == 1
    assert found.rows == len(snapshot) - found.suppressed + 1
    assert 0 <= found.ail <= len(domains)
    assert 0 <= found.gcp_share <= 1
    assert 0 < found.discernibility_share <= 1
    coarser = Facts(
        1,
        np.array([[[d.lo, d.hi] for d in domains]], dtype=np.int32),
        facts.subjects,
        np.zeros_like(facts.classes),
        facts.values,
        facts.codes,
    )
    worst = measure(coarser, snapshot)
    assert worst.ail == pytest.approx(len(domains))
    assert worst.gcp_share == pytest.approx(1.0)
    assert worst.ail >= found.ail
    assert worst.discernibility >= found.discernibility


def test_every_row_its_own_class_loses_nothing() -> None:
    snapshot = random_snapshot(np.random.default_rng(0), 30, 3, small_domains())
    own = np.arange(30, dtype=np.int32)
    facts = Facts(1, bounding_boxes(snapshot.codes, own, 30), snapshot.subjects, own, snapshot.values, snapshot.codes)
    found = measure(facts, snapshot)
    assert (found.ail, found.gcp, found.suppressed, found.counterfeits) == (0.0, 0.0, 0, 0)
    assert found.discernibility_share == pytest.approx(1 / 30)


def test_without_members_counterfeits_are_unknown_and_suppressed_rows_are_the_difference() -> None:
    snapshot = random_snapshot(np.random.default_rng(0), 7, 3, AGE_AND_PLACE)
    assert counterfeits(by_hand()) is None
    assert suppressed(by_hand(), snapshot) == 2


def test_a_release_seen_with_its_members_measures_like_the_facts() -> None:
    rng = np.random.default_rng(4)
    snapshot = random_snapshot(rng, 40, 4, small_domains())
    facts = random_facts(rng, snapshot, 5, suppress=0.3)
    assert measure(ObservedRelease.of(facts), snapshot) == measure(facts, snapshot)


def test_an_empty_release_has_no_loss_but_its_suppressed_rows() -> None:
    none = np.empty(0, dtype=np.int32)
    empty = ObservedRelease(1, np.empty((0, 2, 2), dtype=np.int32), none, none)
    assert ail(empty, AGE_AND_PLACE) == discernibility_share(empty) == average_class_size(empty) == 0.0
    assert ail(empty, AGE_AND_PLACE, suppressed=3) == 2.0
    assert discernibility_share(empty, suppressed=3) == 1.0
