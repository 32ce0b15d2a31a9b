"""Reading ahead gives what reading gives: the same snapshot, or the same error."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from reissue.engine.snapshot import Ahead, load
from reissue.errors import SnapshotError
from reissue.schema import Schema


def schema() -> Schema:
    return Schema.from_dict({"identifier": "id", "sensitive": "d", "quasi_identifiers": {"age": {"type": "int"}}})


def test_a_snapshot_read_ahead_is_the_same(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["a", "b", "c"], "age": [1, 2, 3], "d": ["x", "y", "x"]})
    path = tmp_path / "s.parquet"
    frame.write_parquet(path)
    for source in (path, str(path), frame):
        read, ahead = load(source, schema()), Ahead(source, schema()).take()
        assert ahead.identifiers.equals(read.identifiers)
        assert ahead.seen == read.seen


def test_errors_come_when_the_result_is_asked_for(tmp_path: Path) -> None:
    ahead = Ahead(tmp_path / "none.parquet", schema())
    with pytest.raises(SnapshotError, match="does not exist"):
        ahead.take()
