"""The self-check on Spark: the workers who make the fragments refuse what the embedded engine refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import reissue as ri
from tests.publish.test_self_check import BREACHES, COMMON, HONEST, assert_refused, words_of
from tests.support import cheats, spark
from tests.support.cheats import LIES
from tests.support.divided import CHURN, INSERTS, SCHEMA, People

pytestmark = [spark.together, spark.quiet]


@pytest.fixture(autouse=True)
def running() -> None:
    spark.engine()


def test_whoever_cheats_is_refused(tmp_path: Path) -> None:
    """Guard by guard, all in one series, which stays as it was."""
    first, second = (table.select(SCHEMA.columns) for table in People(3).months(2, CHURN, first=150))
    with ri.Series.create(tmp_path / "s", SCHEMA, HONEST, seed=1) as series:
        series.publish(first, label="the first")
        for lie in {words: lie for lie, (_, words) in LIES.items()}.values():  # one for each sentence
            assert_refused(series, second, cheats.Liar(k=4, lie=lie), words_of(lie), engine="spark")
        for name in ("classes are too small", "its own test fails", "a promised attack succeeds"):
            assert_refused(series, second, *BREACHES[name], engine="spark")
        assert series.publish(second, engine="spark").number == 2
        assert series.verify(rebuild=True) == []


def test_a_plan_for_all_fragments_that_cheats_is_refused(tmp_path: Path) -> None:
    first, second = (table.select(SCHEMA.columns) for table in People(3).months(2, INSERTS, first=300))
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.BCF(k=6), seed=1, fragments=2) as series:
        series.publish(first)
        for cheat, words in COMMON.values():
            assert_refused(series, second, cheat(k=6), words, engine="spark")
