"""Which runs a comparison has, and what they are measured against."""

from __future__ import annotations

import re

import pytest

from reissue.compare.planning import make_plans, share_thresholds
from reissue.compare.running import SHORT, shorten_reason
from reissue.errors import ChangeError, InfeasiblePolicy, SettingsError
from reissue.methods.baselines.static import Static
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.registry import STRATEGIES
from reissue.methods.standing.strategy import Standing


def test_every_registered_strategy_gets_settings_that_it_accepts() -> None:
    policy = Static(k=4, c=0.5)
    made = make_plans((), policy, share_thresholds(policy, {}), {})
    assert [plan.name for plan in made] == list(STRATEGIES)
    assert {plan.name: plan.reason for plan in made if plan.strategy is None} == {}


def test_thresholds_follow_from_the_policy() -> None:
    assert share_thresholds(MInvariance(m=3), {}) == {"k": 3, "m": 3, "c": 0.5, "e": 2, "n": 2}
    assert share_thresholds(Static(k=10, c=0.3), {}) == {"k": 10, "m": 3, "c": 0.3, "e": 2, "n": 2}
    assert share_thresholds(Static(k=10), {}) == {"k": 10, "m": 4, "c": 0.5, "e": 2, "n": 2}
    assert share_thresholds(Static(k=10, l=3), {})["m"] == 3
    assert share_thresholds(None, {}) == {"k": 4, "m": 4, "c": 0.5, "e": 2, "n": 2}
    assert share_thresholds(Static(k=10), {"k": [2, 5], "static.c": 0.1})["k"] == 2


def test_nobody_is_measured_against_more_than_the_policy_promises() -> None:
    shared = share_thresholds(Standing(), {})
    assert (shared["c"], shared["m"]) == (0.4, 2)
    made = {plan.name: plan.settings for plan in make_plans(["standing", "m-invariance"], Standing(), shared, {})}
    assert made["standing"]["c"] == 0.4
    assert made["m-invariance"]["m"] == 3, "two values of a half each would exceed 0.4"
    for policy in (Static(k=10, c=0.3), MInvariance(m=4)):
        shared = share_thresholds(policy, {})
        [plan] = make_plans(["standing"], policy, shared, {})
        assert plan.settings["c"] <= 1 / shared["m"]


def test_a_list_is_a_grid_and_a_strategys_own_setting_wins() -> None:
    shared = share_thresholds(None, {"k": [2, 5]})
    made = make_plans(["static", "bcf"], None, shared, {"k": [2, 5], "static.c": [0.4, 0.9], "bcf.k": 3})
    assert [(plan.name, plan.settings.get("k"), plan.settings.get("c")) for plan in made] == [
        ("static", 2, 0.4),
        ("static", 2, 0.9),
        ("static", 5, 0.4),
        ("static", 5, 0.9),
        ("bcf", 3, None),
    ]


def test_the_configs_strategy_keeps_its_own_settings() -> None:
    policy = MInvariance(m=3, on_ineligible="counterfeit")
    (plan,) = make_plans(["m-invariance"], policy, share_thresholds(policy, {}), {})
    assert plan.strategy == policy


def test_impossible_settings_are_a_run_that_says_why() -> None:
    (plan,) = make_plans(["m-invariance"], None, share_thresholds(None, {}), {"m-invariance.m": 1})
    assert plan.strategy is None
    assert "at least 2" in str(plan.reason)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"nobody.k": 3}, "nobody.k"), ({"omega": 3}, "omega"), ({"k": "many"}, "many"), ({"k": []}, "empty")],
)
def test_what_fits_no_strategy_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make_plans((), None, share_thresholds(None, given), given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"static.kk": 3}, "'static' has no setting 'kk'. Did you mean 'k'?"),
        ({"m-invariance.M": 3}, "Did you mean 'm'?"),
        ({"m": [2, "many"]}, "m is 'many' beside numbers"),
    ],
)
def test_slips_in_settings_are_no_strategy_that_cannot_be_used(given: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)):
        make_plans(["static", "m-invariance"], None, share_thresholds(None, {}), given)


def test_a_reason_is_a_line_of_bounded_length_without_names() -> None:
    whole = "Too\n  much. " + "x" * (SHORT - 10)
    assert shorten_reason(InfeasiblePolicy(whole)) == "Too much. " + "x" * (SHORT - 10)
    longer = shorten_reason(InfeasiblePolicy(whole + "yz"))
    assert longer == "Too much. " + "x" * (SHORT - 11) + "…"
    assert len(longer) == SHORT
    told = "bcf cannot protect this:\n- 3 people are gone: Ann, Bob\n- 1 person moved: Eve"
    assert shorten_reason(ChangeError(told)) == "3 people are gone; 1 person moved"
