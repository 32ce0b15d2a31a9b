"""Section 6 of Byun et al. on Adult: what releases that ignore each other give away, and what preventing it costs.

python experiments/incremental_adult.py [folder of the Adult data and ARX's hierarchies] [folder for tables and figures]
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from incremental_adult_report import Row, write
from incremental_reference import losses
from reissue.hierarchy import Hierarchy
from reissue.methods.attack import Attack
from reissue.methods.baselines.merge import Merge
from reissue.methods.baselines.static import Static
from reissue.methods.incremental.checked_incognito import CheckedIncognito
from reissue.methods.incremental.checked_mondrian import CheckedMondrian
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.intersection_attack import Intersection
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded, Facts, History, Table
from reissue.utility.measure import ail, discernibility
from words import Numbers

ROOT = Path(__file__).resolve().parents[1]
K, C = 5, 0.7
FIRST, STEP, RELEASES = 5_000, 5_000, 6
SMALL = 400
OCCUPATION = 6
COLUMNS = {
    "age": 0,
    "workclass": 1,
    "education": 3,
    "marital-status": 5,
    "race": 8,
    "sex": 9,
    "native-country": 13,
    "salary-class": 14,
}
STRATEGIES: dict[str, Strategy] = {
    "static Mondrian": Static(k=K, c=C),
    "checked Mondrian": CheckedMondrian(k=K, c=C),
    "merged Mondrian": Merge(k=K, c=C),
    "static Incognito": Static(k=K, c=C, algorithm="incognito"),
    "checked Incognito": CheckedIncognito(k=K, c=C),
    "merged Incognito": Merge(k=K, c=C, algorithm="incognito"),
}

FEW_VALUES: dict[str, Strategy] = {
    "static Mondrian": Static(k=K),
    "checked Mondrian": CheckedMondrian(k=K),
    "merged Mondrian": Merge(k=K),
}


def read(folder: Path) -> Coded:
    """The complete rows of Adult's train split in a random but fixed order."""
    with gzip.open(folder / "adult" / "adult.data.gz", "rt") as lines:
        rows = [line.strip().split(", ") for line in lines if line.count(",") == 14 and "?" not in line]
    columns, domains = [], []
    for name, position in COLUMNS.items():
        column = [row[position] for row in rows]
        if name == "age":
            codes = np.array(column, dtype=np.int32)
            domains.append(Domain(name, int(codes.min()), int(codes.max())))
        else:
            hierarchy = Hierarchy.from_arx_csv(folder / "arx_adult" / f"adult_hierarchy_{name}.csv")
            codes = hierarchy.encode(column)
            domains.append(Domain(name, 0, hierarchy.tree.leaves - 1, hierarchy.tree))
        columns.append(codes)
    labels, values = np.unique([row[OCCUPATION] for row in rows], return_inverse=True)
    order = np.random.default_rng(0).permutation(len(rows))
    table = np.asfortranarray(np.stack(columns, axis=1)[order])
    return Coded(
        np.arange(len(rows), dtype=np.int64), table, values[order].astype(np.int32), tuple(domains), len(labels)
    )


def first(table: Coded, rows: int) -> Coded:
    codes = np.asfortranarray(table.codes[:rows])
    return Coded(table.subjects[:rows], codes, table.values[:rows], table.domains, table.value_count)


def by_salary(table: Coded) -> Coded:
    """The last quasi-identifier, salary, as the sensitive value instead of occupation."""
    return Coded(table.subjects, table.codes[:, :-1], table.codes[:, -1].copy(), table.domains[:-1], 2)


def run(strategy: Strategy, snapshots: list[Coded]) -> tuple[list[Facts], list[float]]:
    """Publish the snapshots one after the other; seconds per release, with keeping the history."""
    releases: list[Facts] = []
    caches: Mapping[str, Table] = {}
    seconds = []
    for number, snapshot in enumerate(snapshots, start=1):
        begin = time.perf_counter()
        facts = strategy.publish(snapshot, History(releases, caches, number)).facts(number, snapshot)
        caches = strategy.remember(caches, facts)
        seconds.append(time.perf_counter() - begin)
        releases.append(facts)
    return releases, seconds


def vulnerable(releases: list[Facts], table: Coded) -> list[dict[str, float]]:
    """Per release, how many people each attack puts at risk by laying it beside the earlier ones."""
    series = Observed([ObservedRelease.of(facts) for facts in releases], table.domains, table.value_count, Numbers())
    attacks: tuple[Attack, ...] = (Intersection(c=C), Difference(k=K, c=C), RecordTracing(k=K))
    found: list[dict[str, float]] = []
    for number in range(1, len(releases) + 1):
        people = {}
        for attack in attacks:
            at_risk = attack.run(series, involving=number).at_risk if number > 1 else {}
            people[attack.name] = float(len(np.unique(np.concatenate([np.empty(0, np.int64), *at_risk.values()]))))
        found.append(people)
    return found


def main(data: Path, target: Path) -> None:
    table = read(data)
    snapshots = [first(table, FIRST + STEP * i) for i in range(RELEASES)]
    rows = []
    for name, strategy in STRATEGIES.items():
        run(strategy, snapshots)  # compiles
        releases, seconds = run(strategy, snapshots)
        risk = vulnerable(releases, table)
        for i, facts in enumerate(releases):
            measured = {"AIL": ail(facts, table.domains), "DM": float(discernibility(facts)), "seconds": seconds[i]}
            rows.append(Row(name, len(snapshots[i]), {**measured, "classes": float(facts.class_count), **risk[i]}))
            print(name, i + 1, rows[-1].levels)
    few = []
    for name, strategy in FEW_VALUES.items():
        releases, _ = run(strategy, [by_salary(snapshot) for snapshot in snapshots])
        few += [Row(name, len(snapshots[i]), {"AIL": ail(f, table.domains[:-1])}) for i, f in enumerate(releases)]
    small = [first(table, SMALL * (i + 1)) for i in range(RELEASES)]
    possible = {
        "occupation": losses(small, K, C),
        "salary": losses([by_salary(snapshot) for snapshot in small], K, 1.0),
    }
    write(rows, few, {what: _rows(found) for what, found in possible.items()}, (K, C), target)


def _rows(found: dict[str, list[float]]) -> list[Row]:
    return [Row(name, SMALL * (i + 1), {"AIL": x}) for name, levels in found.items() for i, x in enumerate(levels)]


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    main(
        given[0] if given else ROOT.parent / "shared" / "data",
        given[1] if len(given) > 1 else ROOT / "docs" / "experiments" / "incremental",
    )
