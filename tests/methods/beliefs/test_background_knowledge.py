"""The background knowledge attack: example 1 of Amiri et al. (2019), and series of all strategies."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from reissue.errors import InputError, SettingsError
from reissue.methods.attack import Attack
from reissue.methods.baselines.static import Static
from reissue.methods.beliefs.attack import BackgroundKnowledge
from reissue.methods.beliefs.attack_cycle import follow
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.knowledge import Knowledge, ReadKnowledge
from reissue.methods.beliefs.revision import Claims
from reissue.methods.invariance.strategy import MInvariance
from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from reissue.model.release import Coded
from tests.methods.beliefs.diseases import (
    ALZHEIMER,
    BRONCHITIS,
    CANCER_1,
    CANCER_2,
    DEPRESSION,
    DIABETES_1,
    FLU,
    GERD,
    ULCER,
    table_7,
)
from tests.methods.beliefs.names import TinyNames
from tests.support.histories import CHURN, Turnover, generate, observe, run_series
from tests.support.refusals import names
from tests.support.words import PlainWords

PEOPLE = ("Alice", "Beth", "Cayla", "Dior", "Elisa", "Fiona", "Ganya", "Harriet")


def release(number: int, classes: list[tuple[list[int], list[int]]]) -> ObservedRelease:
    """A release of (members, values) classes; values in the order of the members."""
    rows = sorted((v, c, s) for c, (people, values) in enumerate(classes) for v, s in zip(people, values, strict=True))
    subjects = np.array([v for v, _, _ in rows], dtype=np.int64)
    owner, values = (np.array([row[i] for row in rows], dtype=np.int32) for i in (1, 2))
    codes = (60 + subjects % 7)[:, None].astype(np.int32)
    return ObservedRelease(
        number, bounding_boxes(codes, owner, len(classes)), owner, values, Members(subjects, owner, codes, values)
    )


def example_1() -> Observed:
    first = [([0, 1, 2], [BRONCHITIS, ALZHEIMER, CANCER_1]), ([3, 4, 5], [ULCER, FLU, DIABETES_1])]
    second = [([2, 3, 4], [CANCER_2, GERD, DEPRESSION]), ([5, 6, 7], [DIABETES_1, FLU, ALZHEIMER])]
    names = PlainWords({CANCER_2: "Cancer-II"}, dict(enumerate(PEOPLE)))
    return Observed([release(1, first), release(2, second)], (Domain("age", 60, 69),), 9, names)


def knowing(attack: BackgroundKnowledge, claims: Claims | None = None) -> BackgroundKnowledge:
    """Table 7 as it is printed, an excerpt whose rows do not sum to 1; the revised priors are normalized."""
    return attack.inform(ReadKnowledge(one=table_7(), claims=claims or Claims.none()))


UNIFORM = Knowledge(values="uniform")


def test_example_1_cayla_is_given_away_by_what_follows_cancer() -> None:
    attack = knowing(BackgroundKnowledge(knowledge=UNIFORM, estimator="js-reduce", threshold=0.3))
    outcome = attack.run(example_1())
    assert outcome.findings[0].subjects == ("Cayla",)
    assert outcome.findings[0].value == "Cancer-II"
    assert "Cayla has Cancer-II; the class alone gives 33%" in outcome.findings[0].sentence
    assert 2 in outcome.at_risk[2]
    assert outcome.measures["gain_1"] == pytest.approx(0.0)
    assert outcome.measures["gain_2"] > 0.1


def test_example_2_the_bayes_estimator_believes_three_sevenths() -> None:
    attack = knowing(BackgroundKnowledge(knowledge=UNIFORM, estimator="bayes", threshold=0.1))
    learned = list(follow(example_1(), attack.attacker, Claims.none()))
    cayla = learned[1].subjects.tolist().index(2)
    assert learned[1].belief[cayla] == pytest.approx(3 / 7)
    assert learned[1].gain[cayla] == pytest.approx((learned[1].belief[cayla] - 1 / 3) / (2 / 3))


def test_without_knowledge_nothing_is_gained() -> None:
    blind = BackgroundKnowledge(knowledge=Knowledge(values="uniform", transitions="uniform"), threshold=0.01)
    outcome = blind.run(example_1())
    assert outcome.measures["largest_gain"] == pytest.approx(0.0, abs=1e-12)
    assert outcome.findings == ()


def test_compromised_people_give_others_away() -> None:
    """Dior certainly has GERD: one row less for Cayla and Elisa; measured for them apart."""
    claims = Claims(np.array([3]), np.array([GERD], np.int32), np.array([2], np.int32), np.array([1.0]))
    attack = knowing(BackgroundKnowledge(knowledge=UNIFORM, estimator="bayes"), claims)
    measures = attack.run(example_1()).measures
    assert measures["gain_of_others"] > measures["gain_of_others_without"]
    assert measures["gain"] > measures["gain_without_compromised"]
    learned = list(follow(example_1(), attack.attacker, claims))[1]
    assert learned.belief[learned.subjects == 3] == pytest.approx(1.0)
    assert learned.claimed.sum() == 1


def test_a_claim_about_a_release_to_come_takes_nobody_elses_place() -> None:
    """Everybody is drawn but for those the file speaks of, whatever release it speaks of."""
    claims = Claims(
        np.array([2, 3]), np.array([GERD, GERD], np.int32), np.array([7, 2], np.int32), np.array([0.5, 0.5])
    )
    attack = knowing(BackgroundKnowledge(knowledge=UNIFORM, sigma=1.0, confidence=0.9), claims)
    found = attack.claims(example_1())
    sure = found.confidences == 0.9
    assert found.subjects[sure & (found.releases == 1)].tolist() == [0, 1, 2, 3, 4, 5]
    assert found.subjects[sure & (found.releases == 2)].tolist() == [2, 4, 5, 6, 7]


def series_of(strategy: object, turnover: Turnover, seed: int = 1, rows: int = 300) -> tuple[Observed, list[Coded]]:
    rng = np.random.default_rng(seed)
    snapshots = generate(rng, releases=5, rows=rows, values=6, turnover=turnover)
    return observe(run_series(strategy, snapshots), snapshots[-1]), snapshots  # type: ignore[arg-type]


STAYS = Turnover(arrive=0.1, leave=0.1, update=0.02)


def test_static_releases_of_steady_values_give_people_away() -> None:
    """Values hardly change and classes do: the intersection of classes, weighed, comes close to certainty."""
    series, snapshots = series_of(Static(k=4), STAYS)
    outcome = BackgroundKnowledge(threshold=0.9).run(series)
    assert outcome.total > 0
    assert outcome.measures["gain_5"] > outcome.measures["gain_1"]
    truth = {int(v): int(s) for v, s in zip(snapshots[-1].subjects, snapshots[-1].values, strict=True)}
    for subject in outcome.at_risk[5].tolist():
        assert subject in truth


@pytest.mark.parametrize(
    "strategy", [MInvariance(m=3), BayFrame(k=4, J=0.5, beta=4.0), Static(k=5)], ids=lambda s: s.name
)
@pytest.mark.parametrize("estimator", ["omega", "bayes", "js-reduce"])
def test_it_runs_over_any_series(strategy: object, estimator: str) -> None:
    series, _ = series_of(strategy, CHURN, seed=2)
    attack = BackgroundKnowledge(estimator=estimator, steps=2, sigma=0.1)  # type: ignore[arg-type]
    outcome = attack.run(series)
    assert isinstance(attack, Attack)
    assert outcome.measures["gain_of_others"] >= 0
    for learned in follow(series, attack.attacker, attack.claims(series)):
        assert (learned.belief >= -1e-12).all()
        assert (learned.belief <= 1 + 1e-12).all()
        assert (np.diff(learned.subjects) > 0).all()


def test_involving_looks_at_one_release_after_all_before_it() -> None:
    series, _ = series_of(Static(k=4), STAYS)
    attack = BackgroundKnowledge(threshold=0.5)
    whole, one = attack.run(series), attack.run(series, involving=3)
    assert set(one.at_risk) == {3}
    assert np.array_equal(one.at_risk[3], whole.at_risk[3])
    assert one.measures["gain_3"] == whole.measures["gain_3"]


def test_the_attackers_cycle_is_the_publishers() -> None:
    """With the publisher's own estimator the attacker arrives at the beliefs that BayFrame guarded against."""
    strategy = BayFrame(k=4, J=0.5, beta=4.0, knowledge=Knowledge(values="uniform", transitions="uniform"))
    series, _ = series_of(strategy, STAYS)
    attack = BackgroundKnowledge(estimator="bayes", knowledge=strategy.knowledge)
    assert attack.run(series).measures["largest_gain"] < 0.2


