"""Adult and census-like people for the attackers with statistics: some are published, others are only counted."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from reissue.arrays.types import Int64
from reissue.hierarchy import Hierarchy
from reissue.methods.learning.statistics import FittedStatistics
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded, Facts, History, Table
from words import Numbers

OCCUPATION = 6
COLUMNS = {
    "age": 0,
    "workclass": 1,
    "education": 3,
    "marital-status": 5,
    "race": 8,
    "sex": 9,
    "native-country": 13,
    "salary-class": 14,
}
CENSUS = ("age", "sex", "education", "birthplace")


def read_adult(folder: Path) -> Coded:
    """All complete rows of both splits of Adult, in a random but fixed order; eight quasi-identifiers, occupation."""
    rows = []
    for name in ("adult.data.gz", "adult.test.gz"):
        with gzip.open(folder / "adult" / name, "rt") as lines:
            rows += [row.strip().rstrip(".").split(", ") for row in lines if row.count(",") == 14 and "?" not in row]
    columns, domains = [], []
    for name, position in COLUMNS.items():
        column = [row[position] for row in rows]
        if name == "age":
            codes = np.array(column, dtype=np.int32)
            domains.append(Domain(name, int(codes.min()), int(codes.max())))
        else:
            hierarchy = Hierarchy.from_arx_csv(folder / "arx_adult" / f"adult_hierarchy_{name}.csv")
            codes = hierarchy.encode(column)
            domains.append(Domain(name, 0, hierarchy.tree.leaves - 1, hierarchy.tree))
        columns.append(codes)
    labels, values = np.unique([row[OCCUPATION] for row in rows], return_inverse=True)
    return _shuffle(np.stack(columns, axis=1), values, tuple(domains), len(labels))


def read_census(folder: Path) -> Coded:
    """The 600,000 census-like people; four quasi-identifiers, occupation in 50 values."""
    frame = pl.read_csv(folder / "occ" / "occ_like_600k.csv.gz")
    columns = [np.unique(frame[name].to_numpy(), return_inverse=True)[1] for name in CENSUS]
    codes = np.stack(columns, axis=1).astype(np.int32)
    values = np.unique(frame["occupation"].to_numpy(), return_inverse=True)[1]
    domains = tuple(Domain(name, 0, int(codes[:, a].max())) for a, name in enumerate(CENSUS))
    return _shuffle(codes, values, domains, 50)


def _shuffle(codes: np.ndarray, values: np.ndarray, domains: tuple[Domain, ...], value_count: int) -> Coded:
    order = np.random.default_rng(0).permutation(len(values))
    table = np.asfortranarray(codes[order].astype(np.int32))
    return Coded(np.arange(len(order), dtype=np.int64), table, values[order].astype(np.int32), domains, value_count)


def replace_people(table: Coded, live: int, batch: int, releases: int) -> Iterator[Coded]:
    """The first people; then again and again a batch of them leaves for good and as many come."""
    rng, here = np.random.default_rng(1), np.arange(live)
    yield table.part(here)
    for update in range(releases - 1):
        fresh = live + update * batch + np.arange(batch)
        here = np.sort(np.concatenate([rng.permutation(here)[batch:], fresh]))
        yield table.part(here)


def publish(strategy: Strategy, snapshots: Iterator[Coded]) -> list[Facts]:
    releases: list[Facts] = []
    caches: dict[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        facts = strategy.publish(snapshot, History(releases, caches, number)).facts(number, snapshot)
        caches = dict(strategy.remember(caches, facts))
        releases.append(facts)
    return releases


def observe(releases: list[Facts], table: Coded) -> Observed:
    """What an attacker sees who knows the members."""
    return Observed([ObservedRelease.of(facts) for facts in releases], table.domains, table.value_count, Numbers())


def count_others(table: Coded, rows: Int64) -> FittedStatistics:
    """Statistics from these rows."""
    return FittedStatistics.of_table(table.codes[rows], table.values[rows], table.domains, table.value_count)
