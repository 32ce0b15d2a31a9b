"""An audit on Spark: the same document as on one machine, and hardly anything on the driver."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner

import reissue as ri
from reissue.audit import Audit
from reissue.audit.spark.auditing import SparkAttacks
from reissue.audit.spark.regrouped import deal_parts, find_first_tied, find_links
from reissue.cli import main
from reissue.methods.attack import Attack, Outcome
from reissue.methods.registry import make_attack
from reissue.methods.strategy import Strategy
from reissue.model.observed import Members, ObservedRelease
from tests.support import spark
from tests.support.churning import churning
from tests.support.divided import CHURN, INSERTS, NOTED, SCHEMA, People, Turnover
from tests.support.releases import in_parts, refuse_releases

pytestmark = [spark.together, spark.quiet]

SEPARABLE = ("intersection", "difference", "association", "historical-correlation", "possible-worlds")
FEW_STAY = Turnover(330, leave=0.93)
"""So few people are in two releases that their classes fall into many parts."""

TRACEABLE = "m-invariance in 3"
"""Here the note of a row tells whose it is, and one release is a folder of files."""

SERIES: dict[str, tuple[Strategy, int, Turnover]] = {
    TRACEABLE: (ri.MInvariance(m=3), 3, CHURN),
    "static in 2": (ri.Static(k=3, c=0.6), 2, CHURN),
    "static whole": (ri.Static(k=3, c=0.6), 1, FEW_STAY),
    "bcf in 3": (ri.BCF(k=4), 3, INSERTS),
}


@pytest.fixture(autouse=True)
def running() -> None:
    """Series find the session of this process; without Spark these tests are skipped."""
    spark.engine()


Made = Callable[[str], ri.Series]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the series that were published so far."""
    return tmp_path_factory.mktemp("originals")


@pytest.fixture
def made(originals: Path, tmp_path: Path) -> Made:
    """Gives one of SERIES: published when the first test asks for it, and a copy for each."""

    def copy(name: str) -> ri.Series:
        if not (originals / name).exists():
            publish(name, originals / name)
        return ri.Series.open(shutil.copytree(originals / name, tmp_path / "s"))

    return copy


def publish(name: str, path: Path) -> None:
    strategy, fragments, turnover = SERIES[name]
    tables = People(5).months(3, turnover, first=350)
    tables[0] = tables[0].filter(pa.array([int(age) > 24 for age in tables[0]["age"].to_pylist()]))  # codes will shift
    schema = NOTED if fragments > 1 else SCHEMA
    patient = {"seconds": 600.0}  # programs end by their proof, not by the clock
    with ri.Series.create(path, schema, strategy, seed=3, fragments=fragments, audit=patient) as series:
        for table in tables:
            if name == TRACEABLE:
                table = table.set_column(4, "note", pc.utf8_slice_codeunits(table["name"], 1))
            series.publish(table.select(schema.columns))
        if name == TRACEABLE:
            in_parts(series.releases[1].path / "release.parquet")


def told(document: dict[str, object]) -> dict[str, object]:
    """The document without times."""
    document.pop("created")
    for attack in document["attacks"]:  # type: ignore[attr-defined]
        attack.pop("seconds")
    return document


def at_risk(audit: Audit) -> dict[str, dict[int, list[int]]]:
    return {
        name: {number: people.tolist() for number, people in outcome.at_risk.items()}
        for name, outcome in audit.outcomes.items()
    }


def noted_ways(patch: pytest.MonkeyPatch) -> dict[str, str]:
    """How each attack of an audit to come will have been run."""
    ways: dict[str, str] = {}

    def watch(name: str) -> None:
        way = getattr(SparkAttacks, name)

        def run(self: SparkAttacks, attack: Attack) -> Outcome | None:
            outcome = way(self, attack)
            if outcome is not None:
                ways[attack.name] = name.split("_")[-1]
            return outcome

        patch.setattr(SparkAttacks, name, run)

    for name in (
        "_run_in_parts",
        "_run_on_counts",
        "_run_in_steps",
        "_run_with_shared_counts",
        "_run_by_value_sets",
        "_run_on_one_worker",
    ):
        watch(name)
    return ways


