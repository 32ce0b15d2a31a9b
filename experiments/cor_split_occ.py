"""The experiments of Riboni & Bettini (2009) on census-like data: correlations, counterfeits, query error, breaches.

    python -m experiments.cor_split_occ [--quick]

writes docs/experiments/cor-split/.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from experiments.cor_split_occ_report import Results, Scenario, write
from experiments.occ import ROOT, VALUES, People, Published, errors, publish, read, updates
from experiments.words import Numbers

from reissue.arrays.types import Int32
from reissue.methods.correlation.attack import HistoricalCorrelation
from reissue.methods.correlation.correlations import FollowedSeries
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.invariance.strategy import MInvariance
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded

ATTRIBUTES = ("age", "birthplace", "education", "sex")
M, N, P, H = 6, 3, 0.04, 0.1


@dataclass(frozen=True)
class Setting:
    """`live` people; before each further release the share `turnover` of them is replaced."""

    name: str
    live: int
    turnover: float
    releases: int


FULL = (Setting("200K, 10%", 200_000, 0.1, 21), Setting("60K, 33%", 60_000, 0.33, 24))
QUICK = (Setting("20K, 10%", 20_000, 0.1, 6), Setting("6K, 33%", 6_000, 0.33, 6))


def people() -> People:
    """The census-like people, with a synthetic income in 50 ranges."""
    return read(ATTRIBUTES, synthetic_income)


def synthetic_income(frame: pl.DataFrame) -> Int32:
    """int32[people] 0..49: the data only tells who earns more than 50K, so the range is made up.

    A score rises with education, hours, age up to 50, a level per occupation and being above 50K, with noise; it is cut
    into 50 ranges of equal width between its 0.5% and 99.5% quantiles, so that middle incomes are most frequent.
    """
    rng = np.random.default_rng(7)
    column = {name: frame[name].to_numpy().astype(np.float64) for name in frame.columns}
    level = rng.normal(0, 0.4, int(column["occupation"].max()) + 1)[frame["occupation"].to_numpy()]
    score = 0.05 * column["education"] + 0.01 * column["hours"] - 0.0004 * (column["age"] - 50) ** 2 + level
    score += 0.6 * column["income_gt50k"] + rng.normal(0, 0.6, len(frame))
    low, high = np.quantile(score, [0.005, 0.995])
    return np.clip((score - low) / (high - low) * VALUES, 0, VALUES - 1).astype(np.int32)


def snapshots(data: People, setting: Setting) -> Iterator[Coded]:
    return updates(data, setting.live, int(setting.live * setting.turnover), setting.releases - 1)


def unsafe(published: Published) -> list[int]:
    """Classes of each release that are hc-unsafe with degree N, from the published releases and their members."""
    rows = FollowedSeries.of([ObservedRelease.of(facts) for facts in published.releases])
    return [len(np.unique(rows.find_unsafe_pairs(i, N).newer)) for i in range(len(published.releases))]


def breaches(published: dict[str, Published], trials: int) -> list[dict[str, object]]:
    """A share P of the people compromised at random: predicted and measured, after a few and after all releases."""
    rows: list[dict[str, object]] = []
    for name, made in published.items():
        for until in sorted({2, 4, 6, len(made.releases)}):
            print("compromised people,", name, "after", until, "releases", flush=True)
            seen = [ObservedRelease.of(facts) for facts in made.releases[:until]]
            observed = Observed(seen, made.last.domains, VALUES, Numbers())
            measures = HistoricalCorrelation(n=N, p=P, trials=trials, limit=1).run(observed).measures
            rows.append({"strategy": name, "releases": until, **measures})
    return rows


def study(data: People, setting: Setting, queries: int, trials: int) -> Scenario:
    made = {}
    for name, strategy in (("m-invariance", MInvariance(m=M)), ("Cor-Split", CorSplit(m=M, n=N))):
        print(setting.name, name, flush=True)
        made[name] = publish(strategy, snapshots(data, setting))
    print(setting.name, "attacks and queries", flush=True)
    return Scenario(
        setting.name,
        setting.live,
        setting.turnover,
        {name: [facts.class_count for facts in published.releases] for name, published in made.items()},
        {name: unsafe(published) for name, published in made.items()},
        {name: published.counterfeits for name, published in made.items()},
        errors(made, queries, sensitive=False),
        {name: published.seconds for name, published in made.items()},
        made["Cor-Split"].steps[-1],
        breaches(made, trials),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, six releases, few queries")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "experiments" / "cor-split")
    options = parser.parse_args()
    data = people()
    for strategy in (MInvariance(m=2), CorSplit(m=2, n=2)):  # compile
        publish(strategy, iter([data.snapshot(np.arange(2000))] * 2))
    settings, queries, trials = (QUICK, 500, 2) if options.quick else (FULL, 10_000, 1)
    studied = [study(data, setting, queries, trials) for setting in settings]
    largest = float(np.bincount(data.values).max() / len(data.values))
    write(Results(M, N, P, H, largest, queries, studied), options.output)


if __name__ == "__main__":
    main()
