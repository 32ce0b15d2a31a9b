"""BayFrame and JS-reduce refuse settings and tables that cannot work, and their settings survive a policy file."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from pydantic import TypeAdapter

from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.js_reduce import JSReduce
from reissue.methods.beliefs.knowledge import ReadKnowledge
from reissue.methods.beliefs.revision import Claims
from reissue.model.release import History
from tests.methods.beliefs.bayesian import STRATEGIES, Bayesian, histories
from tests.support.refusals import names


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_settings_survive_a_policy_file(strategy: Bayesian) -> None:
    assert TypeAdapter(type(strategy)).validate_python(asdict(strategy)) == strategy
    prepared = strategy.inform(ReadKnowledge())
    assert asdict(prepared) == asdict(strategy)
    assert prepared == strategy


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"J": -0.1},
        {"J": float("inf")},
        {"beta": None},
        {"beta": -1.0},
        {"steps": 3},
        {"estimator": "guess"},
        {"cascading": "both"},
        {"leftovers": "hide"},
        {"order": "random"},
        {"cascading": "posterior", "estimator": "omega"},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(wrong)):
        BayFrame(**{"k": 3, "J": 0.5, "beta": 3.0, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"t": 2.0}, {"J": -1.0}, {"steps": 0}, {"leftovers": "x"}, {"k": 0}], ids=str)
def test_settings_of_js_reduce_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(wrong)):
        JSReduce(**{"k": 3, "t": 0.5, "J": 0.5, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("gone", ["relax", "counterfeit"])
def test_leftovers_that_are_gone_are_refused_with_what_to_use(gone: str) -> None:
    with pytest.raises(SettingsError, match=f'leftovers = "{gone}" is gone.* raise J or beta'):
        BayFrame(k=3, J=0.5, beta=3.0, leftovers=gone)  # type: ignore[arg-type]


def test_too_few_rows_and_impossible_j_are_refused_with_what_works() -> None:
    few = histories(9, rows=2)[0]
    with pytest.raises(InfeasiblePolicy, match=r"k = 3 cannot hold: there are only 2 rows\. Lower k to 2"):
        BayFrame(k=3, J=0.5, beta=3.0).publish(few, History([], {}, 1))
    snapshot = histories(9, rows=30)[0]
    claims = Claims(snapshot.subjects, snapshot.values, np.ones(len(snapshot), np.int32), np.full(len(snapshot), 0.999))
    strategy = BayFrame(k=8, J=0.0, beta=1.0).inform(ReadKnowledge(claims=claims))
    with pytest.raises(InfeasiblePolicy, match="divergence of beliefs is"):
        strategy.publish(snapshot, History([], {}, 1))
