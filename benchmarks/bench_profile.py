"""Where the time goes: every strategy on a million rows, the first release and the next one, stage by stage."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import reissue as ri
from benchmarks.bench_publish import adult
from benchmarks.bench_scaling import schema
from benchmarks.harness import report
from benchmarks.stages import STAGES, staged
from reissue.methods.strategy import Strategy

ROWS = 1_000_000
CHANGED = 0.05

STRATEGIES: dict[str, Strategy] = {
    "static (Mondrian)": ri.Static(k=10, c=0.5),
    "static (Incognito)": ri.Static(k=10, c=0.5, algorithm="incognito"),
    "merge": ri.Merge(k=10, c=0.5),
    "checked-mondrian": ri.CheckedMondrian(k=10, c=0.5),
    "checked-incognito": ri.CheckedIncognito(k=10, c=0.5),
    "bcf": ri.BCF(k=10),
    "m-invariance": ri.MInvariance(m=4),
    "e-equivalence": ri.EEquivalence(m=4, e=3),
    "cor-split": ri.CorSplit(m=4, n=1),
    "bay-frame": ri.BayFrame(k=10, J=0.7, beta=5.0),
    "js-reduce": ri.JSReduce(k=10, t=0.5, J=0.7),
}


def snapshots(folder: Path, rows: int) -> dict[bool, list[Path]]:
    """By whether people may leave: a table, and the one after it, in which 5% are new (and 5% gone)."""
    folder.mkdir()
    fresh = int(CHANGED * rows)
    table = adult(rows + fresh)
    first, grown, churned = table[:rows], table, table[fresh:]
    paths = {name: folder / f"{name}.parquet" for name in ("first", "grown", "churned")}
    for name, part in zip(paths, (first, grown, churned), strict=True):
        part.select(pl.all().gather(np.random.default_rng(3).permutation(len(part)))).write_parquet(paths[name])
    return {True: [paths["first"], paths["churned"]], False: [paths["first"], paths["grown"]]}


def main() -> None:
    chosen = [argument for argument in sys.argv[1:] if argument in STRATEGIES] or list(STRATEGIES)
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = {"small": snapshots(folder / "small", 20_000), "large": snapshots(folder / "large", ROWS)}
        for label in chosen:
            strategy = STRATEGIES[label]
            for size, made in tables.items():  # the small one compiles and caches the kernels
                series = folder / f"{size}-{label.replace(' ', '')}"
                ri.Series.create(series, schema(), strategy, seed=1, formats=["parquet"]).close()
                for number, snapshot in enumerate(made[strategy.supports.gone], start=1):
                    run = staged(series, snapshot)
                    if size == "large":
                        stages = [run.stages.get(stage, 0.0) for stage in STAGES]
                        rows.append([label, number, run.seconds, *stages, round(run.megabytes)])
                        print(rows[-1], file=sys.stderr)
    report(
        "profile",
        "Where the time goes",
        f"Every strategy on {ROWS:,} rows (Adult resampled with jittered ages, 7 quasi-identifiers): the first release "
        "and the second, in which 5% of the rows are new and, where the strategy allows it, as many are gone. A fresh "
        "process each, kernels cached. Seconds by stage: `start` is the interpreter and imports; `compare` codes the "
        "rows and looks everybody up in the ledger; `anonymize` includes the self-check with the attacks that the "
        "strategy claims to stop.",
        ["strategy", "release", "seconds", *STAGES, "peak MB"],
        rows,
    )


if __name__ == "__main__":
    main()
