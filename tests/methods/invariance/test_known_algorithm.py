"""The attacker who knows the algorithm: what was cut or dealt is rebuilt, and what follows from it is true."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from reissue.arrays.types import Float64, Int32
from reissue.errors import InputError, SettingsError
from reissue.methods.baselines.static import Static
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.attack_origins import RebuiltCuts, rebuild_cuts, rebuild_leftovers
from reissue.methods.invariance.known_algorithm_attack import KnownAlgorithm
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.learning.statistics import FittedStatistics
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.observed import Observed
from tests.methods.learning.townspeople import live_on, publish, renumber_classes, town
from tests.support.medians import cut_by_medians
from tests.support.refusals import names


def rebuild(series: Observed, position: int = 0) -> RebuiltCuts:
    release = series.releases[position]
    assert release.members is not None
    return rebuild_cuts(release, release.members, np.arange(len(release.members.subjects)), series.domains)


def excluded_pairs(cuts: RebuiltCuts) -> list[tuple[int, int]]:
    """Who stands left of a cut, beyond doubt, though he comes after someone who stands right of it."""
    pairs = []
    for cut in np.flatnonzero(cuts.weight == 1.0).tolist():
        own = slice(cuts.start[cut], cuts.start[cut + 1])
        people, left, place = cuts.people[own].tolist(), cuts.left[own].tolist(), cuts.place[own].tolist()
        for i, one in enumerate(people):
            pairs += [(one, people[j]) for j in range(len(people)) if left[i] and not left[j] and place[i] > place[j]]
    return pairs


@pytest.mark.parametrize("seed", range(3))
def test_nearly_every_cut_at_medians_is_rebuilt(seed: int) -> None:
    series = cut_by_medians(publish(MInvariance(m=3), [town(600, seed=seed)]))
    cuts, release = rebuild(series), series.releases[0]
    buckets = {frozenset(release.values[release.classes == c].tolist()) for c in range(release.class_count)}
    assert cuts.found >= 0.95 * (release.class_count - len(buckets))  # each cut makes one class more
    assert cuts.found + cuts.lost <= release.class_count - len(buckets)


@pytest.mark.parametrize("seed", range(3))
def test_who_is_found_not_to_share_a_value_does_not(seed: int) -> None:
    series = cut_by_medians(publish(MInvariance(m=3), [town(600, seed=seed)]))
    members = series.releases[0].members
    assert members is not None
    pairs = excluded_pairs(rebuild(series))
    assert len(pairs) > 1_000
    wrong = sum(members.values[one] == members.values[other] for one, other in pairs)
    assert wrong <= 0.01 * len(pairs)  # few classes: an attribute may look like the one by chance


def test_a_sentence_says_how_often_others_are_found_not_to_share_the_value() -> None:
    series = cut_by_medians(publish(MInvariance(m=3), [town(600)]))
    times = Counter(person for pair in excluded_pairs(rebuild(series)) for person in pair)
    found = KnownAlgorithm().run(series)
    assert len(found.findings) == 100
    members = series.releases[0].members
    assert members is not None
    for finding in found.findings:
        person = int(finding.subjects[0].removeprefix("#"))
        said = re.search(r"by the cuts ([\d,]+) times somebody", finding.sentence)
        assert times[person] == (int(said.group(1).replace(",", "")) if said else 0)
        assert finding.value == f"v{members.values[person]}"
        assert f"{finding.subjects[0]} has {finding.value}, rightly" in finding.sentence
        assert finding.level > 0.5


@pytest.mark.parametrize("releases", [1, 3])
def test_how_the_paper_cuts_classes_gives_away_most_values(releases: int) -> None:
    table = town(4_000, dependence=0.8)
    series = cut_by_medians(publish(MInvariance(m=3), live_on(table, 2_000, releases)))
    found = KnownAlgorithm().run(series).measures
    assert found["right"] > 0.7
    assert found["right"] > found["right_of_one_release"] + 0.1


@pytest.mark.parametrize("strategy", [MInvariance(m=3), CorSplit(m=3, n=2)])
def test_how_we_deal_classes_gives_away_far_less_and_sentences_say_why(strategy: Strategy) -> None:
    """Of one release: less than half of what cutting at medians adds to the class itself."""
    series = publish(strategy, [town(2_000, dependence=0.8)])
    dealt, cut = KnownAlgorithm().run(series), KnownAlgorithm().run(cut_by_medians(series)).measures
    added = dealt.measures["right"] - dealt.measures["right_of_one_release"]
    assert -0.02 < added < 0.5 * (cut["right"] - cut["right_of_one_release"])
    assert dealt.measures["left_over"] > 100
    assert dealt.measures["cuts"] == 0 < cut["cuts"]
    assert "who was left over where sets were dealt" in dealt.findings[0].sentence


@pytest.mark.parametrize("releases", [1, 3])
def test_who_was_left_over_in_a_cell_did_not_have_all_values_of_a_set(releases: int) -> None:
    series = publish(MInvariance(m=3), live_on(town(6_000), 3_000, releases))
    known: set[int] = set()
    groups = told = wrong = 0
    for release in series.releases:
        members = release.members
        assert members is not None
        old = np.array([subject in known for subject in members.subjects.tolist()])
        everybody = np.arange(len(old))
        left = rebuild_leftovers(release, members, everybody, old, series.domains, series.value_count)
        for group in range(len(left.start) - 1):
            here = set(members.values[left.people[left.start[group] : left.start[group + 1]]].tolist())
            for one in left.sets[left.shared[group] : left.shared[group + 1]].tolist():
                groups += 1
                told += len(here) >= 3
                wrong += set(left.values[left.first[one] : left.first[one + 1]].tolist()) <= here
        known |= set(members.subjects.tolist())
    assert groups > 2_000
    assert wrong <= 0.01 * groups  # a class may lie in a smaller cell than the one where it was dealt
    assert told > 500, "with fewer values than a set has, it would not tell anything"


class OthersStatistics:
    """Everybody is given someone else's statistics."""

    def __init__(self, own: FittedStatistics, seed: int) -> None:
        self.own, self.seed = own, seed

    def priors(self, codes: Int32, domains: Sequence[Domain], value_count: int) -> Float64:
        known = self.own.priors(codes, domains, value_count)
        return known[np.random.default_rng(self.seed).permutation(len(known))]


