"""The correspondence attack on series it must break and series it must not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reissue.errors import SettingsError
from reissue.methods.attack import Attack
from reissue.methods.bcf.attack import Correspondence
from reissue.methods.bcf.candidates import ReleaseChain
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.generators import exact_candidates
from tests.support.histories import uniform_tree
from tests.support.refusals import names
from tests.support.series import random_boxes_chain, random_cut_chain
from tests.support.words import PlainWords

FLU, HIV = 0, 1
UK, FRANCE = 0, 1
LAWYER, DOCTOR = 0, 1
DOMAINS = (Domain("birthplace", 0, 1, uniform_tree(2)), Domain("job", 0, 1, uniform_tree(2)))
PEOPLE = np.array(  # a1..a5 are b1..b5 again; b6..b10 are new
    [
        (UK, LAWYER, FLU),
        (UK, LAWYER, FLU),
        (UK, LAWYER, FLU),
        (FRANCE, LAWYER, HIV),
        (FRANCE, LAWYER, HIV),
        (FRANCE, LAWYER, HIV),
        (FRANCE, DOCTOR, FLU),
        (FRANCE, DOCTOR, FLU),
        (UK, DOCTOR, HIV),
        (UK, LAWYER, HIV),
    ],
    dtype=np.int32,
)


def release(
    number: int, rows: slice, boxes: list[list[list[int]]], classes: list[int], members: bool
) -> ObservedRelease:
    people = PEOPLE[rows]
    home = np.array(classes, dtype=np.int32)
    who = np.arange(len(PEOPLE), dtype=np.int64)[rows]
    known = Members(who, home, people[:, :2], people[:, 2]) if members else None
    return ObservedRelease(number, np.array(boxes, dtype=np.int32), home, people[:, 2], known)


def tables_1_and_2(members: bool = True) -> Observed:
    first = release(1, slice(0, 5), [[[0, 1], [0, 0]]], [0] * 5, members)
    second = release(2, slice(0, 10), [[[0, 0], [0, 1]], [[1, 1], [0, 1]]], [0, 0, 0, 1, 1, 1, 1, 1, 0, 0], members)
    return Observed([first, second], DOMAINS, 2, PlainWords({FLU: "flu", HIV: "HIV"}))


def observed(chain: ReleaseChain) -> Observed:
    """A chain of groups as published releases without members."""
    releases = []
    for number, groups in enumerate(chain.releases, start=1):
        classes, values = (np.repeat(column, groups.counts) for column in (groups.classes, groups.values))
        releases.append(ObservedRelease(number, groups.boxes, classes, values))
    attributes = chain.releases[0].boxes.shape[1]
    return Observed(releases, tuple(Domain(f"a{a}", 0, 4) for a in range(attributes)), 3, PlainWords())


def test_it_is_an_attack() -> None:
    assert isinstance(Correspondence(), Attack)


@pytest.mark.parametrize("members", [True, False])
def test_tables_1_and_2_fall_below_5_in_all_three_scenarios(members: bool) -> None:
    outcome = Correspondence(k=5).run(tables_1_and_2(members))
    assert {name: outcome.measures[name] for name in ("FA", "CA", "BA", "candidates")} == {
        "FA": 4,
        "CA": 4,
        "BA": 4,
        "candidates": 4,
    }
    scenarios = {(finding.details["arrival"], finding.classes): finding for finding in outcome.breaches}
    alice_french = scenarios[1, ((1, 0), (2, 1))]  # scenarios I and II
    assert alice_french.details["ruled_out_by_value"] == {1: {"flu": 1}, 2: {"HIV": 1}}
    assert alice_french.sentence == (
        "1 of the 5 records of release 1 that match someone in a0 1-1, a1 0-0 who is in release 1 can be ruled "
        "out; 4 remain, fewer than k = 5."
    )
    alice_british = scenarios[2, ((2, 0),)]  # scenario III
    assert alice_british.details["ruled_out_by_value"] == {2: {"flu": 1}}
    assert all(finding.level < 5 and finding.threshold == 5 for finding in outcome.breaches)
    assert alice_french.subjects == (("#3", "#4") if members else ())
    assert alice_british.subjects == (("#8", "#9") if members else ())


def test_people_at_risk_are_those_of_a_cracked_combination() -> None:
    outcome = Correspondence(k=5).run(tables_1_and_2())
    # the French who came first and the British who came second; the others keep all five candidates
    assert outcome.at_risk[1].tolist() == [3, 4]
    assert outcome.at_risk[2].tolist() == [3, 4, 8, 9]
    assert not Correspondence(k=4).run(tables_1_and_2()).breaches
    assert Correspondence(k=4).run(tables_1_and_2()).at_risk[2].tolist() == []


def test_findings_short_of_a_breach_are_told_as_such_and_the_limit_only_limits_the_list() -> None:
    outcome = Correspondence(k=4).run(tables_1_and_2())
    assert outcome.findings
    assert "still at least k = 4" in outcome.findings[0].sentence
    cut = Correspondence(k=4, limit=1).run(tables_1_and_2())
    assert len(cut.findings) == 1
    assert cut.total == outcome.total == len(outcome.findings)


def test_the_same_people_recoded_are_open_to_f_and_c_only() -> None:
    first = release(1, slice(0, 10), [[[0, 1], [0, 0]], [[0, 1], [1, 1]]], [0, 0, 0, 0, 0, 0, 1, 1, 1, 0], False)
    second = release(2, slice(0, 10), [[[0, 0], [0, 1]], [[1, 1], [0, 1]]], [0, 0, 0, 1, 1, 1, 1, 1, 0, 0], False)
    outcome = Correspondence(k=4).run(Observed([first, second], DOMAINS, 2, PlainWords()))
    assert "BA" not in outcome.measures
    assert outcome.measures["FA"] == outcome.measures["CA"] == 3  # doctors: 2 with flu, 1 with HIV
    assert any("Only F and C apply" in note for note in outcome.notes)
    assert {finding.details["arrival"] for finding in outcome.breaches} == {1}


def test_a_release_of_new_people_only_starts_a_new_chain() -> None:
    series = tables_1_and_2()
    third = release(3, slice(5, 10), [[[0, 1], [0, 1]]], [0] * 5, True)
    outcome = Correspondence(k=5).run(Observed([series.releases[0], third], DOMAINS, 2, PlainWords()))
    assert not outcome.breaches
    assert any("publishes only new people" in note for note in outcome.notes)
    assert "FA" not in outcome.measures


def test_a_release_that_lost_records_is_no_continuation() -> None:
    series = tables_1_and_2(members=False)
    outcome = Correspondence(k=5).run(Observed([*reversed(series.releases)], DOMAINS, 2, PlainWords()))
    assert any("lacks records" in note for note in outcome.notes)
    assert "FA" not in outcome.measures


def test_involving_looks_at_the_pairs_and_arrivals_up_to_that_release() -> None:
    chain = random_cut_chain(np.random.default_rng(3), 3, people=30)
    series = observed(chain)
    whole, second = Correspondence().run(series), Correspondence().run(series, involving=2)
    assert {name for name in second.measures if name.startswith("FA(")} == {"FA(1, 2)"}
    assert second.measures["FA(1, 2)"] == whole.measures["FA(1, 2)"]


@pytest.mark.parametrize("maker", [random_cut_chain, random_boxes_chain])
def test_releases_of_large_enough_classes_still_break_side_by_side(maker: object) -> None:
    rng = np.random.default_rng(61)
    broken = 0
    for _ in range(60):
        series = observed(maker(rng, 3, values=3, people=40))  # type: ignore[operator]
        smallest = min(int(r.sizes[r.sizes > 0].min()) for r in series.releases)
        outcome = Correspondence(k=smallest).run(series)
        broken += bool(outcome.breaches)
        assert outcome.measures["candidates"] <= outcome.measures["composed"]
    assert broken > 20


def test_every_level_is_exact_while_there_is_work_and_never_above_the_formula_without() -> None:
    rng = np.random.default_rng(59)
    below = 0
    for _ in range(40):
        chain = random_boxes_chain(rng, 3, values=1, people=7)
        quick, found = (Correspondence(k=100, limit=10_000, seconds=s).run(observed(chain)) for s in (0, 5))
        levels = {(finding.details["arrival"], finding.classes): finding for finding in quick.findings}
        exact = exact_candidates(chain, [0])
        for finding in found.findings:
            arrival, path = finding.details["arrival"], tuple(own for _, own in finding.classes)
            assert finding.level == exact[int(str(arrival)) - 1, path]
            loose = levels[arrival, finding.classes]
            assert finding.level <= loose.level
            assert finding.level == loose.level or "at most" in loose.sentence or "Only" in loose.sentence
            below += finding.level < loose.level
        below += len(quick.findings) - len(found.findings)
        assert found.unfinished == quick.unfinished == 0, "who has too few by the formula is no open question"
    assert below > 0


def brute_requirements(counts: list[int], c: float, most: int, top: float) -> tuple[bool, bool, bool]:
    n, ranked = sum(counts), sorted(counts, reverse=True)
    entropy = -sum(x / n * np.log(x / n) for x in counts if x)
    return max(counts) / n <= top, entropy >= np.log(most) - 1e-9, ranked[0] < c * sum(ranked[most - 1 :])


def test_requirements_hold_for_what_is_left_after_cracked_records_are_removed() -> None:
    rng = np.random.default_rng(62)
    verdicts = set()
    for _ in range(150):
        chain = random_cut_chain(rng, 2, values=3, people=25)
        attack = Correspondence(k=1, alpha=0.6, entropy_l=2, recursive_c=1.5, recursive_l=2, limit=10_000)
        broken: dict[str, set[tuple[object, ...]]] = {"alpha": set(), "entropy l": set(), "recursive c": set()}
        for finding in attack.run(observed(chain)).breaches:
            if finding.unit != "candidates":
                broken[finding.unit].add((finding.details["arrival"], finding.classes))
        for q1, q2 in zip(chain.pair(0, 1).left_class.tolist(), chain.pair(0, 1).right_class.tolist(), strict=True):
            one, two = (dict(_groups(chain, i, q)) for i, q in ((0, q1), (1, q2)))
            left = [min(n, two.get(v, 0)) for v, n in one.items()]
            if sum(left) == 0:
                continue
            holds = brute_requirements(left, 1.5, 2, 0.6)
            verdicts.add(holds)
            for unit, fine in zip(broken, holds, strict=True):
                assert ((1, ((1, q1), (2, q2))) not in broken[unit]) == fine
    assert len(verdicts) > 3


def _groups(chain: ReleaseChain, position: int, cls: int) -> list[tuple[int, int]]:
    groups = chain.releases[position]
    here = slice(groups.start[cls], groups.start[cls + 1])
    return list(zip(groups.values[here].tolist(), groups.counts[here].tolist(), strict=True))


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"confidence": 1.5},
        {"alpha": 0.0},
        {"entropy_l": 0.5},
        {"recursive_c": 2.0},
        {"recursive_l": 2, "recursive_c": -1.0},
        {"limit": -1},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=names(wrong)):
        Correspondence(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("codes", "changed quasi-identifiers of people of the release before"),
        ("values", "changed sensitive values of people of the release before"),
        ("subjects", "lacks people of the release before"),
    ],
)
def test_a_release_that_does_not_only_grow_starts_a_new_chain(changed: str, why: str) -> None:
    first, second = tables_1_and_2().releases
    members = first.members
    assert members is not None
    copies = (np.array(one) for one in (members.subjects, members.classes, members.codes, members.values))
    own = Members(*copies)
    getattr(own, changed)[-1] += 99 if changed == "subjects" else -1
    outcome = Correspondence(k=5).run(Observed([replace(first, members=own), second], DOMAINS, 2, PlainWords()))
    assert not outcome.breaches
    assert any(why in note for note in outcome.notes)