def test_releases_without_members_are_passed_over_with_a_note() -> None:
    series, _ = series_of(Static(k=4), STAYS)
    partial = Observed(
        [replace(series.releases[0], members=None), *series.releases[1:]], series.domains, 6, series.words
    )
    outcome = BackgroundKnowledge().run(partial)
    assert "Releases 1 come without" in outcome.notes[0]
    assert "gain_1" not in outcome.measures
    findings = BackgroundKnowledge(threshold=0.0).run(partial).findings
    assert max(one.classes[0][0] for one in findings) == len(series)
    for one in findings:
        assert one.releases == tuple(range(1, one.classes[0][0] + 1)), "all up to the one that tells it"


def test_more_members_than_rows_is_an_error() -> None:
    good = release(1, [([0, 1, 2], [FLU, GERD, ULCER])])
    bad = ObservedRelease(1, good.boxes, good.classes[:2], good.values[:2], good.members)
    with pytest.raises(InputError, match="2 rows but 3 members"):
        BackgroundKnowledge().run(Observed([bad], (Domain("age", 60, 69),), 9, PlainWords()))


def test_files_and_settings(tmp_path: Path) -> None:
    path = tmp_path / "compromised.csv"
    path.write_text("subject,value,release,confidence\nann,flu,1,0.9\n")
    attack = BackgroundKnowledge(knowledge=Knowledge(compromised=str(path)))
    with pytest.raises(SettingsError, match="has not been read"):
        attack.run(example_1())
    assert attack.prepare(TinyNames()).claims(example_1()).subjects.tolist() == [4]
    assert TypeAdapter(BackgroundKnowledge).validate_python(asdict(attack)) == attack
    for wrong in ({"threshold": 2}, {"sigma": -1}, {"estimator": "x"}, {"steps": 3}, {"limit": 0}, {"cascading": "x"}):
        with pytest.raises(SettingsError, match=names(wrong)):
            BackgroundKnowledge(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="needs the estimator"):
        BackgroundKnowledge(cascading="posterior")
