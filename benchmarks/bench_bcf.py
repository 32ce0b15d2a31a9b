"""BCF on all of Adult and its audit, against Polars counting the same columns; then on a hundred times the rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import polars as pl

from benchmarks.harness import DATA, ROOT, report
from reissue.arrays.sets import distinct
from reissue.methods.bcf.attack import Correspondence
from reissue.methods.bcf.strategy import BCF
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded, History

K = 40


def fastest(work: Callable[[], object], times: int = 7) -> float:
    """Seconds of the fastest of `times` runs; the first, which compiles, is not counted."""
    work()
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def resampled(snapshot: Coded, rows: int, first: int) -> Coded:
    """`rows` rows drawn from the snapshot, with new surrogate numbers from `first` on."""
    take = np.random.default_rng(1).integers(0, len(snapshot), rows)
    codes = np.asfortranarray(snapshot.codes[take])
    numbers = np.arange(first, first + rows, dtype=np.int64)
    return Coded(numbers, codes, snapshot.values[take], snapshot.domains, snapshot.value_count)


def joined(one: Coded, other: Coded) -> Coded:
    return Coded(
        np.concatenate([one.subjects, other.subjects]),
        np.asfortranarray(np.concatenate([one.codes, other.codes])),
        np.concatenate([one.values, other.values]),
        one.domains,
        one.value_count,
    )


def measure(name: str, d1: Coded, both: Coded, words: object, times: int) -> list[list[object]]:
    """Yardstick, publishing the second release given the first, and the audit of the pair."""
    columns = {f"a{a}": both.codes[:, a] for a in range(both.codes.shape[1])}
    frame = pl.DataFrame({**columns, "value": both.values})
    yard = fastest(lambda: frame.group_by(frame.columns).len(), times)
    strategy = BCF(k=K)
    r1 = strategy.publish(d1, History([], {}, 1)).facts(1, d1)
    caches = strategy.remember({}, r1)
    publish = fastest(lambda: strategy.publish(both, History([r1], caches, 2)), times)
    grouping = fastest(lambda: distinct([both.values, *both.codes.T]), times)
    r2 = strategy.publish(both, History([r1], caches, 2)).facts(2, both)

    def audit() -> None:
        series = Observed([ObservedRelease.of(r1), ObservedRelease.of(r2)], both.domains, both.value_count, words)  # type: ignore[arg-type]
        assert not Correspondence(k=K).run(series).breaches

    audited = fastest(audit, times)
    parts = (("Polars group-by", yard), ("BCF publish", publish), ("of it grouping", grouping), ("audit", audited))
    return [[name, len(both), part, f"{seconds * 1000:.1f} ms", seconds / yard] for part, seconds in parts]


def main() -> None:
    sys.path.insert(0, str(ROOT / "experiments"))
    from bcf_adult import SENSITIVE, Numbers, load  # type: ignore[import-not-found]

    rows: list[list[object]] = []
    for sen, sensitive in SENSITIVE.items():
        setting, old = load(DATA, sensitive, True)
        d1, d2 = setting.snapshot(slice(0, old)), setting.snapshot(slice(old, None))
        rows += measure(f"Adult {sen}", d1, joined(d1, d2), Numbers(), 7)
        many = resampled(d1, 1_500_000, 0), resampled(d2, 3_000_000, 1_500_000)
        rows += measure(f"Adult {sen} x 100", many[0], joined(*many), Numbers(), 2)
    report(
        "bcf",
        "BCF on Adult",
        "The second release of Adult (D1 15,060 and D2 30,162 rows, k = 40, deeper taxonomies), given the first, and "
        "the audit of the pair. Yardstick: Polars counting the same columns. Times are of a warm process, in memory.",
        ("data", "rows", "what", "time", "yardsticks"),
        rows,
    )


if __name__ == "__main__":
    main()
