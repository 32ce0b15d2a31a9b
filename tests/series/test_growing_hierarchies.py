"""Global cuts outlive the codes they were made in: hierarchies grow, and earlier labels mean what they meant."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.coding import Coding
from reissue.history.past_releases import PastReleases
from reissue.methods.bcf.memory import ChainLog
from reissue.methods.strategy import Strategy
from reissue.partition.global_recoding import Cut

BEFORE = ri.Hierarchy.from_nested({"All": {"A": ["a1", "a2"], "C": ["c1", "c2"]}})
AFTER = ri.Hierarchy.from_nested({"All": {"A": ["a0", "a1", "a2"], "B": ["b1", "b2"], "C": ["c0", "c1", "c2"]}})
OLD, NEW = ["a1", "a2", "c1", "c2"], ["a0", "a1", "b1", "b2", "c0", "c2"]


def rows(seed: int, first: int, end: int, groups: list[str]) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"P{i}" for i in range(first, end)],
            "age": rng.integers(20, 60, end - first),
            "group": [groups[i] for i in rng.integers(0, len(groups), end - first)],
            "value": [str(v) for v in rng.integers(0, 4, end - first)],
        }
    )


@pytest.mark.parametrize("fragments", [1, 3])
@pytest.mark.parametrize("k", [4, 30])
def test_cuts_are_read_in_the_codes_of_today(k: int, fragments: int, tmp_path: Path) -> None:
    """With k = 30 the first release shows groups, with k = 4 single values."""
    schema = ri.Schema(
        identifier="name",
        quasi_identifiers={"age": {"type": "numeric"}, "group": {"hierarchy": BEFORE}},
        sensitive="value",
    )
    first = rows(1, 0, 200, OLD)
    second = pa.concat_tables([first, rows(2, 200, 300, NEW)])
    third = pa.concat_tables([second, rows(3, 300, 450, NEW)])
    with ri.Series.create(tmp_path / "s", schema, ri.BCF(k=k), seed=1, fragments=fragments) as series:
        series.publish(first)
        series.extend("group", AFTER)
        series.publish(second)
        series.publish(third)
        assert not series.audit(attacks=["correspondence"], k=k).breaches
        assert series.verify(rebuild=True) == []
        log = ChainLog.empty()
        for facts in PastReleases(series._ledger, series.coding):
            log = log.after(facts)
            cut = Cut.read(facts.extras)
            assert cut is not None
            labels = set(zip(cut.lo[1].tolist(), cut.hi[1].tolist(), strict=True))
            assert set(map(tuple, facts.boxes[:, 1].tolist())) <= labels
            assert cut.classes_of(facts.codes, facts.boxes).tolist() == facts.classes.tolist()
        assert [cut is not None for cut in log.cuts] == [True] * 3, "no release had to be checked by flows"


def test_caches_in_the_codes_before_an_extension_are_not_damaged(tmp_path: Path) -> None:
    """New values stand between known ones, so that codes shift; who left is remembered with codes."""
    schema = ri.Schema(identifier="name", quasi_identifiers={"group": {"hierarchy": BEFORE}}, sensitive="value")
    everybody = rows(1, 0, 60, OLD)
    with ri.Series.create(tmp_path / "s", schema, ri.Static(k=3), seed=1) as series:
        series.publish(everybody)
        series.publish(everybody.slice(8))
        series.extend("group", AFTER)
        assert series.verify(rebuild=True) == []
        series.publish(everybody.slice(16))
        assert series.verify(rebuild=True) == []
        series.withdraw(not_handed_out=True)
        assert series.verify(rebuild=True) == []


@pytest.mark.parametrize("strategy", [ri.Static(k=3), ri.MInvariance(m=2, on_ineligible="counterfeit")])
def test_codes_just_written_mean_what_they_mean_when_read_again(strategy: Strategy, tmp_path: Path) -> None:
    """Of two series one is opened anew for every release; every snapshot brings values and dates, some are missing."""
    schema = ri.Schema(
        identifier="name",
        quasi_identifiers={"came": {"type": "date"}, "town": {"prefix": [1, 2]}},
        sensitive="value",
        missing="value",
    )
    days = np.random.default_rng(5).permutation(300)
    came = [None if i % 9 == 0 else date(2024, 1, 1) + timedelta(int(day)) for i, day in enumerate(days[:120])]
    everybody = pa.table(
        {
            "name": [f"P{i}" for i in range(120)],
            "came": came,
            "town": [None if i % 7 == 0 else f"{1 + i % 3}{i // 20}" for i in range(120)],
            "value": [str(i % (3 + i // 30)) for i in range(120)],
        }
    )
    ri.Series.create(tmp_path / "anew", schema, strategy, seed=1).close()
    with ri.Series.create(tmp_path / "open", schema, strategy, seed=1) as kept:
        for people in (60, 80, 100, 120):
            with ri.Series.open(tmp_path / "anew") as series:
                paths = [one.publish(everybody.slice(0, people)).path for one in (kept, series)]
                assert kept.coding == series.coding == Coding.from_dict(series._ledger.coding())
            for one, other in zip(*(sorted(path.iterdir()) for path in paths), strict=True):
                assert one.read_bytes() == other.read_bytes(), one.name
        assert kept.coding.version == 4
