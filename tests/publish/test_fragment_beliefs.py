"""Beliefs in fragments are those of an attacker who knows the whole table, and classes are compared with all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.engine.snapshot import load
from reissue.errors import SettingsError
from reissue.history.past_releases import Identities
from reissue.methods.beliefs.classes import estimate_priors
from reissue.methods.beliefs.cycle import remember_beliefs
from reissue.methods.beliefs.knowledge import ReadKnowledge
from reissue.methods.beliefs.revision import compute_divergences
from reissue.model.release import Coded, Facts, History, Table
from reissue.model.requirement import distribution
from reissue.model.requirement_check import violations
from reissue.publish.fragment import FragmentJob

Bayesian = ri.BayFrame | ri.JSReduce

SCHEMA = ri.Schema(
    identifier="name",
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [2, 1]}},
    sensitive="diagnosis",
)
VALUES = ("none", "cold", "flu", "gout", "ulcer", "lupus")

# estimators whose posteriors do not depend on how ties are broken, so that they can be compared
STRATEGIES: list[Bayesian] = [
    ri.BayFrame(k=4, J=0.06, beta=1.5, estimator="omega"),
    ri.JSReduce(k=4, t=0.35, J=0.04, steps=2),
    ri.BayFrame(k=4, J=0.035, t=0.3, estimator="js-reduce", order="hilbert"),
]
EVERY = pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: f"{s.name}-{getattr(s, 'leftovers', '')}")


def months(count: int, rows: int = 700, seed: int = 3) -> list[pa.Table]:
    """Values depend on age and change over time; people come and go."""
    rng = np.random.default_rng(seed)
    age, place = rng.integers(20, 80, rows * 2), rng.integers(100, 140, rows * 2)
    sick = rng.random(rows * 2) < (age - 15) / 80
    value = np.where(sick, rng.integers(2, 6, rows * 2), rng.integers(0, 2, rows * 2))
    tables, here = [], np.arange(rows)
    for month in range(count):
        order = rng.permutation(here)
        columns = {"name": [f"P{i}" for i in order], "age": age[order], "zip": [str(p) for p in place[order]]}
        tables.append(pa.table({**columns, "diagnosis": [VALUES[v] for v in value[order]]}))
        here = np.concatenate([here[rng.random(len(here)) > 0.1], rows + np.arange(80 * month, 80 * (month + 1))])
        changed = rng.random(len(value)) < 0.15
        value[changed] = (value[changed] + 1) % len(VALUES)
    return tables


@dataclass
class Outsider:
    """Who knows the whole table's statistics and reads the releases as one series, with code for undivided tables."""

    series: ri.Series
    strategy: Bayesian

    def __post_init__(self) -> None:
        self.caches: dict[str, Table] = {}
        self.past: list[Facts] = []

    def reads(self, table: pa.Table) -> tuple[Facts, np.ndarray]:
        """(the release, float64[classes] how far apart the beliefs about its members are)."""
        facts = self.series._ledger.facts(len(self.past) + 1)
        snapshot = self._snapshot(table)
        history = History(self.past, self.caches, 1)
        prior, applied = estimate_priors(
            snapshot, history, self.strategy.knowledge, ReadKnowledge(), self.strategy.reasoning
        )
        applied = self._with_stand_ins(applied, facts)
        known = replace(facts, extras=applied.extras())
        person = dict(zip(applied.stand_ins.tolist(), applied.behind.tolist(), strict=True))
        behind = np.array([person.get(s, s) for s in facts.subjects.tolist()])
        order = np.argsort(snapshot.subjects)
        rows = order[np.searchsorted(snapshot.subjects, behind, sorter=order)]
        apart = compute_divergences(prior[rows], facts.classes, facts.class_count)
        self.caches = dict(
            remember_beliefs(self.caches, known, self.strategy.reasoning, self.strategy.knowledge.smoothing)
        )
        self.past.append(known)
        return facts, apart

    def _snapshot(self, table: pa.Table) -> Coded:
        read, coding = load(table, SCHEMA), self.series.coding
        codes, values = read.encode(coding)
        numbers = Identities.read(self.series._ledger).numbers(read.identifiers)
        return Coded(numbers, codes, values, coding.domains, len(coding.values))

    def _with_stand_ins(self, applied, facts: Facts):  # type: ignore[no-untyped-def]
        """Whom the counterfeits stand for, as the fragments say, under the numbers of the whole release."""
        from reissue.model.fragments import number_globally

        shelf = self.series._ledger.shelf
        fakes, behind = [], []
        for fragment in shelf.fragments:
            own = shelf.facts(facts.number, fragment).extras
            fakes.append(number_globally(own["stand_in"], fragment, len(shelf.fragments)))
            behind.append(own["behind"])
        return replace(applied, stand_ins=np.concatenate(fakes), behind=np.concatenate(behind))


