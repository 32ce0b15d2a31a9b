"""Strategies by two questions: only those fit that declare it, and the recommended one always does."""

from __future__ import annotations

from itertools import combinations

import pytest

from reissue.compare.planning import CHANGES, KNOWS, list_fitting, propose_policy
from reissue.errors import SettingsError
from reissue.methods.registry import STRATEGIES, find_strategy, make_strategy

ANSWERS = [(changes, knows) for changes in CHANGES for size in (0, 1, 2, 6) for knows in combinations(KNOWS, size)]


@pytest.mark.parametrize(("changes", "knows"), ANSWERS)
def test_what_fits_stops_every_attack_that_was_named(changes: str, knows: tuple[str, ...]) -> None:
    fitting = list_fitting(changes, knows)
    assert fitting[0] == "standing"
    for name in STRATEGIES:
        strategy = find_strategy(name)
        stops = all(attack in strategy.stops for one in knows for attack in KNOWS[one][1])
        allows = {
            "once": True,
            "grows": True,
            "moves": strategy.supports.gone and strategy.supports.back,
            "anything": strategy.supports.gone and strategy.supports.back and strategy.supports.sensitive,
        }[changes]
        silent = not strategy.stops and changes != "once"
        assert (name in fitting) == (stops and allows and not silent), name


def test_an_answer_that_is_none_is_refused() -> None:
    with pytest.raises(SettingsError, match="Choose what changes"):
        list_fitting("sometimes", [])
    with pytest.raises(SettingsError, match="what is known"):
        list_fitting("grows", ["everything"])


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_a_proposed_policy_makes_the_strategy_and_promises_no_less(name: str) -> None:
    before = {"strategy": "standing", "c": 0.5, "l": 3}
    policy = propose_policy(name, before)
    made = make_strategy(policy)
    assert made.name == name
    if "c" in made.thresholds() and made.thresholds()["c"] < 1:
        assert made.thresholds()["c"] <= 0.5
    assert propose_policy("standing", before) == before