@pytest.mark.parametrize("name", [TRACEABLE, "static whole"])
def test_the_audit_is_the_same_document(name: str, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every attack that applies; it is workers who read the releases, and one has them all only where it must."""
    with made(name) as series:
        assert len(series._ledger.coding_versions) > 1
        if name.startswith("static"):
            series.forget(_somebody(series))
        here = series.audit()
        with monkeypatch.context() as patch:
            refuse_releases(patch)
            ways = noted_ways(patch)
            there = series.audit(engine="spark")
            document = there.to_dict()
    assert told(document) == told(here.to_dict())
    assert len(there.observed.releases[2].classes) == len(here.observed.releases[2].classes), "read when asked for"
    assert at_risk(there) == at_risk(here)
    assert ways["record-tracing"] == "steps"
    assert ways["difference"] == "parts"
    mixed = name.startswith(("static", "bcf"))  # people go from one set of values to another, in a small series
    assert ways["equivalence"] == ("worker" if mixed else "sets")
    assert [one.releases for one in here.traceable] == ([(1, 1), (2, 3), (1, 2)] if name == TRACEABLE else [])
    if name.startswith("static"):
        assert here.breaches
        assert any("subject " in one for finding in here.findings for one in finding.subjects), "somebody was forgotten"
        assert any(one.startswith("P0") for finding in there.findings for one in finding.subjects)


def test_pairs_of_releases_are_shared_out_where_everybody_hangs_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then parts would leave most of the work to one worker."""
    ways = noted_ways(monkeypatch)
    ages = ri.Schema(identifier="name", quasi_identifiers={"age": {"type": "numeric"}}, sensitive="diagnosis")
    with ri.Series.create(tmp_path / "s", ages, ri.Static(k=12, c=0.6), seed=3) as series:
        for table in People(5).months(4, CHURN, first=200):
            series.publish(table.select(ages.columns))
        found = [
            series.audit(attacks=["difference", "association"], k=30, c=0.3, engine=engine)
            for engine in ("embedded", "spark")
        ]
    assert ways == {"difference": "steps", "association": "parts"}
    assert found[0].outcomes["difference"].total > 3
    assert told(found[1].to_dict()) == told(found[0].to_dict())
    assert at_risk(found[1]) == at_risk(found[0])


def test_compromised_people_are_found_by_name_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only who looks for names reads the identity map; the others tell numbers, which are looked up."""
    ways = noted_ways(monkeypatch)
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.Static(k=3, c=0.6), seed=3) as series:
        for table in People(5).months(2, CHURN, first=100):
            series.publish(table.select(SCHEMA.columns))
        for known in ({"compromised": ("P00003", "P00007")}, {"p": 0.2}):
            here, there = (
                series.audit(attacks=["historical-correlation"], engine=engine, **known)
                for engine in ("embedded", "spark")
            )
            assert told(there.to_dict()) == told(here.to_dict())
            assert at_risk(there) == at_risk(here)
            assert any(name.startswith("P0") for finding in there.findings for name in finding.subjects)
    assert ways == {"historical-correlation": "worker"}


def test_who_keeps_the_promise_is_audited_on_counts(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker reads all rows of a series with common classes, unless there is somebody to name."""
    ways = noted_ways(monkeypatch)
    with made("bcf in 3") as series:
        for k, way in ((4, "counts"), (40, "worker")):
            here, there = (series.audit(attacks=["correspondence"], k=k, engine=e) for e in ("embedded", "spark"))
            assert told(there.to_dict()) == told(here.to_dict())
            assert at_risk(there) == at_risk(here)
            assert bool(here.breaches) == (way == "worker")
            assert ways == {"correspondence": way}
        here, there = (series.audit(attacks=["intersection"], engine=e) for e in ("embedded", "spark"))
    assert ways["intersection"] == "parts", "classes that people link, though no fragment has all their rows"
    assert told(there.to_dict()) == told(here.to_dict())
    assert at_risk(there) == at_risk(here)


def _somebody(series: ri.Series) -> str:
    """The identifier of a person whom the first finding of the intersection attack names."""
    audit = series.audit(attacks=["intersection"], names=False)
    number = int(audit.outcomes["intersection"].findings[0].subjects[0].split()[-1])
    identifiers, numbers = series._ledger.identities()
    return str(identifiers[numbers.tolist().index(number)].as_py())


def attacked(
    series: ri.Series, names: Sequence[str] = SEPARABLE, **thresholds: float
) -> tuple[dict[str, Outcome], dict[str, int]]:
    """Attacks on Spark, on a series of which the driver has no release; and what came to it."""
    engine, coding, asked = spark.engine(), series.coding, {**series.strategy.thresholds(), **thresholds}
    with SparkAttacks(engine, series._ledger, coding) as attacks:
        found = {name: attacks.run(make_attack(name, asked)) for name in names}
    return found, dict(engine.transfers)


def test_no_rows_come_to_the_driver_from_fragments(made: Made) -> None:
    with made("static in 2") as series:
        outcomes, transfers = attacked(series)
        whole = series.audit(attacks=SEPARABLE).outcomes
        parts = len(series._ledger.shelf.state.of_role("identities"))
    for name, outcome in outcomes.items():
        assert (outcome.total, outcome.measures) == (whole[name].total, whole[name].measures)
    lookups = transfers.pop("results of tasks") - 2 * (1 + len(SEPARABLE))  # classes, and attacks: one of each fragment
    assert transfers == {}
    assert 0 < lookups <= parts * len(SEPARABLE)


def test_of_a_series_made_whole_only_counts_come_to_the_driver(made: Made) -> None:
    with made("static whole") as series:
        outcomes, transfers = attacked(series)
        whole = series.audit(attacks=SEPARABLE).outcomes
        classes = sum(facts.class_count for facts in map(series._ledger.facts, (1, 2, 3)))
        rows = sum(len(facts.subjects) for facts in map(series._ledger.facts, (1, 2, 3)))
    for name, outcome in outcomes.items():
        assert (outcome.total, outcome.measures) == (whole[name].total, whole[name].measures)
    assert set(transfers) == {"results of tasks", "links of classes"}
    assert transfers["links of classes"] == classes < rows
    assert transfers["results of tasks"] > 3 * len(SEPARABLE), "all in one part: nothing was divided"


def test_of_classes_with_the_same_values_only_people_at_risk_come_to_the_driver(made: Made) -> None:
    with made(TRACEABLE) as series:
        outcomes, transfers = attacked(series, ["equivalence"], e=4)
        here = series.audit(attacks=["equivalence"], e=4).outcomes["equivalence"]
    there = outcomes["equivalence"]
    assert there.findings == here.findings
    assert here.breaches
    assert {n: who.tolist() for n, who in there.at_risk.items()} == {n: who.tolist() for n, who in here.at_risk.items()}
    assert transfers.pop("people at risk") == sum(len(people) for people in here.at_risk.values())
    assert transfers.pop("people with several signatures") == 0
    assert set(transfers) == {"results of tasks"}


def test_links_counted_apart_connect_the_same_classes() -> None:
    """Any division of the people among workers gives the parts that all links together give."""
    for seed in range(60):
        series = churning(np.random.default_rng(seed))
        tied = [find_first_tied([_worked_on(release, one) for release in series.releases]) for one in range(3)]
        every = np.tile(np.arange(len(tied[0])), 3)
        people = [np.bincount(r.members.classes, minlength=r.class_count) for r in series.releases if r.members]
        wanted = deal_parts(find_links(series.releases), people, 5)
        found = deal_parts((every, np.concatenate(tied)), people, 5)
        assert [part.tolist() for part in found] == [part.tolist() for part in wanted], seed


def _worked_on(release: ObservedRelease, worker: int) -> ObservedRelease:
    """The release with the people of one of three workers."""

    def own(some: Members | None) -> Members | None:
        if some is None:
            return None
        rows = some.subjects * 7919 % 3 == worker
        return Members(some.subjects[rows], some.classes[rows], some.codes[rows], some.values[rows])

    return replace(release, members=own(release.members), counterfeits=own(release.counterfeits))


def test_the_command(made: Made) -> None:
    with made("static in 2") as series:
        path = str(series.path)
    chosen = ["--attack", "intersection", "--attack", "difference", "--json"]
    runs = [CliRunner().invoke(main, ["audit", path, *chosen, "--engine", engine]) for engine in ("embedded", "spark")]
    assert [run.exit_code for run in runs] == [1, 1]
    documents = [told(json.loads(run.stdout)) for run in runs]
    assert documents[0] == documents[1]
    with_files = CliRunner().invoke(main, ["audit", "--config", "c.toml", "--release", "r.csv", "--engine", "spark"])
    assert with_files.exit_code == 2
    assert "--engine is for a SERIES" in with_files.output


def test_a_series_made_on_spark_is_audited_there(tmp_path: Path) -> None:
    table = People(1).months(1, CHURN, first=60)[0].drop_columns(["note"])
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.Static(k=3, c=0.6), seed=3, engine="spark") as series:
        series.publish(table, engine="embedded")
        stages: list[str] = []
        series.audit(attacks=["intersection"], progress=stages.append)
        assert stages == ["start", "read", "1 of 1, intersection"]
