"""The verdict: first the promise, then what is beyond it, then what to do; each judged by what was really measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import reissue as ri
from reissue.audit import Audit
from reissue.audit.attacks import AttackResult
from reissue.audit.verdict import judge
from reissue.methods.attack import Finding, Outcome
from reissue.methods.plain_words import INFERENCE, LINKABILITY, SINGLING_OUT, describe_attack
from reissue.methods.registry import ATTACKS, STRATEGIES, find_attack, find_strategy
from tests.support.hospital import hospital_schema, population

STOPS = ("association", "intersection")
POLICY = {"k": 3, "c": 0.5, "m": 2}


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder = tmp_path_factory.mktemp("verdict") / "s"
    with ri.Series.create(folder, hospital_schema(), ri.Static(k=3), seed=1) as series:
        series.publish(population(40))
        return series.audit(attacks=["association"])


def found(name: str, status: str, settings: Mapping[str, object] = POLICY, people: int = 2) -> AttackResult:
    """An attack that came to this."""
    if status == "skipped":
        return AttackResult(name, find_attack(name), settings, None, "it does not apply.", 0.0)
    finding = Finding(attack=name, releases=(1,), subjects=(), classes=(), level=1, unit="", threshold=0, sentence="")
    breach, unfinished = (finding,) if status == "breached" else (), 3 if status == "partly" else 0
    at_risk = {1: np.arange(people if breach else 0)}
    outcome = Outcome(name, breach, len(breach), at_risk, unfinished=unfinished)
    return AttackResult(name, find_attack(name), settings, outcome, None, 0.0)


def verdict_of(audit: Audit, *checked: AttackResult, **changes: Any) -> dict[str, Any]:
    given = {"promised": STOPS, "policy": POLICY, "about": {**audit.about, "strategy": "m-invariance"}, **changes}
    return judge(replace(audit, checked=checked, **given))


def test_a_kept_promise_is_kept_whatever_succeeds_beyond_it(audit: Audit) -> None:
    told = verdict_of(audit, found("learning", "breached"), found("association", "held"), found("intersection", "held"))
    assert told["promise"]["state"] == "kept"
    assert told["promise"]["sentence"].startswith("Your promise holds: none of the 2 attacks that m-invariance")
    assert told["beyond"]["attacks"] == ["learning"]
    assert told["beyond"]["sentence"] == (
        "Beyond the promise, 1 attack succeeds (learning), and 2 of 40 people are at risk."
    )
    assert told["advice"]["action"] == "change the strategy"


def test_a_broken_promise_says_so_first_and_to_stop(audit: Audit) -> None:
    told = verdict_of(audit, found("association", "breached"), found("intersection", "held"))
    assert (told["promise"]["state"], told["promise"]["broken"]) == ("broken", ["association"])
    assert told["promise"]["sentence"].startswith("Your promise is broken: the attack association, which m-invariance")
    assert "2 of 40 people are at risk" in told["promise"]["sentence"]
    assert told["advice"]["action"] == "stop publishing"


@pytest.mark.parametrize(
    ("status", "settings", "why"),
    [
        ("partly", POLICY, "association did not finish"),
        ("skipped", POLICY, "association was not run"),
        ("held", {**POLICY, "m": 1}, "association was given other limits than the policy's"),
        ("breached", {**POLICY, "m": 9}, "association was given other limits than the policy's"),
    ],
)
def test_a_promise_that_was_not_looked_at_is_neither_kept_nor_broken(
    audit: Audit, status: str, settings: Mapping[str, object], why: str
) -> None:
    """Limits given with the audit say nothing about the policy's, in either direction."""
    told = verdict_of(audit, found("association", status, settings), found("intersection", "held"))
    assert told["promise"]["state"] == "unchecked"
    assert told["promise"]["sentence"] == f"Your promise was checked only in part: {why}."
    assert told["beyond"]["attacks"] == (["association"] if status == "breached" else [])
    asked = verdict_of(audit, found("intersection", "held"))
    assert "association was not asked for" in asked["promise"]["sentence"]


