"""The learning attack: as strong as it should be, silent where there is nothing to learn, and true in what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from reissue.arrays.factor_graph import FactorGraph
from reissue.arrays.permanent import Deals
from reissue.arrays.types import Float64, Int32, Int64
from reissue.errors import SettingsError
from reissue.methods.baselines.static import Static
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.learning.attack import Learning, judge
from reissue.methods.learning.class_graph import SeriesGraph
from reissue.methods.learning.statistics import FittedStatistics, learn, reason
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.methods.learning.townspeople import live_on, publish, renumber_classes, town
from tests.support.refusals import names
from tests.support.words import PlainWords

TRUTH = {0: 0, 1: 1, 2: 0, 3: 1}
CHAIN = [[[0, 1], [2, 3]], [[1, 2]]]
"""Two releases of classes that show both values: 0 and 1, 2 and 3; then 1 and 2. Nobody has a neighbour's value."""


class TruthLikely:
    """Statistics that find the true value of everybody of the chain likely."""

    def __init__(self, share: float) -> None:
        self.share = share

    def priors(self, codes: Int32, domains: object, value_count: int) -> Float64:
        found = np.full((len(codes), 2), 1.0 - self.share)
        found[np.arange(len(codes)), [TRUTH[person] for person in codes[:, 0].tolist()]] = self.share
        return found


class ChainNames:
    values = ("flu", "cancer")
    attributes = ("person",)

    def interval(self, attribute: str, label: str) -> tuple[int, int]:
        return int(label), int(label)

    def numbers(self, identifiers: Sequence[str]) -> Int64:
        raise AssertionError("nobody is looked for by name")


def chain() -> Observed:
    releases = []
    for number, classes in enumerate(CHAIN, start=1):
        people = sorted((person, c) for c, members in enumerate(classes) for person in members)
        who, where = (np.array(column, dtype=np.int64) for column in zip(*people, strict=True))
        values = np.array([TRUTH[person] for person in who.tolist()], dtype=np.int32)
        codes = who.astype(np.int32)[:, None]
        boxes = np.tile(np.array([[[0, 3]]], dtype=np.int32), (len(classes), 1, 1))
        members = Members(who, where.astype(np.int32), codes, values)
        releases.append(ObservedRelease(number, boxes, where.astype(np.int32), values, members))
    words = PlainWords({0: "flu", 1: "cancer"}, {0: "Ann", 1: "Ben", 2: "Cid", 3: "Dan"})
    return Observed(releases, (Domain("person", 0, 3),), 2, words)


def chance(person: int, share: float, classes: list[list[int]]) -> float:
    """How likely the person has the true value, over all worlds in which nobody has a classmate's."""
    true = every = 0.0
    for world in product(range(2), repeat=4):
        if all(world[a] != world[b] for a, b in classes):
            weight = float(np.prod([share if world[p] == TRUTH[p] else 1 - share for p in range(4)]))
            every += weight
            true += weight * (world[person] == TRUTH[person])
    return true / every


def test_a_sentence_says_what_all_worlds_say() -> None:
    found = Learning().inform(TruthLikely(0.7)).run(chain())
    findings = sorted(found.findings, key=lambda finding: finding.subjects)
    assert [finding.subjects[0] for finding in findings] == ["Ann", "Ben", "Cid", "Dan"]
    for person, finding in enumerate(findings):
        every = chance(person, 0.7, [pair for classes in CHAIN for pair in classes])
        alone = max(chance(person, 0.7, [pair]) for classes in CHAIN for pair in classes if person in pair)
        told = [int(number) / 100 for number in re.findall(r"(\d+)%", finding.sentence)]
        assert told == [round(every, 2), round(alone, 2), 0.7, 1.0]
        assert finding.level == pytest.approx(every, abs=2e-3)
        assert finding.value == ("flu", "cancer")[TRUTH[person]]
        assert f" flu and cancer for {finding.subjects[0]};" in finding.sentence
        assert f"that it is {finding.value}, rightly" in finding.sentence
    assert findings[1].releases == (1, 2)
    assert findings[0].classes == ((1, 0),)


