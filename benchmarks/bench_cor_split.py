"""Cor-Split's next release against m-invariance's on the same rows, with a growing history behind them."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
from experiments.words import Numbers

from benchmarks.harness import DATA, report
from reissue.methods.correlation.attack import HistoricalCorrelation
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded, Facts, History, Table

QUASI_IDENTIFIERS = ("age", "sex", "education", "birthplace")
LIVE, RELEASES, VALUES, M, N = 200_000, 22, 50, 6, 3
SHOWN = (2, 6, 11, 16, 22)


def snapshots() -> list[Coded]:
    """200,000 people, a tenth of them replaced each time; the pool starts over when it is used up."""
    frame = pl.read_csv(DATA / "occ" / "occ_like_600k.csv.gz", columns=[*QUASI_IDENTIFIERS, "occupation"])
    columns = [np.unique(frame[name].to_numpy(), return_inverse=True)[1] for name in QUASI_IDENTIFIERS]
    codes, values = np.stack(columns, axis=1).astype(np.int32), frame["occupation"].to_numpy().astype(np.int32)
    domains = tuple(Domain(name, 0, int(codes[:, a].max())) for a, name in enumerate(QUASI_IDENTIFIERS))
    rng, here = np.random.default_rng(1), np.arange(LIVE)
    taken = []
    for number in range(RELEASES):
        if number:
            fresh = LIVE + (number - 1) * LIVE // 10 + np.arange(LIVE // 10)
            here = np.concatenate([rng.permutation(here)[LIVE // 10 :], fresh])
        rows = here % len(codes)
        taken.append(Coded(here, np.asfortranarray(codes[rows]), values[rows], domains, VALUES))
    return taken


class _Series:
    """One strategy's releases so far, and the CPU seconds of each: strategy and memory, without files."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.releases: list[Facts] = []
        self.caches: dict[str, Table] = {}
        self.seconds: list[float] = []

    def publish(self, snapshot: Coded) -> None:
        number = len(self.releases) + 1
        begin = time.process_time()
        candidate = self.strategy.publish(snapshot, History(self.releases, self.caches, number))
        facts = candidate.facts(number, snapshot)
        self.caches = dict(self.strategy.remember(self.caches, facts))
        self.seconds.append(time.process_time() - begin)
        self.releases.append(facts)


def check(series: _Series, domains: tuple[Domain, ...], number: int) -> float:
    """CPU seconds of the historical correlation attack on what release `number` adds."""
    observed = Observed([ObservedRelease.of(facts) for facts in series.releases[:number]], domains, VALUES, Numbers())
    begin = time.process_time()
    outcome = HistoricalCorrelation(n=N).run(observed, involving=number)
    assert outcome.total == 0
    return time.process_time() - begin


def main() -> None:
    taken = snapshots()
    columns = (taken[0].subjects[:6000], taken[0].codes[:6000], taken[0].values[:6000])
    few = Coded(*columns, taken[0].domains, VALUES)
    for strategy in (MInvariance(m=M), CorSplit(m=M, n=N)):  # compile the kernels
        warm = _Series(strategy)
        for _ in range(2):
            warm.publish(few)
    check(warm, taken[0].domains, 2)
    plain, safe = _Series(MInvariance(m=M)), _Series(CorSplit(m=M, n=N))
    for snapshot in taken:  # in turn, so that both meet the same machine
        plain.publish(snapshot)
        safe.publish(snapshot)
    rows: list[list[object]] = []
    for number in SHOWN:
        one, other = plain.seconds[number - 1], safe.seconds[number - 1]
        checked = check(safe, taken[0].domains, number)
        lived = float(_lived(safe, number).mean())
        rows.append([LIVE, number - 1, lived, one, other, other / one, checked])
    report(
        "cor-split",
        "Cor-Split against m-invariance",
        f"Census-like people, 4 quasi-identifiers, {VALUES} occupations; a tenth of the people is replaced each time; "
        f"m = {M}, n = {N}. CPU seconds of one release by the strategy alone (its memory of the series included, files "
        "not), both strategies in turn in one process on the same rows; and of the historical correlation attack that "
        "checks the finished release against all earlier ones.",
        ["live rows", "releases before", "mean releases lived", "m-invariance s", "Cor-Split s", "ratio", "check s"],
        rows,
    )


def _lived(series: _Series, number: int) -> np.ndarray:
    """In how many releases up to this one each person of it was."""
    people = series.releases[number - 1].subjects
    return np.sum([np.isin(people, facts.subjects) for facts in series.releases[:number]], axis=0)


if __name__ == "__main__":
    main()
