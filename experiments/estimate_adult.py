"""How often the intervals of `reissue.estimate` hold the truth: every form of release, 500 random queries each.

    python experiments/estimate_adult.py [--data adult|clinic|census] [--rows 8000] [--seed 0] [--releases 1 8]

Adult with ARX's hierarchies, the made-up clinic, or census-like people (50 occupations, all columns as numbers).
Everything goes through files: people are published by a series, and the queries are asked of the release folder with
nothing but the config. A query asks for one to three quasi-identifiers, each a range of neighbouring codes (5% to 60%
of the domain; any leaves of a hierarchy), and for one to three values, one time in ten for all of them.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import reissue as ri
from learning_people import CENSUS, COLUMNS, OCCUPATION
from reissue.clinic import clinic_months, config
from reissue.estimating.answering import make_spread
from reissue.estimating.intervals import Interval, WeighedQuery
from reissue.estimating.reading import ReleaseRows, read_release
from reissue.publish.gates import NAMES as GATES
from reissue.schema import read_config

ROOT = Path(__file__).resolve().parents[1]
FORMS: dict[str, ri.Static | ri.MInvariance | ri.EEquivalence | ri.Standing] = {
    "generalized: static, k=10": ri.Static(k=10),
    "generalized: m-invariance, m=4": ri.MInvariance(m=4),
    "anatomized: m-invariance, m=4": ri.MInvariance(m=4, publishing="anatomized"),
    "anatomized: e-equivalence, m=4, e=3": ri.EEquivalence(m=4, e=3),
    "told: standing": ri.Standing(form="told"),
    "told, totals: standing": ri.Standing(form="told", totals=0.5),
    "flat: standing": ri.Standing(),
    "flat, totals: standing": ri.Standing(totals=0.5),
}
Ranges = dict[int, list[tuple[int, int]]]


def read_people(folder: Path) -> pl.DataFrame:
    """Complete rows of both splits of Adult, in a random but fixed order."""
    rows = []
    for name in ("adult.data.gz", "adult.test.gz"):
        with gzip.open(folder / "adult" / name, "rt") as lines:
            rows += [row.strip().rstrip(".").split(", ") for row in lines if row.count(",") == 14 and "?" not in row]
    places = {**COLUMNS, "occupation": OCCUPATION}
    frame = pl.DataFrame({name: [row[place] for row in rows] for name, place in places.items()})
    frame = frame.with_columns(pl.col("age").cast(pl.Int64))
    order = np.random.default_rng(0).permutation(len(frame))
    return frame[order].with_columns(pl.Series("person", np.arange(len(frame))))


def make_schema(folder: Path) -> ri.Schema:
    attributes: dict[str, ri.Numeric | ri.Categorical] = {
        name: ri.Categorical(folder / "arx_adult" / f"adult_hierarchy_{name}.csv") for name in COLUMNS if name != "age"
    }
    return ri.Schema(
        identifier="person", quasi_identifiers={"age": ri.Numeric(), **attributes}, sensitive=["occupation"]
    )


def months(people: pl.DataFrame, rows: int, releases: int) -> Iterator[pl.DataFrame]:
    """A tenth leaves before each release, and as many come."""
    for number in range(releases):
        first = number * (rows // 10)
        yield people[first : first + rows]


def draw_queries(rows: ReleaseRows, count: int, rng: np.random.Generator) -> Iterator[tuple[Ranges, list[int] | None]]:
    domains, values = rows.coding.domains, len(rows.coding.values)
    for _ in range(count):
        where: Ranges = {}
        for a in rng.choice(len(domains), int(rng.integers(1, 4)), replace=False).tolist():
            size = domains[a].hi - domains[a].lo + 1
            length = max(1, round(size * rng.uniform(0.05, 0.6)))
            low = domains[a].lo + int(rng.integers(0, size - length + 1))
            where[a] = [(low, low + length - 1)]
        chosen = rng.choice(values, int(rng.integers(1, min(4, values))), replace=False).tolist()
        yield where, None if rng.random() < 0.1 else chosen


def encode(people: pl.DataFrame, rows: ReleaseRows) -> tuple[np.ndarray, np.ndarray]:
    """Codes and values of the people in the codes of the release's readers."""
    coding = rows.coding
    columns = [
        coding.numbers[name].encode(people[name].to_numpy())
        if name in coding.numbers
        else coding.hierarchies[name].encode(people[name].to_list())
        for name in coding.attributes
    ]
    codes = {labels[0]: code for labels, code in coding.value_lookup.items()}
    return np.stack(columns, axis=1), np.array([codes[value] for value in people[coding.schema.sensitive[0]].to_list()])


