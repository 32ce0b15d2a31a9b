"""Nothing in the public files tells counterfeits from people, nor their classes from others.

`make counterfeits` pools over 1,000 classes with counterfeits of each kind and allows 0.05 beyond chance; here over
fewer, with more room for chance. Which values a class shows is not on the list: rare sets of values need counterfeits
more often than frequent ones (docs/strategies/m-invariance.md says how far that goes), so here all are as frequent.
e-equivalence makes few, large classes: there rows are compared, counterfeits with people.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import rankdata

import reissue as ri
from reissue.arrays.types import Float64
from reissue.methods.strategy import Strategy
from reissue.model.boxes import losses
from tests.support.public import read_public

CLASSES = int(os.environ.get("REISSUE_COUNTERFEITS", "80"))
ROOM = 0.05 if CLASSES >= 1_000 else 0.15
EXACT = ["age", "place", "sex"]
LENT = ["ward", "visits", "device", "maker", "drug"]
BONDS = [1.0, 0.6, 0.0] if CLASSES >= 1_000 else []
SCHEMA = ri.Schema(
    identifier="id",
    quasi_identifiers={
        "age": ri.Numeric(),
        "place": ri.Categorical(
            hierarchy=ri.Hierarchy.from_nested({"all": {f"r{r}": [f"p{r}{i}" for i in range(4)] for r in range(3)}})
        ),
        "sex": ri.Categorical(hierarchy=ri.Hierarchy.from_nested({"any": ["f", "m"]})),
    },
    sensitive="illness",
    insensitive=tuple(LENT),
)


def months(rows: int, seed: int, bond: float = 1.0) -> Iterator[pa.Table]:
    """A table of which 5% are replaced each month; devices are many.

    bond: how often wards follow from regions, makers from devices, and drugs from illnesses; otherwise they are drawn.
    """
    rng, first = np.random.default_rng(seed), 0
    present: dict[str, list[object]] = {}

    def follow(what: int, many: int) -> int:
        return what % many if rng.random() < bond else int(rng.integers(many))

    while True:
        for name in rng.permutation(list(present))[: rows // 20].tolist():
            del present[name]
        while len(present) < rows:
            region, illness, device = int(rng.integers(3)), int(rng.integers(8)), int(rng.integers(rows // 8))
            whole = [int(rng.integers(20, 80)), f"p{region}{rng.integers(4)}", "fm"[rng.integers(2)], f"i{illness}"]
            lent = [f"w{follow(region, 3)}", int(rng.poisson(2)), f"d{device}", f"m{follow(device, 7)}"]
            present[f"id{first}"] = [*whole, *lent, f"g{follow(illness, 8)}"]
            first += 1
        columns = ["id", *EXACT, "illness", *LENT]
        rows_now = [[name, *row] for name, row in present.items()]
        yield pa.table(dict(zip(columns, map(list, zip(*rows_now, strict=True)), strict=True)))


def count_pairs(rows: pa.Table, shown: list[str]) -> Iterator[tuple[str, Float64, Float64]]:
    """For each pair of columns, one of them insensitive: its names; how often the table has that of each row; and
    that, by how often it would if the columns had nothing to do with each other."""
    told = {name: rows[name].to_pylist() for name in shown}
    single = {name: Counter(column) for name, column in told.items()}
    for a, b in combinations(shown, 2):
        if b in LENT or a in LENT:
            many = Counter(zip(told[a], told[b], strict=True))
            often = np.array([many[pair] for pair in zip(told[a], told[b], strict=True)], dtype=float)
            alone = np.array([single[a][x] * single[b][y] for x, y in zip(told[a], told[b], strict=True)])
            yield f"{a} and {b}", often, often * len(rows) / alone


def count_alike(rows: pa.Table, columns: list[str]) -> np.ndarray:
    """int64[rows]: how many rows say the same in these columns."""
    told = [tuple(row.values()) for row in rows.select(columns).to_pylist()]
    many = Counter(told)
    return np.array([many[row] for row in told])


def describe(series: ri.Series, number: int, by_row: bool) -> tuple[np.ndarray, dict[str, Float64]]:
    """(bool[classes] with counterfeits, what the public files say about each class). by_row: of rows instead."""
    members = series.membership(number)
    folder = series.releases[number - 1].path
    seen = read_public(folder, series.coding)
    count, size = seen.class_count, seen.sizes
    fake = np.bincount(members["class"].to_numpy()[members["counterfeit"].to_numpy()], minlength=count) > 0
    name = "quasi_identifiers" if seen.anatomized else "release"
    rows = pq.read_table(folder / f"{name}.parquet")
    home = rows["class"].to_numpy()
    if by_row:
        facts = series._ledger.facts(number)
        order = np.random.default_rng([series._ledger.releases[number - 1].seed, 2]).permutation(len(home))
        assert (facts.classes[order] == home).all()
        fake = (facts.subjects < 0)[order]

    def mean(of_rows: list[float] | Float64) -> Float64:
        if by_row:
            return np.array(of_rows, dtype=float)
        return np.bincount(home, np.array(of_rows, dtype=float), count) / np.bincount(home, minlength=count)

    def least(of_rows: Float64) -> Float64:
        if by_row:
            return of_rows
        found = np.full(count, np.inf)
        np.minimum.at(found, home, of_rows)
        return found

    def repeats(columns: list[str]) -> Float64:
        """The share of a class's rows that another row of the release equals in these columns."""
        told = [tuple(row.values()) for row in rows.select(columns).to_pylist()]
        many = Counter(told)
        return mean([many[row] > 1 for row in told])

    lost = losses(seen.boxes, series.coding.domains)
    found = {"class size": (size[home] if by_row else size).astype(float)}
    if not by_row:
        found |= {"box size": lost.sum(axis=1), "exact labels": (lost == 0).sum(axis=1).astype(float)}
        found |= {f"position by {name}": seen.boxes[:, a].mean(axis=1) for a, name in enumerate(EXACT)}
    for column in [*EXACT, *LENT]:
        labels = rows[column].to_pylist()
        many = Counter(labels)
        found[f"frequency of {column}"] = mean([many[label] / len(labels) for label in labels])
    found["repeated insensitive columns"] = repeats(LENT)
    found["repeated pairs"] = repeats(["visits", "device"])
    if seen.anatomized:
        found["repeated quasi-identifiers"] = repeats(EXACT)
        for many in (2, 3):
            found[f"{many} with the same quasi-identifiers"] = mean(count_alike(rows, EXACT) == many)
        for pair in combinations(EXACT, 2):
            found[f"how many have this {' and '.join(pair)}"] = mean(count_alike(rows, [*pair]).astype(float))
        found["repeated rows"] = repeats([*EXACT, *LENT])
    unlikeliest = np.full(len(home), np.inf)
    for pair, often, likely in count_pairs(rows, [*EXACT, *LENT, *([] if seen.anatomized else ["illness"])]):
        found |= {f"rarest {pair}": least(often), f"{pair} like nobody": mean(often == 1)}
        found |= {f"unlikeliest {pair}": least(likely)}
        unlikeliest = np.minimum(unlikeliest, likely)
    found["unlikeliest pair"] = least(unlikeliest)
    return fake, found


