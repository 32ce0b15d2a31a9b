"""BayFrame and JS-reduce, in memory: the 24 clinic tables where the paper took four hours, and growth to 200K rows."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from benchmarks.harness import Run, fresh, report
from reissue.arrays.types import Int32
from reissue.methods.baselines.static import Static
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.js_reduce import JSReduce
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.release import Coded, Facts, History, Table

POLICIES: dict[str, Strategy] = {
    "static": Static(k=3, beta=5.0),
    "BayFrame, 1 step": BayFrame(k=3, J=0.6, beta=5.0),
    "BayFrame, 2 steps": BayFrame(k=3, J=0.6, beta=5.0, steps=2),
    "JS-reduce": JSReduce(k=3, t=0.5, J=0.6),
    "BayFrame, J = 0.3": BayFrame(k=3, J=0.3, beta=5.0),
}
SIZES = (50_000, 100_000, 200_000)
VALUES = 20


def clinic(months: int = 24) -> list[Coded]:
    """Sex, year of birth and weight of the clinic's patients, in codes."""
    from reissue.clinic import EXAMS, SEXES, clinic_months

    made = []
    for table in clinic_months(months=months, dependence="weak"):
        codes = np.stack(
            [
                np.array([SEXES.index(sex) for sex in table["sex"].to_pylist()]),
                np.array(table["birth_year"].to_pylist()),
                np.round(np.array(table["weight"].to_pylist()) * 10),
            ],
            axis=1,
        ).astype(np.int32)
        domains = (Domain("sex", 0, 1), Domain("birth_year", 1900, 2010), Domain("weight", 400, 1400))
        subjects = np.array([int(name[1:]) for name in table["patient"].to_pylist()], dtype=np.int64)
        values = np.array([EXAMS.index(exam) for exam in table["exam"].to_pylist()], dtype=np.int32)
        made.append(Coded(subjects, np.asfortranarray(codes), values, domains, len(EXAMS)))
    return made


def large(rows: int) -> list[Coded]:
    """Two tables of random people with 20 values; 15% change their value, 7% leave and as many come."""
    rng = np.random.default_rng(0)
    domains = tuple(Domain(name, 0, high) for name, high in (("age", 99), ("weight", 999), ("place", 255), ("sex", 1)))
    weight = 1.0 / np.arange(1, VALUES + 1) ** 0.4
    codes = np.asfortranarray(np.stack([rng.integers(0, d.hi + 1, rows) for d in domains], axis=1).astype(np.int32))

    def values() -> Int32:
        return rng.choice(VALUES, rows, p=weight / weight.sum()).astype(np.int32)

    first, subjects = values(), np.arange(rows)
    second = np.where(rng.random(rows) < 0.15, values(), first).astype(np.int32)
    later = np.where(rng.random(rows) < 0.07, subjects + rows, subjects)
    return [Coded(subjects, codes, first, domains, VALUES), Coded(later, codes, second, domains, VALUES)]


def run(strategy: Strategy, snapshots: list[Coded]) -> None:
    """Publish, check and remember, as a series does, without files."""
    releases: list[Facts] = []
    caches: Mapping[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        history = History(releases, caches, number)
        facts = strategy.publish(snapshot, history).facts(number, snapshot)
        broken = strategy.check(facts, history) if hasattr(strategy, "check") else None
        assert broken is None, broken
        caches = strategy.remember(caches, facts)
        releases.append(facts)


def timed(policy: str, rows: int) -> Run:
    """A fresh process with kernels cached."""
    return fresh([sys.executable, "-m", "benchmarks.bench_bayes", policy, str(rows)])


def main() -> None:
    table: list[list[object]] = []
    for policy in POLICIES:
        timed(policy, 2_000)  # compile and cache the kernels
    base = timed("static", 0)
    for policy in list(POLICIES)[:4]:
        once = base if policy == "static" else timed(policy, 0)
        table.append(["24 clinic tables", policy, once.cpu, once.cpu / base.cpu, once.megabytes])
    for size in SIZES:
        base = timed("static", size)
        for policy in ("static", "BayFrame, 1 step", "BayFrame, J = 0.3"):
            once = base if policy == "static" else timed(policy, size)
            name = f"2 tables of {size:,}, {VALUES} values"
            table.append([name, policy, once.cpu, once.cpu / base.cpu, once.megabytes])
    report(
        "bayes",
        "BayFrame and JS-reduce",
        "Publish, check and remember in memory, in a fresh process with kernels cached; making the rows is included. "
        "Seconds of processor time, of user and system. "
        "Yardstick: the static baseline (Mondrian, k = 3, beta = 5) on the same rows. The paper took about four hours "
        "for 24 tables of 4,000 rows.",
        ["rows", "policy", "seconds", "ratio to static", "peak MB"],
        table,
    )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        run(POLICIES[sys.argv[1]], large(int(sys.argv[2])) if int(sys.argv[2]) else clinic())
    else:
        main()
