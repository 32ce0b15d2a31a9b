"""`verify(rebuild=True)` notices any number of any cache that does not follow from the facts, names it and mends it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import reissue as ri
from reissue.errors import LedgerDamaged
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


@pytest.mark.parametrize("strategy", {s.name: s for s in (*STRATEGIES, ri.Standing())}.values(), ids=lambda s: s.name)
def test_one_number_of_any_cache(strategy: Strategy, tmp_path: Path) -> None:
    """In every cache at once, another of its columns each time."""
    with published(strategy, tmp_path / "s") as series:
        right = series._ledger.caches()
        assert any(name.startswith(ABSENT) for name in right) == strategy.supports.gone
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
        name = next(name for name in right if not name.startswith(ABSENT))
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


def months_of_standing() -> list[pa.Table]:
    """The second loses half of the people, who are back in the third and in the fourth; a value changes, too."""
    rng = np.random.default_rng(1)
    people = pa.table(
        {
            "name": [f"p{number}" for number in range(400)],
            "age": rng.integers(20, 80, 400),
            "value": rng.choice(["a", "b", "c", "d", "e"], 400),
        }
    )
    changed = people.set_column(2, "value", pc.if_else(pc.equal(people["name"], "p150"), "z", people["value"]))
    return [people[:300], people[100:320], pa.concat_tables([people[50:120], changed[140:350]]), people[:400]]


STANDING = ri.Schema(identifier="name", quasi_identifiers={"age": ri.Numeric()}, sensitive=["value"])


def whole_caches(series: ri.Series) -> dict[str, dict[str, np.ndarray]]:
    """The caches as they were before there were segments: by person, from the facts of all releases."""
    people: dict[int, tuple[int, ...]] = {}
    last: dict[int, tuple[int, ...]] = {}
    tokens: dict[tuple[int, int], tuple[int, int]] = {}
    for number in range(1, len(series.releases) + 1):
        facts = series._ledger.facts(number)
        kept = facts.standing
        assert kept is not None
        for row, who in enumerate(facts.subjects.tolist()):
            people[who] = (int(kept.standing[row]), int(facts.values[row]), int(kept.dealt[row]))
            last[who] = (number, int(facts.values[row]), int(facts.codes[row, 0]))
        every = zip(*(getattr(kept.tokens, name).tolist() for name in TOKEN_COLUMNS), strict=True)
        tokens |= {(standing, value): (count, made_up) for standing, value, count, made_up in every}
    absent = {who: what for who, what in last.items() if what[0] < len(series.releases)}
    token_rows = [(*key, *what) for key, what in sorted(tokens.items())]
    return {
        ABSENT: columns_of(("subject", "release", "value", "code0"), [(who, *absent[who]) for who in sorted(absent)]),
        "standing/people": columns_of(PLACES, [(who, *people[who]) for who in sorted(people)]),
        "standing/tokens": columns_of(TOKEN_COLUMNS, token_rows),
        "standing/state": {"draw": np.empty(0, dtype=np.int32), "noise": np.empty(0, dtype=np.int64)},
    }


TOKEN_COLUMNS, PLACES = ("standing", "value", "count", "made_up"), ("subject", "standing", "value", "dealt")


def columns_of(names: tuple[str, ...], rows: list[tuple[int, ...]]) -> dict[str, np.ndarray]:
    kinds = {name: np.int64 if name == "subject" else np.int32 for name in names}
    return {name: np.array([row[i] for row in rows], dtype=kinds[name]) for i, name in enumerate(names)}


def test_a_series_with_the_whole_caches_of_an_earlier_version_goes_on_as_if_it_had_segments(tmp_path: Path) -> None:
    made = []
    for name in ("segments", "whole"):
        with ri.Series.create(tmp_path / name, STANDING, ri.Standing(), seed=3) as series:
            for number, table in enumerate(months_of_standing(), start=1):
                if name == "whole" and number > 2:
                    replace_caches(series, whole_caches(series))
                series.publish(table)
            made.append([series.membership(number).to_pydict() for number in (3, 4)])
    assert made[0] == made[1]


def test_a_segment_that_stays_as_it_is_is_neither_read_nor_written_again(tmp_path: Path) -> None:
    months = months_of_standing()
    with ri.Series.create(tmp_path / "s", STANDING, ri.Standing(), seed=3) as series:
        series.publish(months[0])
        before = {file.name: file for file in series._ledger._state.of_role("cache")}
        people = next(file for name, file in before.items() if name.startswith("standing/people"))
        stored = tmp_path / "s" / "private" / "files" / people.path
        content = stored.read_bytes()
        stored.write_bytes(b"nobody may read this")
        series.publish(months[1])
        assert people in series._ledger._state.of_role("cache"), "it is kept"
        with pytest.raises(LedgerDamaged, match="verify --rebuild"):
            series.publish(months[2])  # people are back: now it is needed
        stored.write_bytes(content)
        series.publish(months[2])
        assert series.verify(rebuild=True) == []


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
                    wrong = fragment == chosen and name.startswith(ABSENT)
                    every[f"{name}-{fragment:05d}"] = {**table, "value": altered(table["value"])} if wrong else table
            replace_caches(series, every)
            assert_named(series, *(name for name in parts[chosen] if name.startswith(ABSENT)))


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


@pytest.mark.parametrize("damage", ["altered", "missing"])
def test_of_many_segments_the_damaged_one_is_named_also_where_no_release_needed_it(tmp_path: Path, damage: str) -> None:
    months = months_of_standing()
    with ri.Series.create(tmp_path / "s", STANDING, ri.Standing(), seed=3) as series:
        series.publish(months[0])
        series.publish(months[1])
        segment = next(file for file in series._ledger._state.of_role("cache") if file.name.startswith("standing/tok"))
    stored = tmp_path / "s" / "private" / "files" / segment.path
    stored.write_text("x") if damage == "altered" else stored.unlink()
    with ri.Series.open(tmp_path / "s") as series:
        assert [one.file for one in series.verify()] == [f"private/files/{segment.path}"]
        series.publish(months[2])
        assert [one.file for one in series.verify()] == [f"private/files/{segment.path}"], "it is still missed"
        assert_named(series, segment.name)
