"""The equivalence attack: on the paper's tables, on series of any kind, and as publish asks it."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import SettingsError
from reissue.methods.equivalence.attack import Equivalence
from reissue.methods.equivalence.class_pairs import ClassPairs, find_exposed
from reissue.methods.equivalence.person_matrix import is_invariant, number_classes, trace_patterns
from reissue.methods.equivalence.smallest_attack import find_whole_cut
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.methods.equivalence.blocks import AMPLE, all_blocks, series_of
from tests.support.clinic import NAMES, TABLE_1B, TABLE_3B, TABLE_4, TABLE_5, TABLE_6, TABLE_7, clinic
from tests.support.refusals import names


def pairs_found(series: Observed, e: int, **settings: float) -> set[frozenset[frozenset[str]]]:
    findings = Equivalence(e=e, **settings).run(series).findings
    return {frozenset({frozenset(f.details["left"]), frozenset(f.details["right"])}) for f in findings}  # type: ignore[call-overload]


def both(left: set[str], right: set[str]) -> frozenset[frozenset[str]]:
    return frozenset({frozenset(left), frozenset(right)})


def test_example_3_bob_equals_greg_and_two_classes_are_alike() -> None:
    series = clinic(TABLE_1B, TABLE_3B)
    assert both({"Bob"}, {"Greg"}) in pairs_found(series, 2)
    assert both({"Alice", "Bob"}, {"Chris", "Dan"}) in pairs_found(series, 3, exact=True, nodes=AMPLE)


def test_examples_4_and_6_frank_equals_harry_is_the_minimum_attack() -> None:
    series = clinic(TABLE_4, TABLE_5, TABLE_6)
    outcome = Equivalence(e=2, exact=True, nodes=AMPLE).run(series)
    assert outcome.measures["smallest_attack"] == outcome.measures["lower_bound"] == 1.0
    (finding,) = outcome.findings
    assert set(finding.subjects) == {"Frank", "Harry"}
    assert finding.releases == (1, 2, 3)
    assert finding.breach
    assert both({"Ellen", "Frank"}, {"Ian", "Jane"}) in pairs_found(series, 3)
    assert {number: people.tolist() for number, people in outcome.at_risk.items()} == {1: [5], 2: [7], 3: []}


def test_example_5_person_and_value_matrices() -> None:
    (block,) = all_blocks(clinic(TABLE_4, TABLE_5, TABLE_6), apart=False)
    assert block.values.tolist() == [[2, 2, 0], [1, 0, 1], [2, 2, 0], [2, 0, 2], [2, 2, 0], [1, 0, 1]]
    rows = {
        NAMES.get(int(who), "c1"): block.inside[c].astype(int).tolist()
        for c in range(len(block.weight))
        for who in block.who(c)
    }
    assert rows["Alice"] == rows["Chris"] == [1, 0, 1, 0, 1, 0]
    assert rows["Bob"] == rows["Dan"] == [1, 0, 0, 0, 0, 0]
    assert rows["Ellen"] == [0, 1, 0, 1, 0, 0]
    assert rows["Frank"] == [0, 1, 0, 0, 0, 0]
    assert rows["Greg"] == rows["c1"] == [0, 0, 1, 0, 1, 0]
    assert rows["Harry"] == [0, 0, 0, 1, 0, 0]
    assert rows["Ian"] == rows["Jane"] == [0, 0, 0, 1, 0, 1]


def test_example_9_minimum_cuts() -> None:
    first, second = all_blocks(clinic(TABLE_4, TABLE_5, TABLE_6))
    assert {NAMES[int(s)] for s in first.people if s >= 0} == {"Alice", "Bob", "Chris", "Dan", "Greg"}
    assert (find_whole_cut(first), find_whole_cut(second)) == (4, 2)


def test_table_7_has_no_attack_below_2() -> None:
    outcome = Equivalence(e=2, exact=True, nodes=AMPLE).run(clinic(*TABLE_7))
    assert outcome.breaches == ()
    assert outcome.measures["smallest_cut"] == 4.0
    assert outcome.measures["lower_bound"] == 2.0


def test_publish_sees_what_the_new_release_adds() -> None:
    series = clinic(TABLE_4, TABLE_5, TABLE_6)
    assert Equivalence(e=2).run(series, involving=2).breaches == ()
    assert Equivalence(e=2).run(series, involving=3).breaches != ()
    for number in (1, 2, 3):
        assert Equivalence(e=2).run(clinic(*TABLE_7), involving=number).breaches == ()


def test_publish_counts_what_it_cannot_prove_as_broken() -> None:
    """Two classes of one signature are not merged buckets: there is no bound, even where no attack is found."""
    outcome = Equivalence(e=2).run(clinic(TABLE_1B), involving=1)
    assert [finding.breach for finding in outcome.findings] == [True]
    assert "could not be proven" in outcome.findings[0].sentence
    assert outcome.notes[0] == "Classes were only set against each other in pairs: more of them together may show more."
    assert not Equivalence(e=2).run(clinic(*TABLE_7), involving=3).notes


def test_random_pairs_of_classes_against_the_definition() -> None:
    """Pairs found in series of any kind are attacks: the true values of both sides are the same multiset."""
    found = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 3, 14).astype(np.int32)
        releases = []
        for _ in range(3):
            subjects = np.flatnonzero(rng.random(14) < 0.8).astype(np.int64)
            classes = rng.integers(0, 4, len(subjects)).astype(np.int32)
            releases.append((subjects, classes, truth[subjects]))
        for finding in Equivalence(e=5).run(series_of(releases, 3)).breaches:
            found += 1
            sides = [sorted(int(truth[int(n[1:])]) for n in finding.details[side]) for side in ("left", "right")]  # type: ignore[attr-defined]
            assert sides[0] == sides[1]
            assert len(sides[0]) == finding.level
    assert found > 50


def test_counterfeits_alone_are_no_attack() -> None:
    """Two classes that differ in rows of nobody tell nothing about a person."""
    series = clinic([(["Alice"], [(-1, 1)]), (["Chris"], [(-2, 1)])], [(["Alice"], [(-3, 1)]), (["Chris"], [(-4, 1)])])
    assert all(f.subjects for f in Equivalence(e=2).run(series).findings)


@pytest.mark.parametrize("settings", [{"e": 0}, {"time_limit": 0.0}, {"limit": 0}])
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        Equivalence(**settings)  # type: ignore[arg-type]


def test_an_m_invariant_series_is_recognized() -> None:
    rows = number_classes(clinic(TABLE_1B, TABLE_3B).releases)
    assert is_invariant(rows, trace_patterns(clinic(TABLE_1B, TABLE_3B).releases, rows))


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_one_class_whose_people_are_shown_with_another_set_is_enough_not_to_be_invariant(changed: int) -> None:
    people, classes = np.arange(6), np.arange(6, dtype=np.int32) // 2
    values = np.array([0, 1] * 3, dtype=np.int32)
    other = np.where((classes == changed) & (values == 1), 2, values)
    for last, invariant in ((values, True), (other, False)):
        releases = series_of([(people, classes, values), (people, classes, last)], 3).releases
        rows = number_classes(releases)
        assert rows.even.all()
        assert is_invariant(rows, trace_patterns(releases, rows)) == invariant


@pytest.mark.parametrize("seed", range(5))
def test_who_stands_on_a_side_of_an_attack_by_two_classes(seed: int) -> None:
    """Who is in both classes stands on neither side, unless one of them counts more often; counterfeits are nobody."""
    rng = np.random.default_rng(seed)
    releases, homes = [], []
    for number, first in ((1, 0), (2, 15)):
        subjects = np.arange(first, first + 60, dtype=np.int64)
        classes, none = rng.integers(0, 4, 60).astype(np.int32), np.zeros(60, dtype=np.int32)
        fakes = Members(np.array([-number], dtype=np.int64), np.array([2], np.int32), none[:1, None], none[:1])
        members = Members(subjects, classes, none[:, None], none)
        boxes = np.zeros((4, 1, 2), dtype=np.int32)
        whole, values = np.append(classes, np.int32(2)), np.zeros(61, dtype=np.int32)
        releases.append(ObservedRelease(number, boxes, whole, values, members, False, fakes))
        homes.append(dict(zip(subjects.tolist(), classes.tolist(), strict=True)))
    left, right = (np.array(some, dtype=np.int32) for some in ([0, 2, 2, 3], [1, 2, 0, 3]))
    times = np.array([[1, 1], [1, 1], [2, 1], [1, 2]], dtype=np.int64)
    pairs = ClassPairs(0, 1, left, right, np.ones(4, dtype=np.int64), times)
    chosen = np.array([0, 1, 2, 3])[rng.permutation(4)[:3]]
    people, which = find_exposed(releases, pairs, chosen)
    expected = set()
    for place, pair in enumerate(chosen.tolist()):
        one = {who for who, own in homes[0].items() if own == left[pair]}
        two = {who for who, own in homes[1].items() if own == right[pair]}
        expected |= {(who, place) for who in (one ^ two if times[pair, 0] == times[pair, 1] else one | two)}
    assert set(zip(people.tolist(), which.tolist(), strict=True)) == expected