def test_attacks_that_were_not_run_for_one_reason_are_told_together(audit: Audit) -> None:
    both = ("association", "intersection", "difference")
    some = verdict_of(audit, found("association", "skipped"), found("intersection", "skipped"), promised=both)
    assert some["promise"]["sentence"] == (
        "Your promise was checked only in part: association and intersection were not run; "
        "difference was not asked for."
    )
    none = verdict_of(audit, found("association", "skipped"), found("intersection", "skipped"))
    assert none["promise"]["sentence"] == (
        "Your promise was not checked: none of the attacks that m-invariance promises to stop could be run."
    )


def test_no_strategy_is_praised_beside_releases_that_others_made(audit: Audit) -> None:
    """What is out is not undone by a strategy that promises less than the one that goes on."""
    about = {**audit.about, "strategy": "standing", "kind": "series"}
    assert {str(one.about.get("strategy")) for one in audit.release_notes} != {"standing"}
    told = verdict_of(audit, found("association", "breached"), promised=("association",), about=about)
    assert told["advice"]["action"] == "stop publishing"
    assert told["advice"]["lines"][1]["sentence"].startswith("none undoes what is out")
    assert "e-equivalence" not in told["advice"]["lines"][1]["sentence"]


def test_without_a_promise_everything_is_beyond_it(audit: Audit) -> None:
    about = {**audit.about, "strategy": "static"}
    told = verdict_of(audit, found("difference", "breached"), promised=(), about=about)
    assert told["promise"]["state"] == "none"
    assert "static promises nothing" in told["promise"]["sentence"]
    assert told["beyond"]["sentence"] == told["sentence"]
    foreign = verdict_of(audit, found("difference", "breached"), promised=(), about={**about, "strategy": None})
    assert "no strategy of Reissue made them" in foreign["promise"]["sentence"]


def test_only_what_finished_lets_one_go_on(audit: Audit) -> None:
    held = (found("association", "held"), found("intersection", "held"))
    assert judge_lines(verdict_of(audit, *held)) == ["yes", "no need", "no need"]
    partly = verdict_of(audit, *held, found("possible-worlds", "partly"))
    assert partly["advice"]["lines"][0]["sentence"].startswith("once possible-worlds looked at everybody")
    assert "Possible-worlds did not finish" in partly["beyond"]["sentence"]
    nothing = verdict_of(audit, found("association", "skipped"), found("intersection", "skipped"))
    assert nothing["advice"]["action"] == "stop publishing"


def judge_lines(told: dict[str, Any]) -> list[str]:
    assert [one["action"] for one in told["advice"]["lines"]] == ["go on", "change the strategy", "stop publishing"]
    return [one["sentence"].split(".")[0] for one in told["advice"]["lines"]]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("strategy", ["m-invariance", "standing", None])
def test_the_strategy_to_change_to_promises_what_is_needed(audit: Audit, attack: str, strategy: str | None) -> None:
    about, promised = {**audit.about, "strategy": strategy}, find_strategy(strategy).stops if strategy else ()
    made = [replace(one, about={**one.about, "strategy": strategy}) for one in audit.release_notes]
    told = verdict_of(audit, found(attack, "breached"), promised=promised, about=about, release_notes=made)
    change = told["advice"]["lines"][1]["sentence"]
    able = [name for name in STRATEGIES if attack in find_strategy(name).stops and name != strategy]
    if able:
        assert change.startswith(f"to {able[0]}, which promises to stop {attack}")
    else:
        assert change.startswith(f"no other strategy promises to stop {attack}")


def test_people_at_risk_are_counted_once_and_release_by_release(audit: Audit) -> None:
    told = verdict_of(audit, found("learning", "breached", people=2), found("difference", "breached", people=5))
    assert (told["subjects_at_risk"], told["at_risk"]) == (5, [{"release": 1, "subjects": 5, "of": 40}])


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_has_plain_words_and_those_of_regulators(name: str) -> None:
    words = describe_attack(name)
    assert words.does.count(".") == words.who.count(".") == 1
    assert set(words.shows) <= {SINGLING_OUT, LINKABILITY, INFERENCE}
    assert words.shows
    for jargon in ("lemma", "bucket", "signature", "posterior", "quasi-identifier", "class"):
        assert jargon not in words.does + words.who
