"""Caches in segments: the newest row of everybody counts, there are few of them, and old ones are not touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log2

import numpy as np
import pytest

from reissue.model.release import add_segment, find_newest, join_by_subject, join_rows, list_segments, read_segments


class Sealed(Mapping[str, np.ndarray]):
    """A table that nobody may read."""

    def __getitem__(self, column: str) -> np.ndarray:
        raise AssertionError("it was read")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("it was read")

    def __len__(self) -> int:
        raise AssertionError("it was read")


def rows_of(subjects: np.ndarray, value: int) -> dict[str, np.ndarray]:
    return {"subject": np.sort(subjects), "value": np.full(len(subjects), value, dtype=np.int32)}


@pytest.mark.parametrize("seed", range(5))
def test_the_newest_row_of_everybody_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    caches, newest = {"other": rows_of(np.arange(3), 7)}, {}
    total = 0
    for value in range(40):
        subjects = rng.permutation(200)[: rng.integers(0, 30)]
        total += len(subjects)
        caches = add_segment(caches, "places", rows_of(subjects, value), join_by_subject)
        newest |= dict.fromkeys(subjects.tolist(), value)
        known, found = find_newest(read_segments(caches, "places"), np.arange(-1, 210), ("value",))
        assert {who - 1: int(found["value"][who]) for who in np.flatnonzero(known)} == newest
    names = list_segments(caches, "places")
    assert len(names) <= log2(total) + 1
    assert [int(name.rpartition(".")[2]) for name in names] == [len(caches[name]["value"]) for name in names]
    assert caches["other"]["value"].tolist() == [7, 7, 7], "nobody else's cache is touched"


def test_a_long_segment_is_neither_read_nor_written_for_a_short_one() -> None:
    long = Sealed()
    caches = add_segment({"places/0.1000": long}, "places", rows_of(np.arange(10), 1), join_by_subject)
    assert caches["places/0.1000"] is long
    assert list_segments(caches, "places") == ["places/0.1000", "places/1.10"]
    known, _ = find_newest(read_segments(caches, "places"), np.arange(10), ("value",))
    assert known.all(), "all are in the newest"


def test_nothing_is_added_where_nobody_comes() -> None:
    assert add_segment({}, "places", rows_of(np.arange(0), 1), join_by_subject) == {}


def test_a_whole_cache_of_an_earlier_version_is_the_oldest_segment() -> None:
    whole = rows_of(np.arange(4), 1)
    caches = add_segment({"places": whole}, "places", rows_of(np.arange(2, 6), 2), join_by_subject)
    assert list_segments(caches, "places") == ["places", "places/0.4"]
    known, found = find_newest(read_segments(caches, "places"), np.arange(7), ("value",))
    assert found["value"][known].tolist() == [1, 1, 2, 2, 2, 2]


def test_more_than_ten_segments_stay_in_order() -> None:
    caches = {f"places/{place}.{2 ** (20 - place)}": rows_of(np.arange(1), place) for place in range(12)}
    assert [int(table["value"][0]) for table in read_segments(caches, "places")] == list(range(11, -1, -1))


def test_rows_without_a_key_follow_each_other() -> None:
    joined = join_rows(rows_of(np.arange(2), 1), rows_of(np.arange(2), 2))
    assert joined["subject"].tolist() == [0, 1, 0, 1]
    assert joined["value"].tolist() == [1, 1, 2, 2]
