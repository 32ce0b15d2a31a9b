"""`verify(rebuild=True)` notices any number of any cache that does not follow from the facts, names it and mends it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import reissue as ri
from reissue.methods.strategy import Strategy
from tests.support.divided import CHURN, INSERTS, SCHEMA, STRATEGIES, People
from tests.support.hospital import FIGURE_1, frame, hospital_schema

ABSENT = "series/absent"


def published(strategy: Strategy, path: Path) -> ri.Series:
    series = ri.Series.create(path, SCHEMA, strategy, seed=3)
    for table in People(3).months(3, CHURN if strategy.supports.gone else INSERTS, first=250):
        series.publish(table.select(SCHEMA.columns))
    return series


def altered(column: np.ndarray) -> np.ndarray:
    """The same but for one number, in the middle: the next one that there is."""
    copy = column.copy()
    at = copy.size // 2
    copy.flat[at] = np.nextafter(copy.flat[at], np.inf) if copy.dtype.kind == "f" else copy.flat[at] ^ 1
    return copy


def replace_caches(series: ri.Series, caches: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    with series._ledger.publisher():
        series._ledger.replace_caches(caches)


def assert_named(series: ri.Series, *wrong: str) -> None:
    """As the only ones that are wrong; and after that nothing is."""
    damages = series.verify(rebuild=True)
    assert [damage.file for damage in damages] == [f"cache {name}" for name in sorted(wrong)]
    assert {damage.reason for damage in damages} == {"it was damaged, or did not follow from the facts."}
    assert series.verify(rebuild=True) == []


@pytest.mark.parametrize("strategy", {s.name: s for s in STRATEGIES}.values(), ids=lambda s: s.name)
def test_one_number_of_any_cache(strategy: Strategy, tmp_path: Path) -> None:
    """In every cache at once, another of its columns each time."""
    with published(strategy, tmp_path / "s") as series:
        right = series._ledger.caches()
        assert ABSENT in right
        columns = {name: [column for column in table if table[column].size] for name, table in right.items()}
        columns = {name: filled for name, filled in columns.items() if filled}
        assert columns, "there is something to alter"
        for turn in range(max(map(len, columns.values()))):
            chosen = {name: filled[turn % len(filled)] for name, filled in columns.items()}
            wrong = {name: {**right[name], one: altered(right[name][one])} for name, one in chosen.items()}
            replace_caches(series, {**right, **wrong})
            assert_named(series, *wrong)
        for name, table in right.items():
            kept = series._ledger.caches()[name]
            assert all(np.array_equal(kept[column], table[column]) for column in table), "mended to what it was"


def test_a_cache_too_many_or_too_few_and_a_column_more_or_less(tmp_path: Path) -> None:
    with published(ri.Merge(k=5), tmp_path / "s") as series:
        right = dict(series._ledger.caches())
        name = next(name for name in right if name != ABSENT)
        table = dict(right[name])
        column = next(iter(table))
        replace_caches(series, {key: cache for key, cache in right.items() if key != name})
        assert_named(series, name)
        replace_caches(series, {**right, "merge_other": table})
        assert_named(series, "merge_other")
        replace_caches(series, {**right, name: {key: one for key, one in table.items() if key != column}})
        assert_named(series, name)
        replace_caches(series, {**right, name: {**table, "more": table[column]}})
        assert_named(series, name)
        replace_caches(series, {**right, name: {key: one[:-1] for key, one in table.items()}})
        assert_named(series, name)


def test_the_next_release_after_mending_is_what_it_would_have_been(tmp_path: Path) -> None:
    """A cache that was wrong and is mended leaves no trace."""
    fourth = People(3).months(4, CHURN, first=250)[3].select(SCHEMA.columns)
    made = []
    for name in ("sound", "mended"):
        with published(ri.Merge(k=5), tmp_path / name) as series:
            if name == "mended":
                right = series._ledger.caches()
                wrong = {key: {c: altered(n) if n.size else n for c, n in one.items()} for key, one in right.items()}
                replace_caches(series, wrong)
                assert len(series.verify(rebuild=True)) == len(right)
            series.publish(fourth)
            made.append(series.membership(4).to_pydict())
    assert made[0] == made[1]


def test_in_a_divided_series_every_fragment_is_looked_at(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.MInvariance(m=3), seed=3, fragments=3) as series:
        for table in People(3).months(2, CHURN):
            series.publish(table.select(SCHEMA.columns))
        parts = {fragment: series._ledger.caches(fragment) for fragment in series._ledger.shelf.fragments}
        assert len(parts) == 3
        for chosen in parts:
            every = {}
            for fragment, caches in parts.items():
                for name, table in caches.items():
                    wrong = fragment == chosen and name == ABSENT
                    every[f"{name}-{fragment:05d}"] = {**table, "value": altered(table["value"])} if wrong else table
            replace_caches(series, every)
            assert_named(series, ABSENT)


@pytest.mark.parametrize("damage", ["altered", "missing"])
def test_a_damaged_cache_is_made_again_as_verify_says(tmp_path: Path, damage: str) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.MInvariance(m=2), seed=1) as series:
        series.publish(frame(FIGURE_1))
    cache = tmp_path / "s" / "private" / "files" / series._ledger._state.of_role("cache")[0].path
    cache.write_text("x") if damage == "altered" else cache.unlink()
    with ri.Series.open(tmp_path / "s") as series:
        assert ["verify --rebuild" in one.remedy for one in series.verify()] == [True]
        assert "It has been rebuilt" in series.verify(rebuild=True)[0].remedy
        assert series.verify(rebuild=True) == []
