"""What dividing a table into fragments costs in utility: the same two releases, made in 1 to 64 fragments."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import reissue as ri
from benchmarks.bench_publish import adult
from benchmarks.bench_scaling import schema
from benchmarks.harness import report
from reissue.errors import InfeasiblePolicy
from reissue.methods.strategy import Strategy

ROWS = 200_000
NEW = 20_000
FRAGMENTS = (1, 2, 4, 8, 16, 64)
STRATEGIES: dict[str, Strategy] = {
    "static (Mondrian)": ri.Static(k=10, c=0.5),
    "checked-mondrian": ri.CheckedMondrian(k=10, c=0.5),
    "m-invariance": ri.MInvariance(m=4),
    "e-equivalence": ri.EEquivalence(m=4, e=3),
    "bcf": ri.BCF(k=10),
    "bay-frame": ri.BayFrame(k=10, J=0.7, beta=5.0),
    "js-reduce": ri.JSReduce(k=10, t=0.5, J=0.7),
}


def main() -> None:
    rows: list[list[object]] = []
    table = adult(ROWS + NEW)
    with tempfile.TemporaryDirectory() as name:
        for label, strategy in STRATEGIES.items():
            for fragments in FRAGMENTS:
                path = Path(name) / f"{strategy.name}-{label[-3:-1]}-{fragments}"
                with ri.Series.create(
                    path, schema(), strategy, seed=1, fragments=fragments, formats=["parquet"]
                ) as series:
                    try:
                        first = series.publish(table[:ROWS])
                        second = series.publish(table[NEW:] if strategy.supports.gone else table)
                    except InfeasiblePolicy:
                        rows.append(
                            [label, fragments, "not feasible: a value is too frequent in a fragment", "", "", "", ""]
                        )
                        continue
                    sizes = [
                        len(series._ledger.shelf.facts(1, part).subjects) for part in series._ledger.shelf.fragments
                    ]
                both = [first.utility["ail"], second.utility["ail"]]
                size = second.utility["class_size"]
                extra = second.counts["counterfeits"] + second.counts["suppressed"]
                rows.append([label, fragments, *both, size, extra, max(sizes) / (sum(sizes) / len(sizes))])
                print(rows[-1], file=sys.stderr)
    report(
        "fragments",
        "What fragments cost in utility",
        f"Adult resampled with jittered ages, 7 quasi-identifiers, {ROWS:,} rows, then a second release with {NEW:,} "
        "new rows (and as many gone, where the strategy allows it), made in 1 to 64 fragments. AIL: average "
        "information loss, 0 (exact) to 7. Extra: counterfeits and suppressed rows of the second release. Balance: the "
        "largest fragment against the mean. An anatomized release (e-equivalence) publishes quasi-identifiers as they "
        "are.",
        ["strategy", "fragments", "AIL of release 1", "AIL of release 2", "class size", "extra", "balance"],
        rows,
    )


if __name__ == "__main__":
    main()
