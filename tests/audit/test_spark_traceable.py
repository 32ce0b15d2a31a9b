"""Insensitive columns compared by workers: what one machine tells, and no row on the driver."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from reissue.audit.row_linkage import ColumnComparison, ReadColumns, count_shares, find_traceable
from reissue.audit.spark.row_linkage import SparkColumns
from reissue.engine.output import write_table
from reissue.engine.text import text_of
from reissue.errors import SnapshotError
from tests.support import spark
from tests.support.releases import refuse_releases

LABELS = np.array(["a", "b", "a b", "", " ", "ä", "A", None, "1", "x" * 40], dtype=object)


def test_counts_of_pieces_add_up_to_those_of_the_whole() -> None:
    """Random columns, also empty ones, cut anywhere: every comparison has the number that one machine finds."""
    seen = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        width, k = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        names = tuple("pqr"[:width])
        tables = [
            pa.table({name: pa.array(rng.choice(LABELS, rows), pa.string()) for name in names})
            for rows in rng.integers(0, 12, size=2)
        ]
        comparisons = [
            *(ColumnComparison(0, (name,)) for name in names),
            *([ColumnComparison(0, names)] if width > 1 else []),
        ]
        left, right = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
        for position, table in enumerate(tables):
            cuts = [0, *sorted(rng.integers(0, len(table) + 1, size=2).tolist()), len(table)]
            for first, last in pairwise(cuts):
                piece = table.slice(first, last - first)
                for share in count_shares(position, {name: text_of(piece.column(name)) for name in names}, comparisons):
                    for row in share.to_pylist():
                        left[row["comparison"], row["key"]] += row["left"]
                        right[row["comparison"], row["key"]] += row["right"]
        found = [
            sum(rows for key, rows in left.items() if key[0] == number and 0 < rows < k and 0 < right[key] < k)
            for number in range(len(comparisons))
        ]
        whole = ReadColumns([{name: text_of(table.column(name)) for name in names} for table in tables])
        alone = [sum(rows == 1 for key, rows in left.items() if key[0] == number) for number in range(len(comparisons))]
        assert list(zip(found, alone, strict=True)) == whole.linked(comparisons, k), seed
        seen += sum(found)
    assert seen > 250


# -- on Spark


def release(seed: int, rows: int = 60) -> pa.Table:
    """Of every type that is written in two ways, with gaps; names that Spark itself could not take. Most rows stay."""
    ward, seen, score, label, gap = np.random.default_rng(0).integers(0, [[30], [12], [12], [10], [9]], (5, rows))
    own = np.random.default_rng(seed).permutation(rows)[:10]
    ward[own], score[own] = ward[own[::-1]], score[own[::-1]]
    return pa.table(
        {
            "age": pa.array(np.arange(rows)),
            "a.b `c`": pa.array(LABELS[label], pa.string()),
            "score": pa.array(score.astype(np.float64), mask=gap == 0),
            "seen": pa.array([datetime(2026, 1, 1) + timedelta(days=day) for day in seen.tolist()], pa.timestamp("us")),
            "ward": pa.array(ward),
        }
    )


def replaced(table: pa.Table, name: str, row: int, value: object) -> pa.Table:
    values = table.column(name).to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values, table.schema.field(name).type))


WANTED = ("ward", "seen", "a.b `c`", "score")


def folders(place: Path) -> list[Path]:
    """Releases as one file, as CSV, in parts, without a column, anatomized, and none."""
    made = [place / f"{number:04d}" for number in range(1, 9)]
    for folder in made:
        folder.mkdir()
    write_table(release(1), made[0] / "release.parquet", "parquet")
    half = replaced(release(2), "score", 55, 7.5)  # the last part alone says that all numbers have a point
    half = replaced(half, "seen", 3, datetime(2026, 1, 1, 7, 30))
    (made[1] / "release.parquet").mkdir()
    for part in range(3):
        write_table(half.slice(20 * part, 20), made[1] / "release.parquet" / f"part-{part:05d}.parquet", "parquet")
    write_table(replaced(release(3), "score", 8, 3.25), made[2] / "release.parquet", "parquet")
    (made[3] / "release.csv").mkdir()
    for part in range(2):
        write_table(release(4).slice(30 * part, 30), made[3] / "release.csv" / f"part-{part:05d}.csv", "csv")
    write_table(release(5), made[4] / "quasi_identifiers.csv", "csv")
    write_table(release(6).drop_columns(["seen"]), made[5] / "release.parquet", "parquet")
    encoded = release(7).set_column(2, "score", release(7).column("score").dictionary_encode())
    pyarrow.parquet.write_table(encoded, made[6] / "release.parquet", row_group_size=7)  # adopted, from another tool
    return made


@spark.together
@spark.quiet
def test_workers_read_every_form_of_release_and_tell_only_sums(tmp_path: Path) -> None:
    engine, made = spark.engine(), folders(tmp_path)
    here, there = ReadColumns.of(made, WANTED), SparkColumns(engine, made, WANTED)
    assert there.names == here.names
    assert [len(names) for names in there.names] == [4, 4, 4, 4, 4, 3, 4, 0]
    found = find_traceable(there, "name", 3)
    assert found == find_traceable(here, "name", 3)
    assert {one.releases[0] for one in found if one.releases[0] < one.releases[1]} == {1, 2, 3, 4, 5, 6}
    assert {"ward", "seen", "score"} <= {one.column for one in found}
    assert any("+" in one.column for one in found)
    comparisons = 2 * (27 + 6)  # every column of a release alone, and all that two have, each for two counts
    assert set(engine.transfers) == {"results of tasks", "rows linked by insensitive columns"}
    assert engine.transfers["results of tasks"] == 10  # files
    assert len(found) <= engine.transfers["rows linked by insensitive columns"] <= comparisons


@spark.together
@spark.quiet
def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    made = folders(tmp_path)[:2]
    write_table(release(9).drop_columns(["ward"]), made[1] / "release.parquet" / "part-00003.parquet", "parquet")
    with pytest.raises(SnapshotError, match=r"part-00003\.parquet has other columns than the files beside it"):
        _ = SparkColumns(spark.engine(), made, WANTED).names


def test_the_trap_of_the_audit_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What test_spark_audit relies on: in this process nobody gets at a public file, in any of its forms."""
    (tmp_path / "releases").mkdir()
    made = folders(tmp_path / "releases")
    refuse_releases(monkeypatch)
    for folder in made[:-1]:
        with pytest.raises(AssertionError, match="the driver read a release"):
            ReadColumns.of([folder], WANTED)
