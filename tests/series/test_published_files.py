"""What stands in a published directory, and what does not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

import reissue as ri
from tests.support.hospital import FIGURE_1, frame, hospital_schema, population
from tests.support.public import read_public


def test_reading_a_release_back_gives_the_same_boxes(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5)) as series:
        release = series.publish(population(300))
        read = read_public(release.path, series.coding)
        facts = series._ledger.facts(1)
        np.testing.assert_array_equal(read.boxes, facts.boxes)
        np.testing.assert_array_equal(
            np.sort(read.classes.astype(np.int64) * 100 + read.values),
            np.sort(facts.classes.astype(np.int64) * 100 + facts.values),
        )


def test_a_published_directory_contains_nothing_private(tmp_path: Path) -> None:
    schema = ri.Schema(
        identifier="name",
        quasi_identifiers=hospital_schema().quasi_identifiers,
        sensitive="diagnosis",
        insensitive=("ward",),
    )
    table = population(400).append_column("ward", pa.array([f"W{i % 3}" for i in range(400)]))
    table = table.append_column("note", pa.array([f"UNLISTED-{i}" for i in range(400)]))
    with ri.Series.create(tmp_path / "s", schema, ri.Static(k=5)) as series:
        release = series.publish(table)
        seed = series._ledger.seed
    for file in release.path.rglob("*"):
        content = file.read_bytes()
        assert b"IDENT-" not in content, f"{file.name} has identifiers"
        assert b"UNLISTED" not in content, f"{file.name} has a column that is in no role"
        assert str(seed).encode() not in content
        assert b"counterfeit" not in content.lower()
    rows = pa.parquet.read_table(release.path / "release.parquet")
    assert set(rows.column_names) == {"age", "gender", "diagnosis", "ward", "class"}
    same_place = sum(a == b for a, b in zip(rows["diagnosis"].to_pylist(), table["diagnosis"].to_pylist(), strict=True))
    assert same_place < 200, "published rows stand in the order of the snapshot"
    # Rows and wards travel together: the multiset of (diagnosis, ward) is that of the snapshot.
    pair = ["diagnosis", "ward"]
    assert sorted(map(str, rows.select(pair).to_pylist())) == sorted(map(str, table.select(pair).to_pylist()))


def test_class_numbers_do_not_compare_between_releases(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5)) as series:
        for _ in range(2):
            series.publish(population(600))
        first, second = (series.membership(n).sort_by("number") for n in (1, 2))
    assert len(set(first["class"].to_pylist())) > 20
    assert first["class"].to_pylist() != second["class"].to_pylist()


def test_release_json_says_how_to_read_the_labels(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=5, c=0.6)) as series:
        release = series.publish(population(100))
    about = json.loads((release.path / "release.json").read_text())
    assert about["strategy"] == "static"
    assert about["parameters"]["k"] == 5
    assert about["counts"]["rows"] == 100
    assert about["counts"]["smallest_class"] >= 5
    assert {column["name"]: column["role"] for column in about["columns"]} == {
        "age": "quasi-identifier",
        "gender": "quasi-identifier",
        "diagnosis": "sensitive",
        "class": "class",
    }
    assert all(column["reading"] for column in about["columns"] if column["role"] == "quasi-identifier")
    assert about["files"] == ["release.csv", "release.parquet"]


def test_one_format_may_be_given_by_itself(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2), formats="csv") as series:
        release = series.publish(frame(FIGURE_1))
        assert sorted(path.name for path in release.path.iterdir()) == ["release.csv", "release.json"]
        again = series.publish(frame(FIGURE_1), formats="parquet")
        assert sorted(path.name for path in again.path.iterdir()) == ["release.json", "release.parquet"]
