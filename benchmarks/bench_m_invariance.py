"""`reissue publish` with m-invariance and e-equivalence over 20 releases, against Polars joining the same rows."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

from benchmarks.harness import DATA, Run, fresh, python, reissue, report

QUASI_IDENTIFIERS = ("age", "sex", "education", "birthplace")
POLICIES = {
    "m-invariance": 'strategy = "m-invariance"\nm = 10',
    "e-equivalence": 'strategy = "e-equivalence"\nm = 10\ne = 5',
}
LIVE, RELEASES, LARGE = 200_000, 20, 5_000_000
TIMES = 3
"""Every series is made so often, in turn with the other policy; the median counts, since machines vary."""


def population(rows: int) -> pl.DataFrame:
    """Census-like people with an identifier; more than the 600,000 there are by drawing again, ages jittered."""
    people = pl.read_csv(DATA / "occ" / "occ_like_600k.csv.gz", columns=[*QUASI_IDENTIFIERS, "occupation"])
    rng = np.random.default_rng(1)
    take = rng.permutation(len(people)) if rows <= len(people) else rng.integers(0, len(people), rows)
    people = people[take[:rows]]
    age = people["age"].to_numpy() + (rng.integers(-3, 4, len(people)) if rows > 600_000 else 0)
    return people.with_columns(pl.Series("person", np.arange(len(people))), pl.Series("age", age))


def snapshots(live: int, releases: int) -> Iterator[pl.DataFrame]:
    """`live` people; every release a tenth of them is replaced."""
    people, rng = population(live + (releases - 1) * live // 10), np.random.default_rng(2)
    here = np.arange(live)
    yield people[here]
    for number in range(1, releases):
        start = live + (number - 1) * live // 10
        here = np.concatenate([rng.permutation(here)[live // 10 :], np.arange(start, start + live // 10)])
        yield people[here]


def config(folder: Path, policy: str) -> Path:
    columns = [f'{name} = {{ type = "int" }}' for name in QUASI_IDENTIFIERS]
    lines = ["[schema]", 'identifier = "person"', 'sensitive = "occupation"', "[schema.quasi_identifiers]", *columns]
    path = folder / "series.toml"
    path.write_text("\n".join([*lines, "[policy]", POLICIES[policy]]))
    return path


def yardstick(folder: Path, before: Path, now: Path, times: int) -> Run:
    """Polars reads the snapshot, joins it with who was there before, and writes it back."""
    target = folder / "copy.parquet"
    return fresh(
        python(
            f"import polars as p; p.read_parquet({str(now)!r}).join("
            f"p.read_parquet({str(before)!r}, columns=['person', 'occupation']), on='person', how='left')"
            f".write_parquet({str(target)!r})"
        ),
        times=times,
    )


def run(folder: Path, files: list[Path], policy: str) -> list[Run]:
    """One series, every release published by a process of its own."""
    series = folder / "series"
    shutil.rmtree(series, ignore_errors=True)
    fresh(reissue("init", str(series), "--config", str(config(folder, policy))))
    publish = "publish", str(series)
    more = "--format", "parquet", "--allow", "counterfeits"  # with m = 10, small tables need many
    return [fresh(reissue(*publish, str(file), *more)) for file in files]


def measure(folder: Path, live: int, releases: int, times: int = 1) -> list[list[object]]:
    files = []
    for number, frame in enumerate(snapshots(live, releases), start=1):
        files.append(folder / f"{number:02}.parquet")
        frame.write_parquet(files[-1])
    base = yardstick(folder, files[0], files[1], 3)
    taken = [{policy: run(folder, files, policy) for policy in POLICIES} for _ in range(times)]
    rows: list[list[object]] = []
    for policy in POLICIES:
        second = median(one[policy][1].seconds for one in taken)
        for number in sorted({2, releases}):
            seconds = median(one[policy][number - 1].seconds for one in taken)
            peak = median(one[policy][number - 1].megabytes for one in taken)
            rows.append([live, policy, number, base.seconds, seconds, seconds / base.seconds, seconds / second, peak])
    return rows


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # bytecode is compiled once, as after an installation
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        measure(folder, 2_000, 2)  # compile and cache the kernels
        rows += measure(folder, LIVE, RELEASES, TIMES)
        if "--large" in sys.argv:
            rows += measure(folder, 1_000_000, 2)
            rows += measure(folder, LARGE, 2)
    report(
        "m-invariance",
        "m-invariance and e-equivalence, release after release",
        "Census-like people, 4 quasi-identifiers, 50 occupations; a tenth of the people is replaced each time; "
        "m = 10, e = 5. Yardstick: a fresh process in which Polars reads the snapshot, joins it with the previous one, "
        "and writes it back. `reissue publish`: a fresh process with kernels cached, ledger and self-check included. "
        f"Medians of {TIMES} series each, made in turn. "
        "Some 0.6 s of processor time of every publish is the start of the process. The goals are 6 and 8 yardsticks, "
        "and 1.3 times release 2 at release 20.",
        ["live rows", "strategy", "release", "yardstick s", "publish s", "yardsticks", "against release 2", "peak MB"],
        rows,
    )


if __name__ == "__main__":
    main()
