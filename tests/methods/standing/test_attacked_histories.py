"""Standing against every attack on generated histories; on the same ones learning breaks m-invariance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from reissue.arrays.factor_graph import Propagation
from reissue.arrays.types import Float64
from reissue.errors import InfeasiblePolicy
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.learning.attack import Learning
from reissue.methods.learning.class_graph import SeriesGraph
from reissue.methods.learning.statistics import MOST_SWEEPS, FittedStatistics
from reissue.methods.registry import make_attack
from reissue.methods.standing.strategy import Standing
from reissue.model.observed import Observed
from reissue.model.release import Coded, Facts
from reissue.model.standing_view import EPISODE, EpisodeWords, observe_classes
from tests.support.histories import observe, run_series
from tests.support.standing_histories import HISTORIES, everybody_replaced
from tests.support.standing_series import DOMAINS, Publisher, Town, standing_of
from tests.support.words import PlainWords

VALUES = 6
each_history = pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)


class LikeTown(Town):
    """A town in which age and place speak for the value, so that there is something to learn."""

    def arrive(self, count: int, value: int | None = None) -> None:
        first = len(self.codes)
        super().arrive(count, value)
        for person in range(first, len(self.codes)) if value is None else ():
            age, place = self.codes[person]
            likely = 2.0 * np.cos(2 * np.pi * (age / 80 - np.arange(VALUES) / VALUES))
            likely += 1.5 * np.cos(2 * np.pi * (place / 50 - np.arange(VALUES) / VALUES))
            self.value[person] = int((likely + self.rng.gumbel(size=VALUES)).argmax())


def view(releases: list[Facts]) -> Observed:
    """As an attacker sees it who knows everybody's class for life."""
    seen = list(observe_classes(releases, DOMAINS))
    return Observed(seen, DOMAINS, VALUES, EpisodeWords(PlainWords()), standing=True)


def name_by_value(snapshots: Iterator[Coded]) -> list[Coded]:
    """The same people, somebody with another value under another number: a strategy may not know changed values."""
    return [replace(one, subjects=one.subjects * VALUES + one.values) for one in snapshots]


def statistics_of(snapshots: list[Coded]) -> FittedStatistics:
    codes, values = (np.concatenate([getattr(one, name) for one in snapshots]) for name in ("codes", "values"))
    return FittedStatistics.of_table(codes, values, DOMAINS, VALUES)


@each_history
def test_no_attack_gets_through_on_any_history_and_learning_breaks_m_invariance_on_it(
    history: Callable[[Town], Iterator[Coded]],
) -> None:
    snapshots = list(history(LikeTown(np.random.default_rng(8))))
    publisher = Publisher(Standing(), seed=4)
    series = view(publisher.publish_all(snapshots))
    for attack in Standing.stops:
        settings = {"c": 0.4, "k": 1} if attack in ("intersection", "difference", "record-tracing") else {}
        assert not make_attack(attack, settings).run(series).breaches, attack
    learning = Learning(c=0.4).inform(statistics_of(snapshots))
    assert not learning.run(series).breaches
    others = run_series(MInvariance(m=3, on_ineligible="counterfeit"), name_by_value(iter(snapshots)))
    found = learning.run(observe(others, snapshots[0]))
    if history is everybody_replaced:  # nobody is in two releases: there is nothing to lay side by side
        assert not set(snapshots[0].subjects.tolist()) & set(snapshots[-1].subjects.tolist())
    else:
        assert found.breaches


def believe(series: Observed, until: int, statistics: FittedStatistics, people: set[int]) -> Float64:
    """float64[people]: the belief in everybody's true value after so many releases, by number of the person."""
    graph = SeriesGraph.of(series, until)
    priors = statistics.priors(graph.people.codes, series.domains, series.value_count)
    talk, truth = Propagation(graph.reduced), graph.people.values
    talk.start(priors, afresh=True)
    talk.sweep(MOST_SWEEPS, 1e-9)  # closer than the attack itself
    subjects = graph.people.subjects
    some = np.flatnonzero(np.isin(subjects, sorted(people)))
    some = some[np.argsort(subjects[some])]
    found: Float64 = talk.beliefs[some, truth[some]]
    return found


