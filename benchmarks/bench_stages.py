"""What a row costs at each stage on Spark, in processor time: a fixed part and one for every row, from two sizes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.bench_publish import adult
from benchmarks.bench_scaling import FRAGMENTS, STRATEGIES, published
from benchmarks.harness import report
from benchmarks.stages import PROCESSOR, STAGES, Staged

SIZES = (1_000_000, 10_000_000)


def main() -> None:
    strategy, _ = STRATEGIES["static"]
    runs: list[Staged] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        snapshot = folder / "snapshot.parquet"
        adult(20_000).write_parquet(snapshot)
        published(folder, snapshot, strategy, 1)  # compiles and caches the kernels
        for size in SIZES:
            adult(size).write_parquet(snapshot, row_group_size=250_000)
            runs.append(published(folder, snapshot, strategy, 1, PROCESSOR))
            print(size, runs[-1], file=sys.stderr)
    write(runs)


def write(runs: list[Staged]) -> None:
    """The page, from a run of each size."""
    (few, many), (small, large) = SIZES, runs
    rows: list[list[object]] = []
    for stage, one, other in [
        *((stage, small.stages.get(stage, 0.0), large.stages.get(stage, 0.0)) for stage in STAGES),
        ("all", small.seconds, large.seconds),
    ]:
        each = max(0.0, (other - one) / (many - few))
        rows.append([stage, one, other, max(0.0, one - few * each), 1e6 * each])
    report(
        "stages",
        "What a row costs on Spark",
        f"The first release of a new series, static, in {FRAGMENTS} fragments, on local Spark with one core: Adult "
        "resampled with jittered ages, 7 quasi-identifiers, text columns in Parquet. Seconds of processor time of "
        "Python, the JVM and its workers together, by stage; a fixed part and one for every row, from the two sizes. "
        "Kernels are cached, the session is new: much of the fixed part is Spark starting and the JVM compiling.",
        ["stage", f"{few:,} rows", f"{many:,} rows", "fixed, s", "for every row, µs"],
        rows,
    )


if __name__ == "__main__":
    main()
