"""An attack on the parts of a series tells what it tells of the whole: the same findings, people, measures, notes."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import reissue as ri
from reissue.arrays.types import Int32
from reissue.audit.spark.names import TokenWords, name_outcome
from reissue.audit.spark.regrouped import deal_parts, find_links
from reissue.methods.attack import Attack, Outcome, WorkDivision, merge
from reissue.methods.baselines.merge import Merge
from reissue.methods.baselines.static import Static
from reissue.methods.bcf.strategy import BCF
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.js_reduce import JSReduce
from reissue.methods.correlation.attack import HistoricalCorrelation
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.equivalence.attack import Equivalence
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.incremental.checked_incognito import CheckedIncognito
from reissue.methods.incremental.checked_mondrian import CheckedMondrian
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.intersection_attack import Intersection
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.methods.invariance.attack import Association
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.registry import ATTACKS, find_attack, make_attack
from reissue.methods.strategy import Strategy
from reissue.methods.worlds.attack import PossibleWorlds
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.churning import churning
from tests.support.histories import CHURN, EVERYTHING, INSERTS, Turnover, generate, observe, run_series
from tests.support.hospital import hospital_schema, population
from tests.support.in_parts import AttackTask, divided, in_parts, run_parts, split_series

MAKERS: dict[str, Callable[[int], Attack]] = {
    "intersection": lambda limit: Intersection(c=0.5, limit=limit),
    "difference": lambda limit: Difference(k=3, c=0.5, limit=limit),
    "association": lambda limit: Association(m=2, limit=limit),
    "association, invariant": lambda limit: Association(m=3, invariant=True, limit=limit),
    "historical-correlation": lambda limit: HistoricalCorrelation(n=3, limit=limit),
    "possible-worlds": lambda limit: PossibleWorlds(c=0.5, m=2, seconds=60, limit=limit),
}


STRATEGIES: dict[str, tuple[Turnover, Strategy]] = {
    "static": (CHURN, Static(k=3)),
    "merge": (CHURN, Merge(k=3)),
    "bcf": (INSERTS, BCF(k=3)),
    "m-invariance": (CHURN, MInvariance(m=2, on_ineligible="counterfeit")),
    "e-equivalence": (CHURN, EEquivalence(m=2, e=1, on_ineligible="counterfeit")),
    "cor-split": (CHURN, CorSplit(m=2, n=1, on_ineligible="counterfeit")),
    "bay-frame": (EVERYTHING, BayFrame(k=3, J=0.8, beta=5.0, most_suppressed=1.0)),
    "js-reduce": (EVERYTHING, JSReduce(k=3, t=0.6, J=0.8, most_suppressed=1.0)),
    "checked-mondrian": (INSERTS, CheckedMondrian(k=3, c=0.7)),
    "checked-incognito": (INSERTS, CheckedIncognito(k=3, c=0.7)),
}
CHANGE_VALUES = ("bay-frame", "js-reduce")


def at_once(tasks: Sequence[AttackTask]) -> list[Outcome]:
    return [pickle.loads(pickle.dumps(task)).run() for task in tasks]


def pieced(attack: Attack, series: Observed, parts: int, involving: int | None = None) -> Outcome:
    """The attack on the series in at most `parts` parts."""
    return run_parts(attack, divided(series, parts, involving), series.words, at_once, involving=involving)


def told(outcome: Outcome) -> dict[str, object]:
    """All of an outcome, so that two can be compared."""
    return {
        "findings": outcome.findings,
        "ranks": [finding.rank for finding in outcome.findings],
        "total": outcome.total,
        "at_risk": {number: ids.tolist() for number, ids in outcome.at_risk.items()},
        "measures": dict(outcome.measures),
        "notes": outcome.notes,
    }


def whole_part(series: Observed) -> list[Int32]:
    return [np.zeros(release.class_count, dtype=np.int32) for release in series.releases]


def bins_of(series: Observed, parts: int) -> list[Int32]:
    people = [np.bincount(r.members.classes, minlength=r.class_count) for r in series.releases if r.members is not None]
    return deal_parts(find_links(series.releases), people, parts)


@pytest.mark.parametrize("name", MAKERS)
def test_the_parts_tell_what_the_whole_tells(name: str) -> None:
    several, found, beyond = 0, 0, 0
    for seed in range({"possible-worlds": 40, "difference": 32}.get(name, 60)):  # these two take longest
        rng = np.random.default_rng([seed, 17])
        limit = (2, 100)[seed % 2]
        attack = MAKERS[name](limit)
        assert attack.divides(WorkDivision.PARTS)
        series = churning(rng, changing=seed % 3 == 2)
        involving = int(rng.integers(1, len(series) + 1)) if seed % 4 == 3 else None
        whole = attack.run(series, involving=involving)
        parts = int(rng.integers(2, 9))
        merged = pieced(attack, series, parts, involving)
        assert told(merged) == told(whole), f"seed {seed}"
        assert len({finding.rank for finding in whole.findings}) == len(whole.findings), "ranks are unique"
        several += len(divided(series, parts, involving)) > 1
        found += whole.total > 0
        beyond += whole.total > limit
    assert several > 20
    assert found > 10
    assert beyond > 5, "the limit was never reached"


@pytest.mark.parametrize("name", MAKERS)
def test_a_component_cut_in_two_is_noticed(name: str) -> None:
    attack, wrong = MAKERS[name](100), 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 18])
        series = churning(rng, people=12, releases=3)
        if any(release.class_count < 2 for release in series.releases):
            continue
        bins = [rng.permutation(np.arange(r.class_count) % 2).astype(np.int32) for r in series.releases]
        parts = [replace(part, words=TokenWords()) for part in split_series(series, bins)]
        cut = run_parts(attack, parts, series.words, at_once)
        wrong += told(cut) != told(attack.run(series))
        if wrong > 10:
            break
    assert wrong > 10


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_every_strategy_publishes(name: str) -> None:
    """Several histories published apart, as fragments are, make a series of at least so many parts."""
    series = side_by_side(name, np.random.default_rng([zlib.crc32(name.encode()), 20]))
    found = 0
    for make in MAKERS.values():
        attack = make(30)
        if name in CHANGE_VALUES and attack.name == "possible-worlds":
            attack = PossibleWorlds(seconds=0)  # it stops at once, or its programs would search for worlds in vain
        whole = attack.run(series)
        assert told(pieced(attack, series, 3)) == told(whole), attack.name
        found += whole.total > 0
    assert len(divided(series, 3)) == 3
    assert found or name in ("m-invariance", "cor-split", "e-equivalence"), "nothing was found, so nothing was compared"


def side_by_side(name: str, rng: np.random.Generator) -> Observed:
    turnover, strategy = STRATEGIES[name]
    pieces = []
    for seed in range(3):
        snapshots = generate(rng, releases=3, rows=60, values=6, turnover=turnover)
        pieces.append(observe(run_series(strategy, snapshots, seed), snapshots[0]))
    releases = []
    for position in range(3):
        parts = [piece.releases[position] for piece in pieces]
        first = np.cumsum([0, *(part.class_count for part in parts)])
        order = rng.permutation(first[-1]).astype(np.int32)
        back = np.argsort(order)

        def people(some: list[Members | None], first: np.ndarray = first, order: np.ndarray = order) -> Members:
            kept = [one for one in some if one is not None]
            apart = [3 * one.subjects + i for i, one in enumerate(kept)]  # still negative for counterfeits
            by = np.argsort(np.concatenate(apart))
            return Members(
                np.concatenate(apart)[by],
                order[np.concatenate([one.classes + first[i] for i, one in enumerate(kept)])][by],
                np.concatenate([one.codes for one in kept])[by],
                np.concatenate([one.values for one in kept])[by],
            )

        releases.append(
            ObservedRelease(
                position + 1,
                np.concatenate([part.boxes for part in parts])[back],
                order[np.concatenate([part.classes + first[i] for i, part in enumerate(parts)])],
                np.concatenate([part.values for part in parts]),
                people([part.members for part in parts]),
                counterfeits=people([part.counterfeits for part in parts]),
            )
        )
    return replace(pieces[0], releases=releases)


def test_numbers_are_enough_for_a_worker() -> None:
    series = churning(np.random.default_rng(3))
    series = replace(series, words=_Private())
    for part in divided(series, 4):
        sent = pickle.dumps(AttackTask(Intersection(), part))
        assert b"_Private" not in sent
        assert all(release.members.codes.shape[1] == 0 for release in part.releases if release.members)


class _Private:
    """Words that would give people away if they travelled."""

    def __reduce__(self) -> str:
        raise AssertionError("names were sent to a worker")

    def box(self, box: Int32) -> str:
        return "box"

    def value(self, code: int) -> str:
        return f"value {code}"

    def subject(self, number: int) -> str:
        return f"person {number}"

    def release(self, number: int) -> str:
        return f"release {number}"


def test_names_are_put_in_where_they_are_known() -> None:
    series = replace(churning(np.random.default_rng(3)), words=_Private())
    outcome = pieced(Intersection(), series, 4)
    assert outcome.findings
    for finding in outcome.findings:
        assert finding.subjects[0].startswith("person ")
        assert finding.value is not None
        assert finding.value.startswith("value ")
        assert "{" not in finding.sentence


def test_others_run_on_the_whole_series() -> None:
    def never(tasks: Sequence[AttackTask]) -> Sequence[Outcome]:
        raise AssertionError("not separable")

    series = churning(np.random.default_rng(3))
    for attack in (RecordTracing(), Equivalence(), PossibleWorlds(compromised=(1,)), HistoricalCorrelation(p=0.1)):
        assert not attack.divides(WorkDivision.PARTS)
        if not attack.divides(WorkDivision.STEPS):
            assert told(in_parts(3, never)(attack, series)) == told(attack.run(series))
        with pytest.raises(TypeError, match="whole series"):
            merge(attack, [])


def test_every_attack_says_whether_it_is_separable() -> None:
    yes = {name for name in ATTACKS if find_attack(name)().divides(WorkDivision.PARTS)}
    assert yes == {"intersection", "difference", "association", "historical-correlation", "possible-worlds"}


def test_an_inseparable_attack_does_differ_in_parts() -> None:
    """Why record tracing and equivalence run whole: classes that share nobody do matter to them."""
    for attack in (RecordTracing(k=3), Equivalence(e=4)):
        different = 0
        for seed in range(60):
            series = churning(np.random.default_rng([seed, 19]))
            parts = split_series(series, bins_of(series, 4))
            totals = sum(attack.run(part).total for part in parts)
            different += totals != attack.run(series).total
            if different > 5:
                break
        assert different > 5, attack.name


def test_a_published_series_in_parts_tells_the_same(tmp_path: Path) -> None:
    sizes: dict[str, int] = {}

    def run(tasks: Sequence[AttackTask]) -> list[Outcome]:
        sizes[tasks[0].attack.name] = len(tasks)
        return at_once(tasks)

    tables = [population(160).slice(0, 150), population(160).slice(5, 155), population(160).slice(10, 160)]
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2), seed=2) as series:
        for table in tables:
            series.publish(table)
        observed = series.audit(seconds=600.0).observed
    piece_by_piece, breaches = in_parts(3, run), 0
    for name in ATTACKS:
        attack = make_attack(name, {"seconds": 600.0})
        if attack.selective:
            continue  # it reads how other strategies cut
        whole = attack.run(observed)
        assert told(piece_by_piece(attack, observed)) == told(whole), name
        breaches += len(whole.breaches)
    assert breaches
    assert set(sizes.values()) == {3}
    assert {"intersection", "difference", "record-tracing"} <= set(sizes)


def test_naming_leaves_numbers_alone() -> None:
    series = churning(np.random.default_rng(4))
    outcome = Difference(k=3).run(replace(series, words=TokenWords()))
    assert told(name_outcome(outcome, series.words)) == told(Difference(k=3).run(series))
