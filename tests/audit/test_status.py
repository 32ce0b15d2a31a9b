"""Held means held: what an attack comes to, in documents, lines, pages and exit codes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import click.testing
import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.audit.attacks import AttackResult
from reissue.cli import main
from reissue.errors import InfeasiblePolicy
from reissue.methods import registry
from reissue.methods.attack import Attack, Outcome
from reissue.methods.incremental.intersection_attack import Intersection
from reissue.methods.learning.attack import Learning
from reissue.model.observed import Observed
from tests.support.hospital import hospital_schema, population


def tangled(folder: Path, strategy: ri.Static | None = None) -> ri.Series:
    """A series whose classes cross at random, so that possible worlds has something to search."""
    series = ri.Series.create(folder / "s", hospital_schema(), strategy or ri.Static(k=3), seed=1)
    people = population(150)
    rng = np.random.default_rng(3)
    for _ in range(3):
        here = np.sort(rng.permutation(150)[:110])
        series.publish(people.take(pa.array(here)))
    return series


@dataclass(frozen=True, kw_only=True)
class Tired(Intersection):
    """An attack that finds nothing and did not look at seven people."""

    name: ClassVar[str] = "intersection"

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        done = super().run(series, involving=involving)
        return replace(
            done, findings=(), total=0, notes=("Seven were left out; --set limit=9 finishes it.",), unfinished=7
        )


@pytest.fixture
def tired(monkeypatch: pytest.MonkeyPatch) -> type[Attack]:
    monkeypatch.setitem(registry.ATTACKS, "intersection", f"{__name__}:Tired")
    return Tired


def test_what_an_outcome_comes_to() -> None:
    def status(kind: type[Attack], outcome: Outcome | None) -> str:
        return AttackResult(kind.name, kind, {}, outcome, None, 0.0).status

    nothing = Outcome("any", (), 0)
    assert status(Intersection, nothing) == "held"
    assert status(Learning, nothing) == "measured", "it proves nothing about other attackers"
    for kind in (Intersection, Learning):
        assert status(kind, replace(nothing, unfinished=1)) == "partly"
        assert status(kind, None) == "skipped"


@pytest.mark.parametrize(
    ("k", "settings", "status"),
    [
        (3, {"attacks": ["background-knowledge"], "threshold": 1.0}, "held"),
        (70, {"attacks": ["background-knowledge"], "threshold": 1.0}, "measured"),
        (3, {"attacks": ["background-knowledge"], "threshold": 1.0, "estimator": "omega"}, "measured"),
        (3, {"attacks": ["background-knowledge"], "threshold": 1.0, "sigma": 0.1}, "measured"),
        (3, {"attacks": ["historical-correlation"], "n": 1, "p": 0.1, "h": 0.99}, "measured"),
    ],
)
def test_what_is_drawn_or_read_nearly_is_measured(
    k: int, settings: dict[str, object], status: str, tmp_path: Path
) -> None:
    """Classes of 70 rows have more ways to deal their values than are summed up exactly."""
    with tangled(tmp_path, ri.Static(k=k)) as series:
        audit = series.audit(**settings)  # type: ignore[arg-type]
    (one,) = audit.checked
    nearly = one.outcome is not None and one.outcome.measures.get("approximated", 0) > 0
    assert (one.status, nearly) == (status, k == 70)
    assert audit.to_dict()["attacks"][0]["measuring"] == (status == "measured")  # type: ignore[index]


def test_possible_worlds_counts_whom_its_limit_leaves_out(tmp_path: Path) -> None:
    with tangled(tmp_path) as series:
        idle = series.audit(attacks=["possible-worlds"], seconds=0).outcomes["possible-worlds"]
        busy = series.audit(attacks=["possible-worlds"], seconds=60).outcomes["possible-worlds"]
    assert idle.unfinished > 0
    assert f"{idle.unfinished} people" in " ".join(idle.notes)
    assert busy.unfinished == 0


def test_partly_is_in_the_document_the_lines_the_page_and_the_exit_code(tmp_path: Path, tired: type[Attack]) -> None:
    with tangled(tmp_path) as series:
        audit = series.audit(attacks=["intersection", "association"], c=0.9, m=2)
    document = audit.to_dict()
    [found] = [one for one in document["attacks"] if one["name"] == "intersection"]  # type: ignore[attr-defined]
    assert (found["status"], found["unfinished"]) == ("partly", 7)
    assert document["verdict"]["attacks_partly"] == ["intersection"]  # type: ignore[index]
    assert "partly    intersection" in audit.describe()
    assert "not finished" in audit.to_html()
    run = click.testing.CliRunner()
    done = run.invoke(main, ["audit", str(tmp_path / "s"), "--attack", "intersection", "--json"])
    assert done.exit_code == 4, done.output
    assert json.loads(done.output)["verdict"]["breached"] is False


def test_publish_never_commits_where_a_promised_attack_looked_only_at_part(tmp_path: Path, tired: type[Attack]) -> None:
    assert "intersection" in ri.CheckedMondrian(k=3).stops
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.CheckedMondrian(k=3), seed=1) as series:
        with pytest.raises(InfeasiblePolicy, match=r"intersection attack.*7 were left out.*Nothing was published"):
            series.publish(population(40))
        assert not series.releases
    assert list((tmp_path / "s" / "releases").iterdir()) == []
    assert InfeasiblePolicy.exit_code == 3


def test_attacks_that_only_measure_never_say_held(tmp_path: Path) -> None:
    with tangled(tmp_path) as series:
        audit = series.audit(attacks=["learning", "intersection"], c=0.99)
    statuses = {one.name: one.status for one in audit.checked}
    assert statuses["learning"] in ("measured", "breached")
    assert statuses["intersection"] in ("held", "breached")


def test_with_promise_only_promised_attacks_count(tmp_path: Path) -> None:
    with tangled(tmp_path):
        pass
    run = click.testing.CliRunner()
    strict = ["audit", str(tmp_path / "s"), "--attack", "intersection", "--set", "c=0.3"]
    assert run.invoke(main, strict).exit_code == 1
    done = run.invoke(main, [*strict, "--promise"])
    assert done.exit_code == 0, "static promises to stop no attack across releases"
