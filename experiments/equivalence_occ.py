"""The experiments of He, Barman & Naughton (2011) on census-like data: attacks, counterfeits, query error, time.

    python -m experiments.equivalence_occ [--quick]

writes docs/experiments/equivalence/.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from experiments.equivalence_occ_report import Results, write
from experiments.occ import ROOT, VALUES, People, Published, errors, publish, read, updates
from experiments.words import Numbers

from reissue.methods.equivalence.attack import Equivalence
from reissue.methods.equivalence.class_pairs import find_class_pairs, find_exposed
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.strategy import Strategy
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded

ATTRIBUTES = ("age", "sex", "education", "birthplace")
M, E = 10, 5


@dataclass(frozen=True)
class Scale:
    """The paper's sizes, or a tenth of them."""

    live: int
    updates: int
    slopes: tuple[int, ...]
    skewed_updates: int
    queries: int


FULL = Scale(200_000, 20, (0, 3, 6, 9, 12, 15), 10, 1000)
QUICK = Scale(20_000, 5, (0, 15), 3, 200)


def people() -> People:
    """The census-like people, with their occupation."""
    return read(ATTRIBUTES, lambda frame: frame["occupation"].to_numpy().astype(np.int32))


def random_updates(data: People, scale: Scale) -> Iterator[Coded]:
    """A tenth is replaced at each update."""
    return updates(data, scale.live, scale.live // 10, scale.updates)


def skewed_updates(data: People, scale: Scale, slope: int) -> Iterator[Coded]:
    """As above, but the values of each inserted batch follow a line of that slope over values in random order.

    The slope is the paper's for batches of 20,000 and is scaled with the batch.
    """
    rng, batch = np.random.default_rng(2), scale.live // 10
    values = data.values.copy()
    here = np.arange(scale.live)
    yield data.snapshot(here)
    for update in range(scale.skewed_updates):
        fresh = scale.live + update * batch + np.arange(batch)
        line = slope * batch / 20_000 * np.arange(VALUES)
        share = np.maximum(line + (batch - line.sum()) / VALUES, 0)
        values[fresh] = rng.choice(rng.permutation(VALUES), batch, p=share / share.sum())
        here = np.concatenate([rng.permutation(here)[batch:], fresh])
        yield data.snapshot(here, values)


def observed(published: Published, until: int) -> Observed:
    releases = [ObservedRelease.of(facts) for facts in published.releases[:until]]
    return Observed(releases, published.last.domains, VALUES, Numbers())


def compromised_by_pairs(published: Published) -> list[int]:
    """People in an attack of fewer than E found by setting two classes against each other, release by release."""
    series = observed(published, len(published.releases))
    found = np.empty(0, dtype=np.int64)
    counts = [0]
    for position in range(1, len(series)):
        for pairs in find_class_pairs(series.releases, involving=position):
            chosen = np.flatnonzero(pairs.size < E)
            found = np.union1d(found, find_exposed(series.releases, pairs, chosen)[0])
        counts.append(len(found))
    return counts


def compromised_in_buckets(published: Published) -> list[int]:
    """The same for merged buckets, where sets of snapshots are weighed, not only two."""
    counts = []
    for until in range(1, len(published.releases) + 1):
        at_risk = Equivalence(e=E, limit=1).run(observed(published, until)).at_risk
        counts.append(len(np.unique(np.concatenate(list(at_risk.values())))) if at_risk else 0)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, five updates")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "experiments" / "equivalence")
    options = parser.parse_args()
    scale, data = QUICK if options.quick else FULL, people()
    publish(MInvariance(m=2), iter([data.snapshot(np.arange(1000))]))  # compile
    publish(EEquivalence(m=2, e=1), iter([data.snapshot(np.arange(1000))]))

    def made(strategy: Strategy) -> Published:
        print(strategy, flush=True)
        return publish(strategy, random_updates(data, scale))

    split, split_exact = made(MInvariance(m=M)), made(MInvariance(m=M, publishing="anatomized"))
    by_e = {e: made(EEquivalence(m=M, e=e)) for e in (1, 2, 5, 10, 20)}
    print("attacks", flush=True)
    compromised = {
        "m-invariance, split": compromised_by_pairs(split),
        "m-invariance, buckets not split": compromised_in_buckets(by_e[1]),
        f"e-equivalence, e = {E}": compromised_in_buckets(by_e[E]),
    }
    skewed = []
    for slope in scale.slopes:
        for name, strategy in (("m-invariance", MInvariance(m=M)), (f"e-equivalence, e = {E}", EEquivalence(m=M, e=E))):
            print("slope", slope, name, flush=True)
            counts = publish(strategy, skewed_updates(data, scale, slope)).counterfeits
            skewed.append({"slope": slope, "strategy": name, "mean": float(np.mean(counts[1:])), "most": max(counts)})
    released = {"m-invariance": split.counterfeits} | {
        f"e-equivalence, e = {e}": run.counterfeits for e, run in by_e.items() if e > 1
    }
    answers = errors(
        {
            "m-invariance, boxes": split,
            "m-invariance, Anatomy": split_exact,
            f"e-equivalence, e = {E}": by_e[E],
        },
        scale.queries,
    )
    seconds = [{"e": 1, "strategy": "m-invariance", "seconds": float(np.median(split.seconds[1:]))}]
    seconds += [
        {"e": e, "strategy": "e-equivalence", "seconds": float(np.median(r.seconds[1:]))} for e, r in by_e.items()
    ]
    write(Results(scale.live, M, E, compromised, released, skewed, answers, seconds), options.output)


if __name__ == "__main__":
    main()
