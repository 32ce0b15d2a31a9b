"""What is kept of files while a series is open: found by hash, bounded, and never sent along."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.ledger import parquet, store
from reissue.ledger.store import Kept
from tests.support.hospital import hospital_schema, population


def weigh(one: bytes) -> int:
    return len(one)


def test_what_was_used_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST", 100)
    monkeypatch.setattr(store, "MOST_OF_ONE", 40)
    held, made = Kept(), list[str]()

    def take(name: str, size: int) -> None:
        def make() -> bytes:
            made.append(name)
            return bytes(size)

        assert len(held.take(name, make, weigh)) == size

    for name in "abca":
        take(name, 30)
    assert made == [*"abc"]
    take("d", 30)  # b was used longest ago
    for name in "acdb":
        take(name, 30)
    assert made == [*"abcdb"]
    for _ in range(2):
        take("large", 41)
    assert made[5:] == ["large", "large"], "one that leaves no room for others is not kept"
    assert held.find("b") == bytes(30)
    assert pickle.loads(pickle.dumps(held)).find("b") is None
    held.clear()
    assert held.find("b") is None


@pytest.mark.parametrize("strategy", [ri.CheckedMondrian(k=3), ri.MInvariance(m=2), ri.Static(k=3)], ids=str)
def test_an_open_series_reads_earlier_releases_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: ri.Static
) -> None:
    read: list[int] = []
    real = parquet.read_table

    def count(content: bytes, *more: object) -> pa.Table:
        read[-1] += 1
        return real(content, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(parquet, "read_table", count)
    with ri.Series.create(tmp_path / "s", hospital_schema(), strategy, seed=1) as series:
        for rows in range(60, 160, 10):
            read.append(0)
            series.publish(population(200).slice(0, rows), allow=("few-rows",))
    assert read[3] > 0
    assert max(read[3:]) == min(read[3:]), "one more release is not one more file to read"
