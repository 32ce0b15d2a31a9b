"""An attack on the steps of a series tells what it tells of the whole, with two releases in memory at a time."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import reissue as ri
from reissue.audit.spark.fragment import FragmentReader
from reissue.audit.spark.names import TokenWords, name_outcome
from reissue.methods.attack import Attack, Outcome, WorkDivision
from reissue.methods.attack_parts import Step, join_steps, list_steps
from reissue.methods.baselines.static import Static
from reissue.methods.bcf.attack import Correspondence
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.methods.registry import ATTACKS, find_attack
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Facts
from tests.audit.test_parallel import at_once, told
from tests.support.churning import churning
from tests.support.divided import CHURN, SCHEMA, People
from tests.support.histories import EVERYTHING, PERSISTING, generate, observe, run_series
from tests.support.in_parts import AttackTask, divided, in_parts

MAKERS: dict[str, Callable[[int], RecordTracing | Difference]] = {
    "record-tracing": lambda limit: RecordTracing(k=3, limit=limit),
    "difference": lambda limit: Difference(k=3, c=0.5, limit=limit),
}
LEAST = {"record-tracing": "fewest_people", "difference": "smallest_difference"}


def series_of(seed: int, rows: int = 40) -> Observed:
    """One to five releases: of circles of people, or of a strategy while people come, go, move and change."""
    rng = np.random.default_rng([seed, 23])
    if seed % 2:
        return churning(rng, releases=1 + seed % 5, changing=seed % 3 == 0)
    turnover = EVERYTHING if seed % 4 == 0 else list(PERSISTING.values())[seed % 6]
    snapshots = generate(rng, releases=4, rows=rows, values=4, turnover=turnover)
    return observe(run_series(Static(k=2), snapshots), snapshots[0])


def growing(seed: int) -> Observed:
    """Nobody leaves, as the correspondence attack has it."""
    snapshots = generate(np.random.default_rng(seed), releases=3, rows=40, values=4)
    return observe(run_series(Static(k=2), snapshots), snapshots[0])


def dealt(rng: np.random.Generator, releases: int) -> list[Step]:
    """Any steps that have every pair once, in any order; and one that has none."""
    steps: list[Step] = [(0,)]
    for newest in range(1, releases):
        cuts = [0, *np.sort(rng.integers(0, newest + 1, 2)).tolist(), newest]
        steps += [(*range(cuts[i], cuts[i + 1]), newest) for i in range(3) if cuts[i] < cuts[i + 1]]
    return [steps[i] for i in rng.permutation(len(steps))]


def attacked(attack: Attack, series: Observed, step: Step) -> Outcome:
    part = replace(series, releases=[series.releases[position] for position in step], words=TokenWords())
    return attack.run(part, involving=len(step))


@pytest.mark.parametrize("name", MAKERS)
def test_the_steps_tell_what_the_whole_tells(name: str) -> None:
    found, beyond, noted = 0, 0, 0
    seeds, rows = (70, 40) if name == "record-tracing" else (26, 24)
    for seed in range(seeds):
        limit = (2, 100)[seed % 7 > 1]
        attack, series = MAKERS[name](limit), series_of(seed, rows)
        steps = dealt(np.random.default_rng(seed), len(series)) if seed % 3 else list_steps(len(series), seed % 6)
        outcome = join_steps(attack, steps, [attacked(attack, series, step) for step in steps])
        whole = attack.run(series)
        assert told(name_outcome(outcome, series.words)) == told(whole), f"seed {seed}"
        assert len({finding.rank for finding in whole.findings}) == len(whole.findings), "ranks are unique"
        by_release = [(*range(newest + 1),) for newest in range(len(series))]
        added = [attack.run(series, involving=len(step)) for step in by_release]
        assert told(join_steps(attack, by_release, added)) == told(whole), f"seed {seed}"
        found, beyond, noted = found + (whole.total > 0), beyond + (whole.total > limit), noted + bool(whole.notes)
    assert found > 20
    assert beyond > 3, "the limit was never reached"
    assert noted > 3 or name == "difference"


@pytest.mark.parametrize("name", MAKERS)
def test_a_series_tells_what_its_pairs_tell(name: str) -> None:
    several = 0
    for seed in range(2, 40, 3):
        attack, series = MAKERS[name](100), series_of(seed, 30)
        whole = attack.run(series)
        pairs = [attack.run(replace(series, releases=list(pair))) for pair in combinations(series.releases, 2)]
        at_risk = {
            number: {int(who) for one in pairs for who in one.at_risk.get(number, ())} for number in whole.at_risk
        }
        assert {number: set(who.tolist()) for number, who in whole.at_risk.items()} == at_risk
        assert whole.total == sum(one.total for one in pairs)
        least = min((one.measures[LEAST[name]] for one in pairs), default=attack.k)
        expected = {LEAST[name]: least}
        if name == "difference":
            people = set().union(*at_risk.values())
            shares = [one.measures["highest_share"] for one in pairs]
            expected |= {"highest_share": max(shares, default=0.0), "subjects_at_risk": len(people)}
            several += len(people) < sum(one.measures["subjects_at_risk"] for one in pairs)
        else:
            expected["rows_traced"] = sum(one.measures["rows_traced"] for one in pairs)
            several += sum(one.total > 0 for one in pairs) > 1
        assert whole.measures == expected
    assert several > 2


@pytest.mark.parametrize("name", MAKERS)
def test_workers_take_steps_where_parts_do_not_share_the_work(name: str) -> None:
    """With one part, or one that has most of the rows; of fewer than two steps nothing is sent."""
    taken = 0
    for seed in range(1, 40, 2):
        series, sent = series_of(seed, 30), list[AttackTask]()

        def run(tasks: Sequence[AttackTask], sent: list[AttackTask] = sent) -> list[Outcome]:
            sent += tasks
            return at_once(tasks)

        attack = MAKERS[name](10)
        assert told(in_parts(4, run)(attack, series)) == told(attack.run(series)), f"seed {seed}"
        rows = [sum(len(release.classes) for release in part.releases) for part in divided(series, 4)]
        steps = len(list_steps(len(series), 4)) > 1 and (name == "record-tracing" or 2 * max(rows) > sum(rows))
        assert all((task.involving is not None) == steps for task in sent), f"seed {seed}"
        assert bool(sent) == (steps or name == "difference")
        taken += steps
    assert taken > 2


def test_which_attacks_are_stepwise() -> None:
    assert {name for name in ATTACKS if find_attack(name)().divides(WorkDivision.STEPS)} == set(MAKERS)


@pytest.mark.parametrize("name", ["intersection", "association", "possible-worlds", "equivalence", "correspondence"])
def test_what_every_release_adds_is_not_all_that_others_tell(name: str) -> None:
    attack, different = find_attack(name)(), 0
    for seed in range(1, 32, 2):
        series = growing(seed) if name == "correspondence" else series_of(seed)
        added = sum(attack.run(series, involving=number).total for number in range(1, len(series) + 1))
        different += added != attack.run(series).total
    assert different > 1


def test_every_pair_is_in_one_step() -> None:
    for releases in range(1, 14):
        for wanted in (0, 1, 2, 3, 8, 30, 500):
            steps = list_steps(releases, wanted)
            pairs = [(older, step[-1]) for step in steps for older in step[:-1]]
            assert sorted(pairs) == [(i, j) for i in range(releases) for j in range(i + 1, releases)] or releases == 1
            assert len(steps) >= max(1, min(wanted, len(pairs)))
            assert [len(step) for step in steps] == sorted(map(len, steps), reverse=True)
    assert list_steps(1, 8) == [(0,)]
    assert list_steps(4, 1) == [(0, 1, 2, 3), (0, 1, 2), (0, 1)]


class Watched(Sequence[ObservedRelease]):
    """Releases that are made anew whenever one is asked for, and how many there were at once."""

    def __init__(self, releases: Sequence[ObservedRelease]) -> None:
        self._releases, self._alive, self.most, self.reads = releases, weakref.WeakSet[ObservedRelease](), 0, 0

    def __len__(self) -> int:
        return len(self._releases)

    def __getitem__(self, index: int) -> ObservedRelease:  # type: ignore[override]
        assert isinstance(index, int), "a slice would read several"
        made = replace(self._releases[index])
        self._alive.add(made)
        self.most, self.reads = max(self.most, len(self._alive)), self.reads + 1
        return made


@pytest.mark.parametrize("name", MAKERS)
def test_two_releases_are_in_memory_at_a_time(name: str) -> None:
    attack, total = MAKERS[name](100), 0
    for seed in (4, 6, 8, 9, 14):
        series = series_of(seed)
        watched = Watched(series.releases)
        total += attack.run(replace(series, releases=watched), involving=len(series)).total
        assert (watched.most, watched.reads) == (2, len(series))
    assert total


@pytest.mark.parametrize("growing_only", [True, False])
def test_correspondence_reads_every_release_once(growing_only: bool) -> None:
    """In order: each is compared with the one before, which is let go then."""
    attack, total = Correspondence(k=4), 0
    for seed in range(8):
        series = growing(seed) if growing_only else series_of(seed)
        watched = Watched(series.releases)
        found, whole = attack.run(replace(series, releases=watched)), attack.run(series)
        assert told(found) == told(whole)
        assert (watched.most, watched.reads) == (min(2, len(series)), len(series))
        total += whole.total
    assert total
    in_order = {name for name in ATTACKS if find_attack(name).in_order}
    assert in_order == {"correspondence"}


def test_a_worker_reads_two_releases_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the ledger, in today's codes; what one worker tells of a step is what the series says."""
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.Static(k=3, c=0.6), seed=3) as series:
        for table in People(5).months(4, CHURN, first=100):
            series.publish(table.select(SCHEMA.columns))
        whole, observed = FragmentReader(series._ledger.shelf, series.coding), series.audit(attacks=["equivalence"])
        alive, most = weakref.WeakSet[ObservedRelease](), []

        def made(facts: Facts) -> ObservedRelease:
            release = of(facts)
            alive.add(release)
            most.append(len(alive))
            return release

        of = ObservedRelease.of
        monkeypatch.setattr(ObservedRelease, "of", made)
        attack = RecordTracing(k=4)
        outcome = whole.attack_step(attack, (0, 1, 2, 3))
    assert most == [1, 2, 2, 2]
    assert outcome.total
    there = observed.observed
    assert told(name_outcome(outcome, there.words)) == told(attack.run(there, involving=4))