def cover(rows: ReleaseRows, people: pl.DataFrame, count: int, seed: int = 1) -> dict[str, float]:
    """The share of queries (with anybody in the truth) whose interval holds it; widths and errors beside."""
    codes, truth = encode(people, rows)
    spreads = {a: make_spread(rows, a) for a in range(codes.shape[1])}
    held: dict[str, list[bool]] = {"counts": [], "rates": []}
    off, wide = [], []
    for where, values in draw_queries(rows, 3 * count, np.random.default_rng(seed)):
        inside = np.ones(len(codes), dtype=np.bool_)
        for a, [(low, high)] in where.items():
            inside &= (codes[:, a] >= low) & (codes[:, a] <= high)
        actual = int((inside & (np.ones_like(inside) if values is None else np.isin(truth, values))).sum())
        if actual == 0 or len(held["counts"]) == count:
            continue
        found, _, rate = WeighedQuery(rows, spreads, where, values).answer()
        held["counts"].append(_holds(found, actual))
        held["rates"].append(_holds(rate, actual / int(inside.sum())))
        off.append(abs(found.middle - actual) / actual)
        wide.append((found.high - found.low) / actual)
    told = {name: float(np.mean(some)) for name, some in held.items()}
    return told | {"median error": float(np.median(off)), "median width": float(np.median(wide))}


def _holds(found: Interval, actual: float) -> bool:
    return found.low - 1e-9 <= actual <= found.high + 1e-9


def read_data(
    name: str, folder: Path, rows: int, seed: int
) -> tuple[ri.Schema, Callable[[int], Iterable[pl.DataFrame]]]:
    """The schema, and so many months; people are others, or in another order, with another seed."""
    rng = np.random.default_rng(seed)
    if name == "clinic":
        with TemporaryDirectory() as made:
            path = Path(made) / "clinic.toml"
            path.write_text(config(strategy="static"), encoding="utf-8")
            schema = read_config(path).schema
        return schema, lambda count: map(to_polars, clinic_months(seed=2024 + seed, months=count, patients=rows))
    if name == "census":
        people = pl.read_csv(folder / "occ" / "occ_like_600k.csv.gz", columns=[*CENSUS, "occupation"])
        people = people[rng.permutation(len(people))[: 2 * rows]].with_row_index("person")
        people = people.with_columns(pl.col("occupation").cast(pl.String))
        schema = ri.Schema(
            identifier="person", quasi_identifiers={c: ri.Numeric() for c in CENSUS}, sensitive=["occupation"]
        )
        return schema, lambda count: months(people, rows, count)
    people = read_people(folder)
    people = people[rng.permutation(len(people))] if seed else people
    return make_schema(folder), lambda count: months(people, rows, count)


def to_polars(table: object) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def measure(
    schema: ri.Schema, snapshots: Callable[[int], Iterable[pl.DataFrame]], releases: int, count: int, seed: int
) -> Iterator[tuple[str, Mapping[str, float]]]:
    for name, strategy in FORMS.items():
        with TemporaryDirectory() as folder:
            series = ri.Series.create(Path(folder) / "s", schema, strategy, seed=seed + 1, formats=["parquet"])
            for month in snapshots(releases):
                release = series.publish(month, allow=GATES)
            series.close()
            yield name, cover(read_release(release, schema), month, count, seed + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT.parent / "shared" / "data", help="of Adult and the census")
    parser.add_argument("--data", choices=["adult", "clinic", "census"], default="adult")
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--releases", type=int, nargs="+", default=[1, 8])
    given = parser.parse_args()
    schema, snapshots = read_data(given.data, given.folder, given.rows, given.seed)
    for releases in given.releases:
        for name, found in measure(schema, snapshots, releases, given.queries, given.seed):
            figures = "  ".join(f"{key} {value:.3f}" for key, value in found.items())
            print(f"{given.data}, release {releases}, {name:38s}", figures, flush=True)


if __name__ == "__main__":
    main()