def separate(numbers: list[Float64], fakes: list[np.ndarray]) -> float:
    """The AUC: how often a class with counterfeits has a larger number than another class of its release."""
    above = pairs = 0.0
    for some, fake in zip(numbers, fakes, strict=True):
        ranks, many = rankdata(some), int(fake.sum())
        above += float(ranks[fake].sum()) - many * (many + 1) / 2
        pairs += many * (len(fake) - many)
    return above / pairs


@pytest.mark.parametrize(
    ("strategy", "bond"),
    [
        pytest.param(strategy, one, id=f"{name}-{one}")
        for name, strategy, bond in [
            ("m-invariance", ri.MInvariance(m=3, on_ineligible="counterfeit"), 1.0),
            ("anatomized", ri.MInvariance(m=3, publishing="anatomized", on_ineligible="counterfeit"), 1.0),
            ("cor-split", ri.CorSplit(m=3, n=2, on_ineligible="counterfeit"), 0.6),
            ("e-equivalence", ri.EEquivalence(m=3, e=2, on_ineligible="counterfeit"), 1.0),
        ]
        for one in BONDS or [bond]
    ],
)
def test_no_statistic_of_the_public_files_tells_classes_with_counterfeits(
    strategy: Strategy, bond: float, tmp_path: Path
) -> None:
    fakes: list[np.ndarray] = []
    told: dict[str, list[Float64]] = {}
    by_row = strategy.name == "e-equivalence"
    for seed in range(200):
        with ri.Series.create(tmp_path / f"s{seed}", SCHEMA, strategy, seed=seed) as series:
            for table in islice(months(400, seed, bond), 8):
                series.publish(table, allow=("counterfeits",))
            for number in (5, 8):  # of one series only what was drawn apart: counterfeits stay
                fake, found = describe(series, number, by_row)
                size = found.pop("class size") if by_row else found["class size"]
                # What Cor-Split repairs gets twice the rows, of people or of counterfeits: compare with its like.
                for same in [size == some for some in np.unique(size)] if strategy.name == "cor-split" else [size > 0]:
                    fakes.append(fake[same])
                    for name, numbers in found.items():
                        told.setdefault(name, []).append(numbers[same])
        if sum(int(fake.sum()) for fake in fakes) >= CLASSES:
            break
    auc = {name: separate(numbers, fakes) for name, numbers in told.items()}
    apart = {name: round(found, 3) for name, found in auc.items() if abs(found - 0.5) > ROOM}
    assert not apart, f"these tell counterfeits or their classes: {apart}"


