"""Census-like people whom two experiments follow: read, replaced update by update, published, asked about."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from reissue.arrays.types import Int32, Int64
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.release import Coded, Facts, History, Table
from reissue.utility.queries import count_exactly, estimate, random_queries

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "occ" / "occ_like_600k.csv.gz"
VALUES = 50
SELECTIVITIES = (0.01, 0.02, 0.04, 0.06, 0.08, 0.1)


@dataclass(frozen=True, eq=False)
class People:
    """codes: int32[people, attributes]; values: int32[people]"""

    codes: Int32
    values: Int32
    domains: tuple[Domain, ...]

    def snapshot(self, rows: Int64, values: Int32 | None = None) -> Coded:
        """These people, with their values or others; beyond the last one they begin anew under other numbers."""
        own = self.values if values is None else values
        codes = np.asfortranarray(self.codes[rows % len(self.codes)])
        return Coded(rows, codes, own[rows], self.domains, VALUES)


def read(attributes: Sequence[str], values: Callable[[pl.DataFrame], Int32]) -> People:
    """All people in random order. values: int32[people] 0..49, from the whole table."""
    frame = pl.read_csv(DATA)
    order = np.random.default_rng(0).permutation(len(frame))
    columns = [np.unique(frame[name].to_numpy(), return_inverse=True)[1] for name in attributes]
    codes = np.stack(columns, axis=1).astype(np.int32)[order]
    domains = tuple(Domain(name, 0, int(codes[:, a].max())) for a, name in enumerate(attributes))
    return People(codes, values(frame)[order], domains)


def updates(data: People, live: int, batch: int, count: int) -> Iterator[Coded]:
    """The first snapshot, then `count` updates that delete a batch at random and insert as many from the pool."""
    rng, here = np.random.default_rng(1), np.arange(live)
    yield data.snapshot(here)
    for update in range(count):
        fresh = live + update * batch + np.arange(batch)
        here = np.concatenate([rng.permutation(here)[batch:], fresh])
        yield data.snapshot(here)


@dataclass(frozen=True, eq=False)
class Published:
    """A series; CPU seconds and the last step of each release."""

    releases: list[Facts]
    last: Coded
    seconds: list[float]
    steps: list[str]

    @property
    def counterfeits(self) -> list[int]:
        return [int((~facts.real).sum()) for facts in self.releases]


def publish(strategy: Strategy, snapshots: Iterator[Coded]) -> Published:
    releases: list[Facts] = []
    caches: dict[str, Table] = {}
    seconds, steps = [], []
    for number, snapshot in enumerate(snapshots, start=1):
        begin = time.process_time()
        candidate = strategy.publish(snapshot, History(releases, caches, number))
        facts = candidate.facts(number, snapshot)
        caches = dict(strategy.remember(caches, facts))
        seconds.append(time.process_time() - begin)
        releases.append(facts)
        steps.append(candidate.steps[-1])
    return Published(releases, snapshot, seconds, steps)


def errors(published: dict[str, Published], queries: int, *, sensitive: bool = True) -> list[dict[str, object]]:
    """Median relative error of random count queries on the last release, by selectivity."""
    rows: list[dict[str, object]] = []
    for selectivity in SELECTIVITIES:
        for name, made in published.items():
            rng, domains = np.random.default_rng(3), made.last.domains
            asked = random_queries(rng, domains, VALUES, count=queries, selectivity=selectivity, sensitive=sensitive)
            actual = count_exactly(asked, made.last.codes, made.last.values)
            shown = estimate(asked, made.releases[-1], domains)
            some = actual > 0
            error = float(np.median(np.abs(shown[some] - actual[some]) / actual[some]))
            rows.append({"selectivity": selectivity, "strategy": name, "error": error})
    return rows
