"""What standing promises under its settings, and what becomes of the promise when they change."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import reissue as ri
from reissue.audit.verdict import judge
from reissue.errors import GateStopped
from reissue.methods.standing.strategy import Standing
from tests.support.divided import CHURN, NOTED, People
from tests.support.standing_series import standing_of

LAX = Standing(k=3, c=0.7, l=2)


def judge_promise(series: ri.Series) -> str:
    return str(judge(series.audit(attacks=Standing.stops))["promise"]["state"])  # type: ignore[index]


def people_below(series: ri.Series, k: int, c: float) -> int:
    """By hand: members of the last release whose class has fewer than k tokens, or a value above share c."""
    facts = series._ledger.facts(len(series.releases))
    kept = standing_of(facts)
    tokens: dict[int, Counter[int]] = {}
    for standing, value, count in zip(kept.tokens.standing, kept.tokens.value, kept.tokens.count, strict=True):
        tokens.setdefault(int(standing), Counter())[int(value)] += int(count)
    weak = {name for name, own in tokens.items() if own.total() < k or max(own.values()) > c * own.total()}
    return sum(int(standing) in weak for standing in kept.standing)


def test_with_values_above_one_half_association_is_not_promised_and_the_promise_is_kept(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", NOTED, LAX, seed=3) as series:
        release = series.publish(People(1).months(1, CHURN)[0])
        assert "association" not in release.steps[-1]
        assert "association" in series.audit(attacks=["association"]).breaches[0].attack, "or this proves nothing"
        assert judge_promise(series) == "kept"
    assert "association" in Standing(c=0.5).promised
    assert Standing(c=1, l=1).promised == tuple(
        name for name in Standing.stops if name not in ("association", "equivalence")
    )


@pytest.mark.gates
@pytest.mark.parametrize("fragments", [None, 2])
@pytest.mark.parametrize("strict", [Standing(k=12, c=0.7, l=2), Standing(k=3, c=0.45, l=2)], ids=["k", "c"])
def test_stricter_settings_stop_until_it_is_allowed_that_they_do_not_hold_for_older_classes(
    strict: Standing, fragments: int | None, tmp_path: Path
) -> None:
    tables = People(1).months(3, CHURN)
    with ri.Series.create(tmp_path / "s", NOTED, LAX, seed=3, fragments=fragments) as series:
        series.publish(tables[0])
        with pytest.raises(GateStopped, match=r"The settings are stricter(.|\n)*--allow lost-before") as stopped:
            series.publish(tables[1], strategy=strict)
        assert stopped.value.gates == ("lost-before",)
        assert len(series.releases) == 1
        release = series.publish(tables[1], strategy=strict, allow=["lost-before"])
        if fragments is None:
            assert release.counts["lost_before"] == people_below(series, strict.k, strict.c)
        assert "by proof" not in release.steps[-1]
        assert judge_promise(series) == "broken", "what is lost stays told"


@pytest.mark.gates
def test_weaker_settings_stop_nothing_and_what_they_promise_holds(tmp_path: Path) -> None:
    tables = People(1).months(2, CHURN)
    with ri.Series.create(tmp_path / "s", NOTED, Standing(), seed=3) as series:
        series.publish(tables[0])
        release = series.publish(tables[1], strategy=Standing(k=5, c=0.5, l=2))
        assert "intersection by proof" in release.steps[-1]
        assert judge_promise(series) == "kept"
