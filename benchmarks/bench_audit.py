"""Audit with all attacks: six releases of 30,000 Adult rows, from files, against reading the same files.

People come and go (10% leave and 10% join each time); values persist. The unsafe baseline (Static, k = 10) and full
domain releases in ARX's style are audited: the first gives the attacks most to do, the second is what stewards have.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import reissue as ri
from benchmarks.harness import DATA, report

QUASI = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")
RELEASES, TURNOVER = 6, 0.1


def schema() -> ri.Schema:
    folder = DATA / "arx_adult"
    return ri.Schema(
        identifier="id",
        quasi_identifiers={
            name: ri.Categorical(hierarchy=ri.Hierarchy.from_file(folder / f"adult_hierarchy_{name}.csv"))
            for name in QUASI
        },
        sensitive="occupation",
    )


def snapshots(rows: int) -> list[pa.Table]:
    table = pa.csv.read_csv(DATA / "arx_adult" / "adult.csv.gz", parse_options=pa.csv.ParseOptions(delimiter=";"))
    table = pa.concat_tables([table, table])
    table = table.append_column("id", pa.array(np.arange(len(table)).astype(str)))
    rng = np.random.default_rng(0)
    here = rng.permutation(len(table))
    step = int(rows * TURNOVER)
    return [table.take(pa.array(here[i * step : i * step + rows])) for i in range(RELEASES)]


def timed(run: object) -> tuple[float, object]:
    start = time.perf_counter()
    result = run()  # type: ignore[operator]
    return time.perf_counter() - start, result


def main(rows: int = 30_000) -> None:
    tables, described = snapshots(rows), schema()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, table in enumerate(tables, start=1):
            files.append(Path(folder) / f"{i}.csv")
            pa.csv.write_csv(table, files[-1])
        reading, _ = timed(lambda: [pa.csv.read_csv(file) for file in files])
        with ri.Series.create(Path(folder) / "s", described, ri.Static(k=10), seed=1) as series:
            for file in files:
                series.publish(file)
            from reissue.audit import audit

            seconds, made = timed(lambda: series.audit())
            lines += rows_of("series of ours, Static k = 10 (Mondrian)", seconds, reading, made)
            folders = [release.path for release in series.releases]
            seconds, made = timed(lambda: audit(folders, described, files, match="content", k=10))
            lines += rows_of("the same from its files, people matched by content", seconds, reading, made)
    report(
        "audit",
        "Audit with all attacks",
        f"{RELEASES} releases of {rows:,} Adult rows, 10% of the people change each time; possible worlds take 5 s. "
        "The yardstick is reading the six snapshots as plain CSV. Each attack's time is indented.",
        ("what", "seconds", "x reading", "findings", "at risk"),
        lines,
    )


def rows_of(what: str, seconds: float, reading: float, made: object) -> list[tuple[object, ...]]:
    lines: list[tuple[object, ...]] = [(what, seconds, seconds / reading, len(made.findings), len(made.at_risk))]  # type: ignore[attr-defined]
    for one in made.checked:  # type: ignore[attr-defined]
        found = one.outcome.total if one.outcome else 0
        at_risk = max((len(ids) for ids in one.outcome.at_risk.values()), default=0) if one.outcome else 0
        lines.append((f"&nbsp;&nbsp;{one.name} ({one.status})", one.seconds, one.seconds / reading, found, at_risk))
    return lines


if __name__ == "__main__":
    main()
