"""What speaks for and against each strategy, in words."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from reissue.compare.advice import advise
from reissue.compare.running import SHORT, _describe_refused, shorten_reason
from reissue.errors import ChangeError, InfeasiblePolicy
from tests.compare.test_compare import run


def test_where_all_are_broken_the_one_with_fewest_at_risk_is_closest() -> None:
    many, few = run("many", ("intersection",), 50, 0.1), run("few", ("intersection", "difference"), 7, 0.5)
    label, words = advise([many, few], {"difference": "knows all"})
    assert label == "few"
    assert words[:4] == [
        "No strategy withstands all 3 attacks that were tried. few comes closest: 7 of 100 people are at risk (counts "
        "made from it are off by 50%).",
        "It is broken by intersection and difference. Use it only if you can rule out such attackers:",
        "  difference: knows all",
        "many is broken by fewer attacks (intersection), but more people are at risk: 50 of 100 people are at risk.",
    ]
    refused = [
        replace(few, label=name, status="refused", failed_at=at, reason="why") for name, at in (("a", 0), ("b", 3))
    ]
    assert advise([few, *refused], {})[1][-3:] == [
        "Could not be used on these snapshots:",
        "  a: why",
        "  b, at snapshot 3: why",
    ]


@pytest.mark.parametrize(
    ("counterfeits", "suppressed", "price"),
    [
        (1, 0, "Its price besides: 1 counterfeit row is among its 90."),
        (2, 0, "Its price besides: 2 counterfeit rows are among its 90."),
        (0, 1, "Its price besides: 1 row is withheld."),
        (1, 1_200, "Its price besides: 1 counterfeit row is among its 90 and 1,200 rows are withheld."),
        (0, 0, None),
    ],
)
def test_what_it_costs_besides_is_told(counterfeits: int, suppressed: int, price: str | None) -> None:
    best = replace(run("standing", (), 0, 0.1), counterfeits=counterfeits, suppressed=suppressed, rows=90)
    words = advise([best], {})[1]
    assert [one for one in words if one.startswith("Its price")] == ([] if price is None else [price])


def test_who_could_not_be_tried_as_often_is_told() -> None:
    safe, less = run("safe", (), 0, 0.2), run("less", (), 0, 0.1, ran=2)
    assert (
        "less would tell more (counts made from it are off by 10%), but only 2 of the attacks could be tried on it."
        in (advise([safe, less], {})[1])
    )


def test_reasons_are_one_line_that_names_nobody() -> None:
    assert shorten_reason(InfeasiblePolicy("k = 5\n  cannot hold.")) == "k = 5 cannot hold."
    named = "The snapshot changed:\n- 2 people are gone: Tom, Bob\n- 1 value changed: Eve"
    assert shorten_reason(ChangeError(named)) == "2 people are gone; 1 value changed"
    assert shorten_reason(ChangeError("Nobody may go.\nAsk.")) == "Nobody may go."
    assert shorten_reason(InfeasiblePolicy("x" * SHORT)) == "x" * SHORT
    assert shorten_reason(InfeasiblePolicy("x" * (SHORT + 1))) == "x" * (SHORT - 1) + "…"


def test_a_refused_run_tells_its_seconds_to_the_thousandth() -> None:
    plan = SimpleNamespace(label="static (k=5)", name="static", settings={"k": 5})
    run = _describe_refused(plan, "why", 3, 1.23456)  # type: ignore[arg-type]
    assert (run.label, run.reason, run.failed_at, run.seconds) == ("static (k=5)", "why", 3, 1.235)