def test_counterfeits_that_stay_show_what_they_showed(tmp_path: Path) -> None:
    """As people do: a row with the same exact quasi-identifiers and another ward every month would be nobody's."""
    strategy = ri.EEquivalence(m=3, e=2, on_ineligible="counterfeit")
    with ri.Series.create(tmp_path / "s", SCHEMA, strategy, seed=1) as series:
        kept, before = 0, dict[tuple[str, ...], list[object]]()
        for table in islice(months(300, seed=1), 4):
            folder = series.publish(table, allow=("counterfeits",)).path
            rows = pq.read_table(folder / "quasi_identifiers.parquet").to_pylist()
            people = {tuple(str(row[name]) for name in EXACT) for row in table.to_pylist()}
            shown = [(tuple(str(row[name]) for name in EXACT), [row[name] for name in LENT]) for row in rows]
            now = {exact: lent for exact, lent in shown if exact not in people}
            assert all(now[exact] == before[exact] for exact in now.keys() & before.keys())
            kept, before = kept + len(now.keys() & before.keys()), now
    assert kept > 5


def test_counterfeits_never_repeat_rows_where_people_do_not(tmp_path: Path) -> None:
    """Everybody differs from everybody: so do counterfeits, in exact quasi-identifiers and in insensitive columns."""
    strategy = ri.EEquivalence(m=2, e=2, on_ineligible="counterfeit")
    made, repeated = 0, 0
    with ri.Series.create(tmp_path / "s", SCHEMA, strategy) as series:
        for number, table in enumerate(months(60, seed=2), start=1):
            table = pa.Table.from_pylist(
                list({tuple(row[c] for c in EXACT): row for row in table.to_pylist()}.values())
            )
            release = series.publish(table, allow=("counterfeits",))
            made += release.counts["counterfeits"]
            rows = pq.read_table(release.path / "quasi_identifiers.parquet")
            many = Counter(tuple(row.values()) for row in rows.select(EXACT).to_pylist())
            repeated += sum(count - 1 for count in many.values())
            if number == 8:
                break
    assert made > 20
    assert repeated <= made // 20


def test_smallest_class_and_risk_count_people(tmp_path: Path) -> None:
    """A lonely man whose class is filled with counterfeits is alone, whatever the number of rows says."""
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.MInvariance(m=3, on_ineligible="counterfeit")) as series:
        table = next(months(12, seed=1))
        series.publish(table)
        alone = series.publish(table.slice(0, 1))
        assert alone.counts["counterfeits"] == 2
        about = json.loads((alone.path / "release.json").read_text())["counts"]
        assert (about["rows"], about["smallest_class"]) == (3, 1)
        risk = series.audit(attacks=["association"]).to_dict()["releases"][1]["risk"]  # type: ignore[index,call-overload]
        assert risk["prosecutor"]["highest"] == 1.0
