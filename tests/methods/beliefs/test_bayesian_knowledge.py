"""What an attacker of BayFrame knows beside the releases enters its beliefs."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import SettingsError
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.cycle import Applied, BeliefState
from reissue.methods.beliefs.knowledge import Knowledge, ReadKnowledge
from reissue.methods.beliefs.revision import Claims
from reissue.model.release import Candidate, Coded, Facts, History
from tests.methods.beliefs.bayesian import histories, run


def test_compromised_people_known_before_enter_the_priors() -> None:
    snapshots = histories(7)
    subject, value = snapshots[0].subjects[:1], snapshots[0].values[:1]
    claims = Claims(subject, value, np.array([1], np.int32), np.array([0.9]))
    known = BayFrame(k=3, J=0.5, beta=3.0).inform(ReadKnowledge(claims=claims))
    *_, beliefs = run(known, snapshots[:1])[0]
    *_, without = run(BayFrame(k=3, J=0.5, beta=3.0), snapshots[:1])[0]
    assert subject[0] in beliefs.people
    prior = beliefs.prior[np.searchsorted(beliefs.people, subject[0])]
    other = without.prior[np.searchsorted(without.people, subject[0])]
    assert prior[value[0]] == pytest.approx(0.9 + 0.1 * other[value[0]])


def test_compromised_people_known_after_enter_the_posterior_of_the_release_before() -> None:
    snapshots = histories(8)
    claims = Claims(
        snapshots[0].subjects,
        snapshots[0].values,
        np.ones(len(snapshots[0]), np.int32),
        np.full(len(snapshots[0]), 0.9),
    )
    one = np.eye(5)
    strategy = BayFrame(k=3, J=3.0, beta=9.0, cascading="posterior")
    with_claims = run(strategy.inform(ReadKnowledge(one=one, claims=claims)), snapshots[:2])
    without = run(strategy.inform(ReadKnowledge(one=one)), snapshots[:2])
    assert np.array_equal(with_claims[0][1].classes, without[0][1].classes)
    applied = Applied.read(with_claims[1][2].extras)
    assert applied is not None
    assert set(applied.claims.releases.tolist()) == {1}
    stayed = np.intersect1d(with_claims[1][2].subjects, with_claims[0][2].subjects)

    def truth(made: list[tuple[Coded, Candidate, Facts, History, BeliefState]]) -> float:
        beliefs, first = made[1][4], made[0][2]
        at = np.searchsorted(beliefs.people, stayed)
        values = first.values[np.searchsorted(first.subjects, stayed)]
        return float(beliefs.prior[at, values].mean())

    assert truth(with_claims) > truth(without) + 0.02


def test_files_must_be_read_before_publishing() -> None:
    strategy = BayFrame(k=3, J=0.5, beta=3.0, knowledge=Knowledge(transitions="moves.csv"))
    with pytest.raises(SettingsError, match=r"moves\.csv has not been read"):
        strategy.publish(histories(1)[0], History([], {}, 1))


def test_compromised_records_about_strangers_are_told() -> None:
    strategy = BayFrame(k=3, J=0.5, beta=3.0).inform(ReadKnowledge(unmatched=2))
    candidate = strategy.publish(histories(1)[0], History([], {}, 1))
    assert any(
        "2 compromised records are about people whom the series does not know" in step for step in candidate.steps
    )