def test_odds_that_rise_less_than_threefold_put_nobody_at_risk() -> None:
    """At 60% each, four in a chain have odds of 5 and two of 2.25: more than half sure, but not by the series."""
    found = Learning().inform(TruthLikely(0.6)).run(chain())
    assert found.measures["belief"] == pytest.approx(chance(0, 0.6, [pair for c in CHAIN for pair in c]), abs=2e-3)
    assert found.measures["belief"] > 0.8
    assert found.findings == ()
    assert not any(len(people) for people in found.at_risk.values())


def test_one_release_is_not_held_against_the_series() -> None:
    found = Learning().inform(TruthLikely(0.9)).run(chain(), involving=1)
    assert found.measures["belief"] == pytest.approx(found.measures["belief_of_one_release"], abs=1e-3)
    assert found.findings == ()


def test_involving_looks_at_the_people_of_that_release() -> None:
    found = Learning().inform(TruthLikely(0.7)).run(chain(), involving=2)
    assert {finding.subjects[0] for finding in found.findings} == {"Ben", "Cid"}
    assert found.at_risk[2].tolist() == [1, 2]
    assert list(found.at_risk) == [2]


def test_six_releases_of_m_invariance_tell_whose_value_is_whose() -> None:
    table = town(4_000, dependence=0.8)
    series = publish(MInvariance(m=3), live_on(table, 2_000, 6))
    own = FittedStatistics.of_table(table.codes, table.values, table.domains, table.value_count)
    learned, informed = Learning().run(series).measures, Learning().inform(own).run(series).measures
    assert learned["right"] > 0.65
    assert informed["right"] > 0.85
    assert informed["right_of_one_release"] < 0.8
    assert learned["exposed"] > 500


def test_merged_buckets_add_little_to_what_statistics_tell() -> None:
    series = publish(EEquivalence(m=3, e=3), live_on(town(4_000), 2_000, 6))
    found = Learning(statistics="publisher").run(series).measures
    assert abs(found["gain"]) < 0.02
    assert found["right"] - found["right_of_statistics"] < 0.04


def excess(seed: int, shuffled: str) -> float:
    """How much more often the best guess is right than one in as many as are possible."""
    table = town(4_000, dependence=0.0 if shuffled == "values" else 1.5, seed=seed)
    series = publish(MInvariance(m=4), live_on(table, 2_000, 4))
    graph = SeriesGraph.of(series, len(series))
    if shuffled == "values":
        priors = learn(graph, series.domains)
    else:
        own = FittedStatistics.of_table(table.codes, table.values, table.domains, table.value_count)
        known = own.priors(graph.people.codes, series.domains, series.value_count)
        priors = known[np.random.default_rng(seed).permutation(len(known))]
    judged = judge(graph.published, priors, reason(graph.reduced, priors), graph.people.values)
    return float((judged.right - 1.0 / graph.published.possible.sum(axis=1)).mean())


@pytest.mark.parametrize("shuffled", ["values", "statistics"])
def test_where_nothing_can_be_learned_the_guess_is_one_in_m(shuffled: str) -> None:
    """Values that do not depend on people, or other people's statistics. People are right or wrong in large groups, so
    that the error of the mean is that over towns."""
    found = np.array([excess(seed, shuffled) for seed in range(12)])
    assert abs(found.mean()) < 3 * found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean()) < 0.02


@pytest.mark.parametrize("seed", range(3))
def test_who_is_sure_of_everybody_and_right_by_chance_puts_nobody_at_risk(seed: int) -> None:
    """Values that do not depend on people: what seems to have been learned comes true one time in m."""
    series = publish(MInvariance(m=4), live_on(town(1_800, dependence=0.0, seed=seed), 1_200, 3))
    found = Learning().run(series)
    assert found.measures["sure_and_right"] > 0.05, "it is sure, though"
    assert found.findings == ()


