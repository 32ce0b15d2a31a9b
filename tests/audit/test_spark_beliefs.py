"""The background knowledge attack on Spark: by workers, each a fragment, with the outcome of one machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import reissue as ri
from reissue.audit.spark.auditing import SparkAttacks
from reissue.coding import CodingNames
from reissue.errors import InputError
from reissue.methods.attack import Attack, Outcome
from reissue.methods.beliefs.knowledge import Knowledge
from reissue.methods.registry import make_attack
from tests.publish.test_fragment_beliefs import SCHEMA, VALUES, months
from tests.support import spark
from tests.support.releases import refuse_releases

pytestmark = [spark.together, spark.quiet]

NAME = "background-knowledge"


@pytest.fixture(autouse=True)
def running() -> None:
    """Without Spark these tests are skipped."""
    spark.engine()


def made(folder: Path, fragments: int = 3) -> ri.Series:
    strategy = ri.BayFrame(k=4, J=0.5, beta=4.0)
    series = ri.Series.create(folder / "s", SCHEMA, strategy, seed=3, fragments=fragments)
    for table in months(3, rows=500):
        series.publish(table)
    return series


def settings(folder: Path) -> dict[str, Mapping[str, object]]:
    known, shares = folder / "known.csv", folder / "shares.csv"
    claims = [f"P{i},{VALUES[i % 6]},{1 + i % 3},{(1, 0.6)[i % 2]}" for i in range(0, 200, 7)]
    known.write_text("\n".join(["subject,value,release,confidence", *claims]))
    shares.write_text("\n".join(["diagnosis,probability", *(f"{value},{1 / 6}" for value in VALUES)]))
    return {
        "estimated": {"threshold": 0.2, "steps": 2, "limit": 30},
        "ties, files and compromised people": {
            "threshold": 0.02,
            "estimator": "bayes",
            "sigma": 0.1,
            "knowledge": Knowledge(values=str(shares), compromised=str(known)),
        },
    }


def comparable(outcome: Outcome) -> tuple[object, ...]:
    at_risk = {number: people.tolist() for number, people in outcome.at_risk.items()}
    return outcome.findings, outcome.total, dict(outcome.measures), at_risk, outcome.notes


def attacked(series: ri.Series, given: Mapping[str, object]) -> tuple[Outcome, dict[str, int]]:
    """The attack on Spark on a series of which the driver has no release; and how many rows came to it."""
    engine, coding = spark.engine(), series.coding
    with SparkAttacks(engine, series._ledger, coding) as attacks:
        attack = make_attack(NAME, given)
        prepared = attack.prepare(CodingNames(coding, attacks.names.of))
        return attacks.run(prepared), dict(engine.transfers)


def test_the_outcome_is_that_of_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads the whole series, and only sums of counts come to the driver."""

    def stop(self: SparkAttacks, attack: Attack) -> Outcome:
        raise AssertionError("one worker read the whole series")

    monkeypatch.setattr(SparkAttacks, "_run_on_one_worker", stop)
    with made(tmp_path) as series:
        files = len(series._ledger.shelf.state.of_role("identities"))
        for name, given in settings(tmp_path).items():
            here = series.audit(attacks=[NAME], **given).outcomes[NAME]
            with monkeypatch.context() as patch:
                refuse_releases(patch)
                there, transfers = attacked(series, given)
            assert comparable(there) == comparable(here), name
            assert here.findings[0].subjects[0].startswith("P"), name
            assert set(transfers) == {"results of tasks", "counts of fragments"}, name
            triples = 6**3 if given.get("steps") == 2 else 0
            assert transfers["counts of fragments"] <= 3 * (6 + 6**2 + triples), name
            assert transfers["results of tasks"] <= 2 * 3 + 2 * files, name  # classes; parts; names, asked and told


def test_people_outside_a_table_of_shares_are_told_of(tmp_path: Path) -> None:
    shares = tmp_path / "shares.csv"
    shares.write_text("\n".join(["age,diagnosis,probability", *(f"20-30,{value},{1 / 6}" for value in VALUES)]))
    given: Mapping[str, object] = {"knowledge": Knowledge(values=str(shares))}
    with made(tmp_path, fragments=2) as series:
        with pytest.raises(InputError, match="belong to no category") as here:
            series.audit(attacks=[NAME], **given)
        with pytest.raises(InputError) as there:
            attacked(series, given)
    assert str(there.value) == str(here.value)
