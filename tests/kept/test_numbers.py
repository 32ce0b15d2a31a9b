"""Codings by rule and the figures of utility, against what is kept of them here; see test_kept.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.methods.strategy import Strategy
from reissue.utility import (
    Point,
    choose_pair,
    measure,
    observed_domains,
    query_errors,
    random_queries,
    rate_errors,
    record_linkage,
    risk_utility,
)
from tests.kept.published import describe_audit, describe_releases, digest, keep, settle
from tests.support.histories import EVERYTHING, INSERTS, PERSISTING, generate, run_series

RULES = {
    "dose": ri.Categorical(ri.Hierarchy.intervals(5, factors=[2, 2])),
    "share": ri.Categorical(ri.Hierarchy.intervals(2.5, levels=2, start=1)),
    "zip": ri.Categorical(ri.Hierarchy.prefix([3, 1]), labels="ranges"),
    "code": ri.Categorical(ri.Hierarchy.prefix(step=1)),
    "born": ri.Categorical(ri.Hierarchy.dates(["month", "quarter", "year"]), labels="ranges", missing="value"),
}


def make_ruled(rows: int) -> pa.Table:
    rng = np.random.default_rng(4)
    days = [np.datetime64("1998-11-20") + int(day) for day in rng.integers(0, 900, rows)]
    return pa.table(
        {
            "person": [f"p{i}" for i in range(rows)],
            "dose": rng.integers(-7, 60, rows),
            "share": [f"{one / 10:.1f}" for one in rng.integers(0, 120, rows)],
            "zip": [f"{one:05d}" for one in rng.integers(9_990, 10_400, rows)],
            "code": [f"{'EIK'[i % 3]}{i % 13}.{i % 4}" for i in rng.integers(0, 60, rows)],
            "born": [None if i % 23 == 0 else str(day) for i, day in enumerate(days)],
            "illness": [f"illness {i}" for i in rng.integers(0, 6, rows)],
        }
    )


@pytest.mark.parametrize(
    "strategy",
    [ri.Static(k=4), ri.Standing(k=6), ri.BCF(k=5), ri.CheckedIncognito(k=5)],
    ids=lambda strategy: strategy.name,
)
def test_what_is_coded_by_rules_is_as_it_was(strategy: Strategy, tmp_path: Path) -> None:
    table = make_ruled(260)
    schema = ri.Schema(identifier="person", quasi_identifiers=RULES, sensitive="illness")
    with ri.Series.create(tmp_path / "s", schema, strategy, seed=2) as series:
        for rows in (200, 260):
            series.publish(table.slice(0, rows))
        files = [(one.path / "release.csv").read_text().splitlines() for one in series.releases]
        found = describe_releases(series)
        audit = series.audit(attacks=["difference", "correspondence"])
    rows = [sorted({cell for line in lines[1:] for cell in line.split('","')})[::9] for lines in files]
    keep(f"ruled-{strategy.name}", {**found, "some labels": rows, "audit": describe_audit(audit)})


@pytest.mark.parametrize(
    "strategy",
    [
        ri.Static(k=4),
        ri.Merge(k=4),
        ri.CheckedMondrian(k=4),
        ri.MInvariance(m=3, on_ineligible="counterfeit"),
        ri.EEquivalence(m=3, e=2, on_ineligible="counterfeit"),
        ri.Standing(k=5, l=3),
    ],
    ids=lambda strategy: strategy.name,
)
def test_utility_is_as_it_was(strategy: Strategy) -> None:
    supports = strategy.supports
    turnover = EVERYTHING if supports.sensitive else PERSISTING["churn"] if supports.gone else INSERTS
    snapshots = generate(np.random.default_rng(8), releases=3, rows=180, values=6, turnover=turnover, skew=0.7)
    releases = run_series(strategy, snapshots)
    found = {}
    for number, (release, snapshot) in enumerate(zip(releases, snapshots, strict=True), start=1):
        queries = random_queries(
            np.random.default_rng(number), snapshot.domains, snapshot.value_count, count=80, attributes_per_query=2
        )
        errors, rates = query_errors(queries, release, snapshot), rate_errors(release, snapshot, least=2)
        found[f"release {number}"] = settle(
            {
                "measured": vars(measure(release, snapshot, observed_domains(snapshot))),
                "queries": [errors.median, errors.mean, errors.empty, digest(errors.relative.tolist())],
                "rates": [list(choose_pair(snapshot.domains)), rates.median, rates.correlation],
                "linked": record_linkage(release, snapshot.domains),
            }
        )
    keep(f"utility-{strategy.name}", found)


def test_the_map_of_risk_and_utility_is_as_it_was() -> None:
    rng = np.random.default_rng(3)
    places = np.round(rng.random((12, 2)), 2).tolist()
    points = [Point(label=f"s{i}", risk=risk, loss=loss) for i, (risk, loss) in enumerate(places)]
    keep("risk-utility", settle(vars(risk_utility(points))))