def test_release_24_reveals_nothing_that_release_1_did_not_about_people_who_never_changed() -> None:
    town, snapshots = LikeTown(np.random.default_rng(2)), []
    town.arrive(240)
    for _ in range(24):
        snapshots.append(town.snapshot())
        town.leave(0.08)
        town.come_back(0.1)
        town.arrive(16)
    first = set(snapshots[0].subjects.tolist())
    statistics = statistics_of(snapshots)
    standing = view(Publisher(Standing(), seed=1).publish_all(snapshots))
    one, all_ = (believe(standing, until, statistics, first) for until in (1, 24))
    assert len(one) == len(first)
    assert np.abs(all_ - one).max() < 1e-6
    for attack in (*Standing.stops, "background-knowledge", "learning"):
        found = make_attack(attack, {}).run(standing)
        assert not [person for people in found.at_risk.values() for person in people if person % EPISODE in first]
    others = observe(run_series(MInvariance(m=3, on_ineligible="counterfeit"), snapshots), snapshots[0])
    one, all_ = (believe(others, until, statistics, first) for until in (1, 24))
    assert 1 - all_.mean() < (1 - one.mean()) / 10, "where people are regrouped, no doubt is left"


@pytest.mark.parametrize("seed", range(8))
def test_every_world_of_a_tiny_series_counted_nobody_has_a_value_above_c(seed: int) -> None:
    """Brute force: all values that everybody may have, against the tokens that every release tells."""
    town = Town(np.random.default_rng(seed), values=3)
    town.arrive(5)
    strategy, snapshots = Standing(k=4, c=0.5, l=2, row_k=2, row_l=1, on_ineligible="wait"), [town.snapshot()]
    town.leave(0.3)
    town.arrive(4)
    snapshots.append(town.snapshot())
    town.come_back(1.0)
    town.leave(0.2)
    snapshots.append(town.snapshot())
    publisher = Publisher(strategy, seed=seed)
    if max(np.bincount(snapshots[0].values)) > 2:
        with pytest.raises(InfeasiblePolicy):
            publisher.publish(snapshots[0])
        return
    publisher.publish_all(snapshots)
    cohorts: dict[int, list[int]] = {}
    tokens: dict[int, Counter[int]] = {}
    shares: list[dict[tuple[int, int], float]] = []
    for facts in publisher.releases:
        kept = standing_of(facts)
        for one in np.unique(kept.standing).tolist():
            cohorts.setdefault(one, facts.subjects[kept.standing == one].tolist())
        for one, value, count in zip(kept.tokens.standing, kept.tokens.value, kept.tokens.count, strict=True):
            tokens.setdefault(int(one), Counter())[int(value)] = int(count)
        shares.append(count_worlds(cohorts, tokens))
    for share in shares:
        assert max(share.values()) <= 0.5
    early = {key: share for key, share in shares[-1].items() if key in shares[0]}
    assert early == pytest.approx(shares[0])


def count_worlds(cohorts: dict[int, list[int]], tokens: dict[int, Counter[int]]) -> dict[tuple[int, int], float]:
    """By person and value, the share of worlds in which the person has it."""
    people = [person for cohort in cohorts.values() for person in cohort]
    found: Counter[tuple[int, int]] = Counter()
    worlds = 0
    for values in product(range(3), repeat=len(people)):
        world = dict(zip(people, values, strict=True))
        if all(Counter(world[person] for person in cohort) == tokens[one] for one, cohort in cohorts.items()):
            worlds += 1
            found.update(world.items())
    return {key: count / worlds for key, count in found.items()}
