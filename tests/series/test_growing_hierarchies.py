"""Global cuts outlive the codes they were made in: hierarchies grow, and earlier labels mean what they meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.history.past_releases import PastReleases
from reissue.methods.bcf.memory import ChainLog
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
