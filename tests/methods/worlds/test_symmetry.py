"""Where values can be exchanged, everybody may have each of them: against enumeration, and where it must not apply."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.strategy import Strategy
from reissue.methods.worlds.attack import PossibleWorlds
from reissue.methods.worlds.worlds import build_worlds, find_paths, find_symmetry, truth
from reissue.model.observed import ObservedRelease
from tests.methods.worlds.tiny_worlds import NOBODY, enumerated, release, series
from tests.support.histories import CHURN, generate, observe, run_series


def regrouped(rng: np.random.Generator, releases: int, uneven: bool) -> list[ObservedRelease]:
    """Six people with three values each twice, put anew into classes that show all three equally often, or nearly."""
    values = np.array([0, 1, 2, 0, 1, 2])
    made = []
    for number in range(1, releases + 1):
        classes = np.zeros(6, dtype=np.int64)
        for value in range(3):
            classes[rng.permutation(np.flatnonzero(values == value))[0]] = 1
        if uneven and number == releases:
            classes[:] = rng.permutation([0, 0, 0, 0, 1, 1])
        made.append(release(number, [(i, int(classes[i]), int(values[i])) for i in range(6)]))
    return made


@pytest.mark.parametrize("seed", range(25))
def test_what_can_be_exchanged_is_possible_for_everybody(seed: int) -> None:
    rng = np.random.default_rng(seed)
    releases = regrouped(rng, int(rng.integers(1, 4)), uneven=False)
    paths = find_paths(releases, NOBODY)
    worlds = build_worlds(releases, paths)
    symmetry = find_symmetry(worlds)
    assert symmetry.exchangeable.all()
    assert set(symmetry.values.tolist()) == {3}
    possible, found = enumerated(releases, set())
    assert all(values == {0, 1, 2} for values in possible.values())
    real = truth(worlds, releases, paths)
    assert real is not None
    least, most = symmetry.worlds_by_exchange(worlds, real)
    for entry in range(len(worlds)):
        people = paths.subjects[paths.of == worlds.path[entry]]
        counts = [sum(world[int(p)] == worlds.value[entry] for p in people) for world in found]
        assert min(counts) <= least[entry] <= most[entry] <= max(counts)
        assert min(counts) * 3 <= len(people)


def test_uneven_classes_are_never_taken_for_even_ones() -> None:
    told = 0
    for seed in range(40):
        releases = regrouped(np.random.default_rng(seed), 2, uneven=True)
        paths = find_paths(releases, NOBODY)
        worlds = build_worlds(releases, paths)
        symmetry = find_symmetry(worlds)
        possible, _ = enumerated(releases, set())
        for entry in np.flatnonzero(symmetry.exchangeable):
            for person in paths.subjects[paths.of == worlds.path[entry]]:
                assert len(possible[int(person)]) == symmetry.values[entry]
        told += any(len(values) < 3 for values in possible.values())
    assert told, "or the test proves nothing"


def test_a_compromised_person_forbids_it() -> None:
    releases = regrouped(np.random.default_rng(1), 2, uneven=False)
    worlds = build_worlds(releases, find_paths(releases, np.array([0], dtype=np.int64)))
    assert not find_symmetry(worlds).exchangeable.all()


@pytest.mark.parametrize(
    "strategy", [MInvariance(m=3), EEquivalence(m=3, e=2), CorSplit(m=3, n=2)], ids=lambda s: s.name
)
def test_nobody_of_the_invariance_family_is_left_out_without_any_search(strategy: Strategy) -> None:
    rng = np.random.default_rng(84)
    snapshots = generate(rng, releases=4, rows=300, values=9, turnover=CHURN)
    observed = observe(run_series(strategy, snapshots), snapshots[-1])
    outcome = PossibleWorlds(c=0.5, m=3, seconds=0).run(observed)
    assert outcome.measures["paths_left_out"] == outcome.measures["paths_undecided"] == 0
    assert outcome.measures["fewest_possible_values"] >= 3
    assert not outcome.breaches


def test_the_same_series_gives_the_same_answer_however_fast_the_machine() -> None:
    rng = np.random.default_rng(5)
    releases = [release(n, [(i, int(c), i % 4) for i, c in enumerate(rng.permutation(60) // 6)]) for n in range(1, 4)]
    few, again = (PossibleWorlds(seconds=0.001).run(series(*releases)) for _ in range(2))
    many = PossibleWorlds(seconds=60).run(series(*releases))
    assert few.measures == again.measures
    assert few.measures["paths_left_out"] > many.measures["paths_left_out"] == 0