def excess(seed: int) -> float:
    table = town(1_200, seed=seed)
    own = FittedStatistics.of_table(table.codes, table.values, table.domains, table.value_count)
    series = publish(MInvariance(m=4), [table])
    found = KnownAlgorithm().inform(OthersStatistics(own, seed)).run(series).measures
    return found["right"] - found["right_of_statistics"]


def test_with_other_peoples_statistics_the_guess_is_one_in_m() -> None:
    found = np.array([excess(seed) for seed in range(20)])
    assert abs(found.mean()) < 3 * found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean()) < 0.03


@pytest.mark.parametrize("strategy", [Static(k=5), EEquivalence(m=3, e=2)])
def test_it_does_not_apply_where_no_lists_of_values_were_cut(strategy: Strategy) -> None:
    with pytest.raises(InputError, match="how classes were cut or dealt"):
        KnownAlgorithm().run(publish(strategy, [town(600)]))


def test_numbers_of_classes_do_not_matter() -> None:
    series = publish(MInvariance(m=3), live_on(town(900), 600, 2))
    one, other = (KnownAlgorithm().run(one).measures for one in (series, renumber_classes(series)))
    assert one == pytest.approx(other, abs=0.02)


def test_involving_tells_of_the_people_of_that_release() -> None:
    series = publish(MInvariance(m=3), live_on(town(900), 600, 3))
    found = KnownAlgorithm().run(series, involving=2)
    members = series.releases[1].members
    assert members is not None
    assert list(found.at_risk) == [2]
    assert set(found.at_risk[2].tolist()) <= set(members.subjects.tolist())
    assert found.total == len(found.at_risk[2]) > 0


@pytest.mark.parametrize("settings", [{"c": 0.0}, {"limit": 0}])
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        KnownAlgorithm(**settings)  # type: ignore[arg-type]
