"""The equivalence attack: on the paper's tables, against enumeration, and theorem 2 as a property."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import reissue as ri
from reissue.attacks.equivalence import Equivalence
from reissue.core.boxes import hulls
from reissue.core.domain import Domain
from reissue.core.equivalence import Block, blocks, invariant, patterns_of, rows_of
from reissue.core.observed import Members, Observed, Release
from reissue.core.programs import found_attacks, smallest_attack, smallest_new_cut, whole_cut
from reissue.errors import SettingsError
from tests.support.clinic import NAMES, TABLE_1B, TABLE_3B, TABLE_4, TABLE_5, TABLE_6, TABLE_7, clinic
from tests.support.divided import CHURN, SCHEMA, People
from tests.support.words import PlainWords


def all_blocks(series: Observed, *, apart: bool = True) -> list[Block]:
    rows = rows_of(series.releases)
    return list(blocks(series.releases, rows, patterns_of(series.releases, rows), apart=apart))


def pairs_found(series: Observed, e: int, **settings: bool) -> set[frozenset[frozenset[str]]]:
    findings = Equivalence(e=e, **settings).run(series).findings
    return {frozenset({frozenset(f.details["left"]), frozenset(f.details["right"])}) for f in findings}  # type: ignore[call-overload]


def both(left: set[str], right: set[str]) -> frozenset[frozenset[str]]:
    return frozenset({frozenset(left), frozenset(right)})


def test_example_3_bob_equals_greg_and_two_classes_are_alike() -> None:
    series = clinic(TABLE_1B, TABLE_3B)
    assert both({"Bob"}, {"Greg"}) in pairs_found(series, 2)
    assert both({"Alice", "Bob"}, {"Chris", "Dan"}) in pairs_found(series, 3, exact=True)


def test_examples_4_and_6_frank_equals_harry_is_the_minimum_attack() -> None:
    series = clinic(TABLE_4, TABLE_5, TABLE_6)
    outcome = Equivalence(e=2, exact=True).run(series)
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
    assert (whole_cut(first), whole_cut(second)) == (4, 2)


def test_table_7_has_no_attack_below_2() -> None:
    outcome = Equivalence(e=2, exact=True).run(clinic(*TABLE_7))
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


def buckets_over_time(rng: np.random.Generator, *, returns: bool, sizes: int = 5) -> Observed:
    """One signature {0, 1}, merged, at 2-4 times: people come and go in pairs of the two values, as balance wants."""
    present: dict[int, int] = {}
    known: dict[int, int] = {}
    releases = []
    for number in range(1, int(rng.integers(2, 5)) + 1):
        for value in (0, 1):
            here = [s for s, v in present.items() if v == value]
            for subject in here:
                if rng.random() < 0.4:
                    del present[subject]
        want = max(1, *(sum(v == value for v in present.values()) for value in (0, 1)), int(rng.integers(1, sizes)))
        for value in (0, 1):
            away = [s for s, v in known.items() if v == value and s not in present]
            while sum(v == value for v in present.values()) < want:
                subject = away.pop() if returns and away and rng.random() < 0.5 else len(known)
                present[subject] = known[subject] = value
        subjects = np.array(sorted(present), dtype=np.int64)
        values = np.array([present[int(s)] for s in subjects], dtype=np.int32)
        codes, classes = np.zeros((len(subjects), 1), dtype=np.int32), np.zeros(len(subjects), dtype=np.int32)
        members = Members(subjects, classes, codes, values)
        releases.append(Release(number, hulls(codes, classes, 1), classes, values, members))
    return Observed(releases, (Domain("a", 0, 1),), 2, PlainWords())


def smallest_by_enumeration(block: Block, reach: int = 4) -> int | None:
    """The definition: every whole weight up to `reach`, values cancel, people remain."""
    best: int | None = None
    for weights in product(range(-reach, reach + 1), repeat=len(block.release)):
        weight = np.array(weights)
        if (weight @ block.values).any():
            continue
        shown = block.inside.astype(int) @ weight
        if (shown * block.real).any():
            size = int(np.abs(shown) @ block.weight) // 2
            best = size if best is None else min(best, size)
    return best


def test_integer_program_equals_enumeration_of_definition_10() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        (block,) = all_blocks(buckets_over_time(rng, returns=seed % 2 == 1, sizes=3))
        proof = smallest_attack(block, int(block.weight.sum()), 20.0)
        assert proof.proven
        assert (proof.way.size if proof.way else None) == smallest_by_enumeration(block), seed


def test_integer_program_on_classes_that_are_not_invariant() -> None:
    solved = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 8).astype(np.int32)
        releases = []
        for number in (1, 2):
            subjects = np.flatnonzero(rng.random(8) < 0.8).astype(np.int64)
            classes = (np.arange(len(subjects)) % 2).astype(np.int32)
            codes = np.zeros((len(subjects), 1), dtype=np.int32)
            members = Members(subjects, classes, codes, truth[subjects])
            releases.append(Release(number, hulls(codes, classes, 2), classes, truth[subjects], members))
        series = Observed(releases, (Domain("a", 0, 1),), 2, PlainWords())
        (block,) = all_blocks(series, apart=False)
        proof = smallest_attack(block, int(block.weight.sum()), 20.0)
        expected = smallest_by_enumeration(block, reach=5)
        if proof.way is None:
            assert proof.proven
            assert expected is None or expected >= proof.bound
            continue
        assert expected is None or proof.way.size <= expected  # it may use weights beyond the enumeration's reach
        people = [(s, int(k)) for c, k in enumerate(proof.way.shown) for s in block.who(c).tolist() if k]
        assert sum(k for s, k in people if truth[s] == 0) == 0
        assert sum(k for s, k in people if truth[s] == 1) == 0
        solved += 1
    assert solved > 10


def test_theorem_2_twice_the_minimum_attack_is_at_least_the_minimum_cut() -> None:
    tight = 0
    for seed in range(300):
        (block,) = all_blocks(buckets_over_time(np.random.default_rng(seed), returns=False))
        attacks = found_attacks(block)
        if attacks:
            assert 2 * attacks[0].size >= whole_cut(block)
            tight += 2 * attacks[0].size == whole_cut(block)
    assert tight > 30  # the bound is reached often enough to mean something


def test_the_new_cuts_are_the_minimum_cut_of_the_final_graph() -> None:
    """Without returns, looking at each release when it was made finds the cut that theorem 2 takes of the whole."""
    for seed in range(300):
        (block,) = all_blocks(buckets_over_time(np.random.default_rng(seed), returns=False))
        assert smallest_new_cut(block) == whole_cut(block)


def test_the_bound_holds_when_people_come_back() -> None:
    for seed in range(60):
        (block,) = all_blocks(buckets_over_time(np.random.default_rng(seed), returns=True, sizes=3))
        cut, least = smallest_new_cut(block), smallest_by_enumeration(block, reach=3)
        if least is not None:
            assert cut is not None
            assert 2 * least >= cut, seed


def test_random_pairs_of_classes_against_the_definition() -> None:
    """Pairs found in series of any kind are attacks: the true values of both sides are the same multiset."""
    found = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 3, 14)
        releases = []
        for number in (1, 2, 3):
            subjects = np.flatnonzero(rng.random(14) < 0.8).astype(np.int64)
            classes = rng.integers(0, 4, len(subjects)).astype(np.int32)
            codes = np.zeros((len(subjects), 1), dtype=np.int32)
            values = truth[subjects].astype(np.int32)
            releases.append(
                Release(number, hulls(codes, classes, 4), classes, values, Members(subjects, classes, codes, values))
            )
        series = Observed(releases, (Domain("a", 0, 1),), 3, PlainWords())
        for finding in Equivalence(e=5).run(series).breaches:
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
    with pytest.raises(SettingsError):
        Equivalence(**settings)  # type: ignore[arg-type]


def test_an_m_invariant_series_is_recognized() -> None:
    rows = rows_of(clinic(TABLE_1B, TABLE_3B).releases)
    assert invariant(rows, patterns_of(clinic(TABLE_1B, TABLE_3B).releases, rows))


def test_what_is_too_large_for_the_program_is_not_called_proven() -> None:
    rng = np.random.default_rng(1)
    truth = np.tile([0, 1], 150)
    releases = []
    for number in (1, 2):
        subjects = np.arange(300, dtype=np.int64)
        order = np.concatenate([rng.permutation(150) * 2, rng.permutation(150) * 2 + 1])
        classes = np.empty(300, dtype=np.int32)
        classes[order] = np.tile(np.arange(150), 2)
        codes, values = np.zeros((300, 1), dtype=np.int32), truth.astype(np.int32)
        members = Members(subjects, classes, codes, values)
        releases.append(Release(number, hulls(codes, classes, 150), classes, values, members))
    series = Observed(releases, (Domain("a", 0, 1),), 2, PlainWords())
    measures = Equivalence(e=2, exact=True).run(series).measures
    assert measures["lower_bound"] == 1.0
    assert measures["smallest_attack"] >= 1.0


def apart(pieces: list[Observed]) -> Observed:
    """Series side by side that share nobody, as fragments do: the classes of each release after one another."""
    releases = []
    for position in range(min(map(len, pieces))):
        parts = [piece.releases[position] for piece in pieces]
        members = [part.members for part in parts if part.members is not None]
        subjects = np.concatenate([m.subjects * len(pieces) + i for i, m in enumerate(members)])
        classes = np.concatenate([m.classes + i for i, m in enumerate(members)]).astype(np.int32)
        values = np.concatenate([m.values for m in members])
        order = np.argsort(subjects)
        codes = np.zeros((len(subjects), 1), dtype=np.int32)
        everybody = Members(subjects[order], classes[order], codes, values[order])
        boxes = hulls(codes, classes, len(pieces))
        releases.append(Release(position + 1, boxes, everybody.classes, everybody.values, everybody))
    return Observed(releases, (Domain("a", 0, 1),), 2, PlainWords())


def test_the_bound_holds_for_every_attack_on_buckets_that_share_nobody() -> None:
    """Also for those that combine the buckets: the joint integer program finds nothing below the lower bound."""
    bounded, combined, tight = 0, 0, 0
    for seed in range(80):
        rng = np.random.default_rng([seed, 5])
        series = apart([buckets_over_time(rng, returns=seed % 3 == 0, sizes=3) for _ in range(2)])
        if not len(series):
            continue
        outcome = Equivalence(e=2).run(series)
        assert not any("no lower bound" in note for note in outcome.notes)
        (block,) = all_blocks(series)
        proof = smallest_attack(block, int(block.weight.sum()), 20.0)
        assert proof.proven
        if proof.way is None:
            assert "smallest_attack" not in outcome.measures
            continue
        assert outcome.measures["lower_bound"] <= proof.way.size, seed
        bounded += 1
        tight += outcome.measures["lower_bound"] == proof.way.size
        within = outcome.measures.get("smallest_attack")
        assert within is None or within >= proof.way.size
        combined += within is None or within > proof.way.size
        if outcome.measures.get("exact"):
            assert within == proof.way.size, seed
        exact = Equivalence(e=2, exact=True).run(series).measures
        assert exact["smallest_attack"] == proof.way.size, seed
    assert bounded > 40
    assert combined > 0, "no attack combined the buckets, so the bound across them was not tested"
    assert tight > 10


def test_a_series_in_fragments_is_proved(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.EEquivalence(m=3, e=3), seed=3, fragments=3) as series:
        for table in People(5).months(3, CHURN, first=400):
            series.publish(table.drop_columns(["note"]))
        outcome = series.audit(attacks=["equivalence"]).outcomes["equivalence"]
    assert not outcome.breaches
    assert outcome.measures["lower_bound"] >= 3
    assert not any("no lower bound" in note for note in outcome.notes)