def test_beliefs_count_for_no_more_than_they_come_true() -> None:
    """A hundred people believed at 90%, sixty of them rightly; a hundred at 60%, ninety rightly."""
    firm = np.repeat([0.9, 0.6], 100)
    right = np.repeat([1.0, 0.0, 1.0, 0.0], [60, 40, 90, 10])
    belief, low = np.where(right > 0, firm, 1 - firm), np.full(200, 0.1)
    final = np.stack([belief, 1 - belief], axis=1)
    graph = FactorGraph(
        Deals(np.arange(201), 2 * np.arange(201), np.ones(400, dtype=np.int64)),
        np.arange(200),
        np.tile(np.array([0, 1], dtype=np.int32), 200),
        200,
        2,
    )
    judged = judge(graph, np.stack([low, 1 - low], axis=1), final, np.zeros(200, dtype=np.int32))
    assert set(judged.come_true[:100].tolist()) == {0.6}
    assert set(judged.come_true[100:].tolist()) == {0.9}
    assert judged.at_risk(0.55).tolist() == (right > 0).tolist()
    assert judged.at_risk(0.61).sum() == 0


def test_findings_do_not_depend_on_how_classes_are_numbered() -> None:
    series = publish(MInvariance(m=3), live_on(town(900), 600, 3))
    one, other = Learning().run(series), Learning().run(renumber_classes(series))
    assert one.measures == other.measures
    assert [finding.sentence for finding in one.findings] == [finding.sentence for finding in other.findings]


def test_beliefs_do_not_depend_on_how_people_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes of Mondrian cross each other in short loops, in which rounding errors between people alike would grow."""
    series = publish(Static(k=5, c=0.6), live_on(town(400, dependence=0.8), 240, 3))
    number = np.random.default_rng(0).permutation(400)
    renamed = []
    for release in series.releases:
        assert release.members is not None
        own = release.members
        order = np.argsort(number[own.subjects])
        members = Members(number[own.subjects][order], own.classes[order], own.codes[order], own.values[order])
        renamed.append(replace(release, members=members))
    graph, other = SeriesGraph.of(series, 3), SeriesGraph.of(replace(series, releases=renamed), 3)
    at = np.searchsorted(other.people.subjects, number[graph.people.subjects])
    priors = learn(graph, series.domains)
    moved = np.empty_like(priors)
    moved[at] = priors
    monkeypatch.setattr("reissue.methods.learning.statistics.MOST_SWEEPS", 40)
    monkeypatch.setattr("reissue.methods.learning.statistics.CLOSE", 0.0)
    one, two = (reason(g.reduced, p) for g, p in ((graph, priors), (other, moved)))
    np.testing.assert_allclose(two[at], one, atol=1e-9)


def test_releases_without_members_are_passed_over_and_named() -> None:
    series = chain()
    blind = replace(series, releases=[series.releases[0], replace(series.releases[1], members=None)])
    found = Learning().inform(TruthLikely(0.7)).run(blind)
    assert found.notes[-1] == "Releases 2 come without their members and were passed over."
    assert found.findings == ()


@pytest.mark.parametrize("settings", [{"c": 0.0}, {"c": 1.5}, {"limit": 0}])
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        Learning(**settings)  # type: ignore[arg-type]


def test_statistics_are_read_from_a_file_of_shares(tmp_path: Path) -> None:
    """The chain's people by number: 70% for the true value of each."""
    lines = [
        f"{person},{value},{0.7 if TRUTH[person] == code else 0.3}"
        for person in range(4)
        for code, value in enumerate(("flu", "cancer"))
    ]
    file = tmp_path / "shares.csv"
    file.write_text("\n".join(["person,value,probability", *lines]))
    attack = Learning(statistics=str(file)).prepare(ChainNames())
    found, given = attack.run(chain()), Learning().inform(TruthLikely(0.7)).run(chain())
    assert found.measures == given.measures
    assert found.notes[0].startswith("How values depend on quasi-identifiers was given as statistics.")


def test_statistics_that_nobody_has_read_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"shares\.csv have not been read"):
        Learning(statistics="shares.csv").run(chain())