@EVERY
def test_the_promise_holds_for_who_knows_the_whole_table(strategy: Bayesian, tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", SCHEMA, strategy, seed=5, fragments=3) as series:
        outsider, furthest = Outsider(series, strategy), 0.0
        for table in months(3):
            release = series.publish(table)
            facts, apart = outsider.reads(table)
            assert apart.max() <= strategy.J + 1e-9
            furthest = max(furthest, apart.max())
            asked, values = strategy.promise.requirement, len(series.coding.values)
            everybody = np.bincount(outsider._snapshot(table).values, minlength=values)
            assert violations(replace(asked, beta=None), facts.classes, facts.values, values) == ()
            whole = distribution(everybody.astype(np.int64))
            assert violations(replace(asked, t=None), facts.classes, facts.values, values, whole) == ()
            assert release.counts["suppressed"] < 0.25 * len(table)
        assert furthest > 0.9 * strategy.J, "beliefs differ within classes, or nothing is proved"
        assert series.verify(rebuild=True) == []


@EVERY
def test_fragments_left_to_themselves_protect_against_another_attacker(
    strategy: Bayesian, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without what fragments tell each other the same outsider sees the promise broken."""
    monkeypatch.setattr(FragmentJob, "count_for_others", lambda *_: None)
    with ri.Series.create(tmp_path / "s", SCHEMA, strategy, seed=5, fragments=3) as series:
        outsider, broken = Outsider(series, strategy), False
        for table in months(3):
            series.publish(table)
            facts, apart = outsider.reads(table)
            values = len(series.coding.values)
            broken |= bool(violations(strategy.promise.requirement, facts.classes, facts.values, values))
            broken |= bool(apart.max() > strategy.J + 1e-6)
        assert broken


def test_what_is_published_is_what_classes_were_compared_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Suppressed rows change the table, so fragments are made again until they agree on it."""
    told = []
    made = FragmentJob.make
    monkeypatch.setattr(FragmentJob, "make", lambda self, *given: told.append(given[-1]) or made(self, *given))
    with ri.Series.create(tmp_path / "s", SCHEMA, STRATEGIES[0], seed=5, fragments=3) as series:
        first, second = months(2)
        series.publish(first)
        told.clear()
        assert series.publish(second).counts["suppressed"] > 0
        attempts = [whole.published for whole in told[::3]]
        assert len(attempts) > 1
        assert [len(one) for one in attempts] == list(range(len(attempts)))
        values = series._ledger.facts(2).values
        assert np.array_equal(attempts[-1][-1], np.bincount(values, minlength=len(series.coding.values)))


def test_an_earlier_release_of_another_strategy_is_not_guessed_at(tmp_path: Path) -> None:
    first, second = months(2)
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.Static(k=5), fragments=3) as series:
        series.publish(first)
        with pytest.raises(SettingsError, match="Release 1 was made by 'static'"):
            series.publish(second, strategy=STRATEGIES[0])
        assert len(series.releases) == 1
    with ri.Series.create(tmp_path / "t", SCHEMA, STRATEGIES[1], fragments=3) as series:
        series.publish(first)
        series.publish(second, strategy=STRATEGIES[0])
        assert series.verify(rebuild=True) == []


def test_compromised_records_reach_the_fragment_of_their_person(tmp_path: Path) -> None:
    first, second = months(2)
    known, new = (
        first["name"].to_pylist()[:30],
        sorted(set(second["name"].to_pylist()) - set(first["name"].to_pylist())),
    )
    lines = [f"{name},flu,1,0.9" for name in known] + [f"{name},gout,2,0.8" for name in new[:9]] + ["nobody,flu,2,0.5"]
    file = tmp_path / "known.csv"
    file.write_text("\n".join(["subject,value,release,confidence", *lines]))
    strategy = replace(STRATEGIES[0], knowledge=ri.Knowledge(compromised=str(file)))
    with ri.Series.create(tmp_path / "s", SCHEMA, strategy, seed=5, fragments=3) as series:
        for number, table, about in ((1, first, known), (2, second, new[:9])):
            series.publish(table)
            people, shelf = Identities.read(series._ledger), series._ledger.shelf
            told = []
            for fragment in shelf.fragments:
                facts = shelf.facts(number, fragment)
                own = facts.extras["claim_subject"]
                told += own.tolist()
                assert set(own.tolist()) <= set(facts.extras["newcomers"].tolist()), "about its own people only"
            assert sorted(map(people.name, told)) == sorted(about)
