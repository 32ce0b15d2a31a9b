"""How time and memory grow with the rows: on one machine, and on local Spark with one and with two cores."""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from pathlib import Path

import reissue as ri
from benchmarks.bench_publish import QUASI_IDENTIFIERS, adult
from benchmarks.harness import DATA, report
from benchmarks.stages import STAGES, Staged, staged
from reissue.methods.strategy import Strategy

SIZES = (100_000, 1_000_000, 10_000_000)
FROM_ON_SPARK = 1_000_000
"""What is smaller is only measured on this machine."""
FRAGMENTS = 8
STRATEGIES: dict[str, tuple[Strategy, int]] = {
    "static": (ri.Static(k=10, c=0.5), 10_000_000),
    "m-invariance": (ri.MInvariance(m=4), 10_000_000),
    "bcf": (ri.BCF(k=10), 10_000_000),
    "bay-frame": (ri.BayFrame(k=10, J=0.7, beta=5.0), 1_000_000),
    "js-reduce": (ri.JSReduce(k=10, t=0.5, J=0.7), 1_000_000),
}
"""Every kind of work in fragments: each by itself, by one plan, with counts exchanged; and up to how many rows."""


def schema() -> ri.Schema:
    """The quasi-identifiers of Adult with the hierarchies of ARX, age as a number."""
    quasi_identifiers: dict[str, object] = {
        name: {"type": "int"}
        if name == "age"
        else {"hierarchy": str(DATA / "arx_adult" / f"adult_hierarchy_{name}.csv")}
        for name in QUASI_IDENTIFIERS
    }
    return ri.Schema(identifier="patient", quasi_identifiers=quasi_identifiers, sensitive="occupation")


def published(folder: Path, snapshot: Path, strategy: Strategy, cores: int | None, *options: str) -> Staged:
    """The first release of a new series; on Spark with so many cores, or here if None."""
    path = folder / "series"
    shutil.rmtree(path, ignore_errors=True)
    engine = {"name": "embedded"} if cores is None else {"name": "spark", "master": f"local[{cores}]"}
    fragments = None if cores is None else FRAGMENTS
    ri.Series.create(path, schema(), strategy, seed=1, engine=engine, fragments=fragments).close()
    return staged(path, snapshot, *options)


def main() -> None:
    quick = "--quick" in sys.argv
    rows: list[list[object]] = []
    before: dict[tuple[str, str], tuple[int, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        snapshot = folder / "snapshot.parquet"
        adult(20_000).write_parquet(snapshot)
        for strategy, _ in STRATEGIES.values():  # compile and cache the kernels
            published(folder, snapshot, strategy, None)
            published(folder, snapshot, strategy, 2)
        for size in SIZES[: 2 if quick else 3]:
            adult(size).write_parquet(snapshot, row_group_size=250_000)
            for label, (strategy, most) in STRATEGIES.items():
                if size > most:
                    continue
                for cores in (None, 1, 2) if size >= FROM_ON_SPARK else (None,):
                    run = published(folder, snapshot, strategy, cores)
                    where = "this machine" if cores is None else f"Spark, {cores} core{'s' * (cores > 1)}"
                    inside = run.seconds - run.stages["start"]
                    last = before.get((label, where))
                    growth = f"{math.log(inside / last[1]) / math.log(size / last[0]):.2f}" if last else ""
                    before[label, where] = size, inside
                    stages = [run.stages.get(stage, 0.0) for stage in STAGES]
                    rows.append([size, label, where, run.seconds, *stages, growth, round(run.megabytes)])
                    print(rows[-1], file=sys.stderr)
    report(
        "scaling",
        "Growth with the rows",
        "The first release of a new series: Adult resampled with jittered ages, 7 quasi-identifiers, text columns; a "
        "fresh process with kernels cached, ledger and self-check included. On Spark in local mode the series has "
        f"{FRAGMENTS} fragments, on this machine the default (one for every 2 million rows). Seconds by stage: `start` "
        "is everything outside of publish (the interpreter, imports; on Spark the JVM), `anonymize` includes the "
        "self-check and on Spark the writing of the ledger's files. Growth: the exponent of the time without `start` "
        "against the next smaller table; 1 is linear. Memory: the sum of all processes at its peak; on Spark that "
        "counts the JVM's heap, and pages that workers share several times.",
        ["rows", "strategy", "where", "seconds", *STAGES, "growth", "peak MB"],
        rows,
    )


if __name__ == "__main__":
    main()
