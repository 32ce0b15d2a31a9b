"""Chains from compromised people against the policy's own p and h, and prior sets of possible values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import InputError, SettingsError
from reissue.methods.correlation.attack import HistoricalCorrelation
from reissue.methods.correlation.inference import PriorSets, build_world, infer, read_prior_sets
from reissue.methods.correlation.strategy import CorSplit
from tests.support.correlations import fixed_point, groups_of, random_series
from tests.support.histories import Turnover, generate, observe, run_series
from tests.support.hospital_table import FIRST, NUMBERS, SECOND, table

SLOW = Turnover(arrive=0.1, leave=0.1)
LAST = 6


def slow_series():  # type: ignore[no-untyped-def]
    """A tenth of the people replaced each time: few people tell each class from an earlier one."""
    return generate(np.random.default_rng(4), releases=LAST, rows=240, values=8, turnover=SLOW)


POLICY = CorSplit(m=4, p=0.06, L=12, h=0.3, on_ineligible="counterfeit")


def test_the_formula_keeps_h_while_chains_exceed_it_and_that_is_a_breach() -> None:
    snapshots = slow_series()
    series = observe(run_series(POLICY, snapshots, 3), snapshots[-1])
    settings = {**POLICY.thresholds(), **POLICY.measured_thresholds()}
    outcome = HistoricalCorrelation(n=int(settings["n"]), p=settings["p"], h=settings["h"]).run(series)
    assert outcome.measures["predicted_breach"] < POLICY.h  # type: ignore[operator]
    assert outcome.measures["measured_breach"] > POLICY.h  # type: ignore[operator]
    first = outcome.findings[0]
    assert first.breach
    assert (first.level, first.threshold) == (outcome.measures["measured_breach"], POLICY.h)
    assert f"disclose {100 * first.level:.3g}% of the others" in first.sentence
    assert any(finding.breach and finding.subjects for finding in outcome.findings), "people are named"


def test_what_h_allows_is_no_breach_and_puts_nobody_at_risk() -> None:
    snapshots = slow_series()[:2]
    series = observe(run_series(POLICY, snapshots, 3), snapshots[-1])
    free = HistoricalCorrelation(n=1, p=0.3, trials=4).run(series)
    assert free.breaches, "one draw gives people away"
    allowed = HistoricalCorrelation(n=1, p=0.3, h=0.99, trials=4).run(series)
    assert allowed.breaches == ()
    assert all(len(people) == 0 for people in allowed.at_risk.values())
    assert any("h=0.99 allows it" in note for note in allowed.notes)


def test_publish_says_what_chains_reach_before_it_commits() -> None:
    snapshots = slow_series()
    warned = []
    for candidate in steps_of(POLICY, snapshots):
        said = [step for step in candidate if "chains" in step.lower()]
        assert len(said) == 1
        warned.append(said[0].startswith("WARNING"))
    assert not warned[0]
    assert warned[-1]


def steps_of(strategy: CorSplit, snapshots) -> list[tuple[str, ...]]:  # type: ignore[no-untyped-def]
    from reissue.model.release import History

    releases, caches, said = [], {}, []  # type: ignore[var-annotated]
    for number, snapshot in enumerate(snapshots, start=1):
        candidate = strategy.publish(snapshot, History(list(releases), caches, number))
        facts = candidate.facts(number, snapshot)
        caches = dict(strategy.remember(caches, facts))
        releases.append(facts)
        said.append(candidate.steps)
    return said


def test_a_degree_of_one_is_warned_of() -> None:
    few = CorSplit(m=4, p=0.04, L=2, h=0.3, on_ineligible="counterfeit")
    assert few.degree == 1
    assert any("n-Choose takes n=1" in step for step in steps_of(few, slow_series()[:1])[0])
    asked = CorSplit(m=4, p=0.04, L=2, h=0.3, n=1, on_ineligible="counterfeit")
    assert not any("n-Choose" in step for step in steps_of(asked, slow_series()[:1])[0])


def test_the_audit_of_a_series_takes_p_and_h_from_its_policy(tmp_path: Path) -> None:
    schema = ri.Schema(identifier="who", quasi_identifiers={"age": ri.Numeric()}, sensitive="illness")
    rng = np.random.default_rng(1)
    people = pa.table(
        {
            "who": [f"p{i}" for i in range(120)],
            "age": rng.integers(20, 80, 120),
            "illness": [f"i{v}" for v in rng.integers(0, 8, 120)],
        }
    )
    with ri.Series.create(tmp_path / "s", schema, POLICY, seed=2) as series:
        series.publish(people)
        outcome = series.audit(attacks=["historical-correlation"]).outcomes["historical-correlation"]
        assert outcome.measures["trials"] == 10.0
        named = series.audit(attacks=["historical-correlation"], compromised=(3,)).outcomes["historical-correlation"]
        assert "trials" not in named.measures


# --- prior sets -------------------------------------------------------------------------------------------------------


class Hospital:
    values = ("cancer", "bronchitis", "AIDS")
    attributes = ()

    def interval(self, attribute: str, label: str) -> tuple[int, int]:
        raise InputError(attribute)

    def numbers(self, identifiers):  # type: ignore[no-untyped-def]
        return np.array([NUMBERS.get(name, -1) for name in identifiers], dtype=np.int64)


def test_a_prior_set_of_one_value_is_as_good_as_being_compromised(tmp_path: Path) -> None:
    path = tmp_path / "possible.csv"
    path.write_text("subject,value\nCarl,AIDS\nZoe,AIDS\n")
    attack = HistoricalCorrelation(n=1, possible=str(path)).prepare(Hospital())  # type: ignore[arg-type]
    outcome = attack.run(table(FIRST, SECOND))
    erica = next(finding for finding in outcome.findings if finding.subjects == ("Erica",))
    assert (erica.value, erica.breach) == ("AIDS", True)
    assert "Carl" in erica.sentence
    assert any("1 people of" in note for note in outcome.notes)


def test_prior_sets_restrict_as_the_definitions_say() -> None:
    narrowed = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        series, truth = random_series(rng, values=4, merge=0.0, fakes=False)
        world = build_world(series.releases)
        chosen = rng.permutation(world.subjects)[:4]
        sets = {int(s): {truth[int(s)], int(rng.integers(0, 4))} for s in chosen}
        lines = [(s, v) for s, values in sets.items() for v in values]
        prior = PriorSets(np.array([s for s, _ in lines]), np.array([v for _, v in lines], dtype=np.int32))
        told = infer(world, np.empty(0, dtype=np.int64), prior=prior)
        expected = by_definition(series, truth, sets)
        for i, subject in enumerate(world.subjects.tolist()):
            slots = slice(world.entry_start[i], world.entry_start[i + 1])
            left = set(world.entries[slots][told.possible[slots]].tolist())
            assert left == expected[subject], (seed, subject)
            narrowed += subject not in sets and len(left) < 4
    assert narrowed > 20


def by_definition(series, truth, sets):  # type: ignore[no-untyped-def]
    """The fixed point of definitions 2 and 4 where single people start with fewer values."""
    possible = fixed_point(series, truth, set())
    for person, values in sets.items():
        possible[person] = possible[person] & values
    groups = groups_of(series)
    related = [(a, b) for a in groups for b in groups if a.release != b.release and a.values == b.values]
    while True:
        before = {person: set(left) for person, left in possible.items()}
        for group in groups:
            for value in set(group.values):
                holders = {r for r in group.people if possible[r] == {value}}
                if len(holders) >= list(group.values).count(value):
                    for r in group.people - holders:
                        possible[r] = possible[r] - {value}
        for a, b in related:
            if a.people & b.people:
                allowed = set().union(*(possible[r] for r in b.people - a.people))
                for r in a.people - b.people:
                    possible[r] = possible[r] & allowed
        if before == possible:
            return possible


@pytest.mark.parametrize(
    ("text", "said"),
    [("subject,value\nCarl,flu\n", "knows no value 'flu'"), ("who,value\nCarl,AIDS\n", "no column 'subject'")],
)
def test_mistakes_in_the_file_are_named(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "possible.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_prior_sets(str(path), Hospital())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cannot be read"):
        read_prior_sets(str(tmp_path / "none.csv"), Hospital())  # type: ignore[arg-type]
    with pytest.raises(SettingsError):
        HistoricalCorrelation(p=0.1, h=1.5)
