"""What attackers with statistics get from Adult and from census-like people: the figures of the docs, or more."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.known_algorithm_attack import KnownAlgorithm
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.learning.attack import Learning
from reissue.methods.learning.statistics import FittedStatistics
from reissue.methods.strategy import Strategy
from reissue.model.release import Coded, Facts

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
learning_people = pytest.importorskip("learning_people")
HALF = 22_611
OFF = 0.03


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> Coded:
    return learning_people.read_adult(shared_data)


@pytest.fixture(scope="module")
def half(adult: Coded) -> FittedStatistics:
    """Statistics of half the people."""
    return learning_people.count_others(adult, np.arange(HALF, len(adult)))


@cache
def publish_six(strategy: Strategy, adult: Coded) -> list[Facts]:
    return learning_people.publish(strategy, learning_people.replace_people(adult, 20_000, 4_000, 6))


@pytest.mark.parametrize(
    ("strategy", "alone", "informed"),
    [
        (MInvariance(m=4), (None, 0.82), (0.832, 0.845)),
        (CorSplit(m=4, n=2), (None, 0.87), (0.874, 0.886)),
        (EEquivalence(m=4, e=3), (0.388, 0.418), (0.42, 0.492)),
    ],
    ids=lambda one: one.name if isinstance(one, Strategy) else "",
)
def test_six_releases_of_adult(
    adult: Coded,
    half: FittedStatistics,
    strategy: Strategy,
    alone: tuple[float | None, float],
    informed: tuple[float, float],
) -> None:
    """Belief in the truth and right guesses, from the releases alone and with statistics of half the people."""
    series = learning_people.observe(publish_six(strategy, adult), adult)
    learned = Learning().run(series).measures
    assert learned["right"] > alone[1] - OFF
    assert alone[0] is None or learned["belief"] > alone[0] - OFF
    found = Learning().inform(half).run(series).measures
    assert (found["belief"], found["right"]) == pytest.approx(informed, abs=OFF)
    assert found["belief_of_statistics"] < informed[0]


def test_two_three_and_four_releases_of_adult(adult: Coded) -> None:
    releases = publish_six(MInvariance(m=4), adult)
    for count, right in ((2, 0.575), (3, 0.748), (4, 0.786)):
        found = Learning().run(learning_people.observe(releases[:count], adult)).measures
        assert found["right"] > right - OFF, count


def test_one_release_of_adult_to_who_knows_the_algorithm(adult: Coded, half: FittedStatistics) -> None:
    series = learning_people.observe(
        learning_people.publish(MInvariance(m=4), iter([adult.part(np.arange(12_000))])), adult
    )
    found = KnownAlgorithm().inform(half).run(series).measures
    assert (found["belief"], found["right"], found["sure_and_right"]) == pytest.approx((0.50, 0.55, 0.19), abs=OFF)
    told = f"{100 * found['right']:.0f}% "
    for page, said in (("README.md", f"names {told}of the occupations"), ("docs/papers.md", f"the algorithm: {told}")):
        assert said in (ROOT / page).read_text(encoding="utf-8"), f"{page} must say {told}"
    own = KnownAlgorithm().run(series).measures
    assert own["belief_of_one_release"] == pytest.approx(0.47, abs=OFF)
    assert own["right_of_one_release"] == pytest.approx(0.57, abs=OFF)


def test_census_like_people(shared_data: Path) -> None:
    """50 values, four quasi-identifiers; a quarter of the people that the docs tell of, who are guessed more easily."""
    table = learning_people.read_census(shared_data)
    others = learning_people.count_others(table, np.arange(300_000, 600_000))
    releases = learning_people.publish(MInvariance(m=4), learning_people.replace_people(table, 10_000, 2_000, 6))
    series = learning_people.observe(releases, table)
    assert Learning().run(series).measures["right"] > 0.519 - OFF
    found = Learning().inform(others).run(series).measures
    assert (found["belief"], found["right"]) == pytest.approx((0.717, 0.729), abs=OFF)
    first = KnownAlgorithm().inform(others).run(learning_people.observe(releases[:1], table)).measures
    assert (first["belief"], first["right"], first["sure_and_right"]) == pytest.approx((0.423, 0.472, 0.122), abs=OFF)
