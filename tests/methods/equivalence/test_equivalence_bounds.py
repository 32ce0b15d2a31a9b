"""The smallest equivalence attack: the integer program against enumeration, the bounds of theorem 2 as properties."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import reissue as ri
from reissue.methods.equivalence.attack import Equivalence
from reissue.methods.equivalence.smallest_attack import (
    find_smallest_new_cut,
    find_whole_cut,
    solve_smallest_attack,
    try_attacks,
)
from reissue.model.observed import Observed
from tests.methods.equivalence.blocks import AMPLE, all_blocks, buckets_over_time, series_of, smallest_by_enumeration
from tests.support.divided import CHURN, SCHEMA, People


def test_integer_program_equals_enumeration_of_definition_10() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        (block,) = all_blocks(buckets_over_time(rng, returns=seed % 2 == 1, sizes=3))
        proof = solve_smallest_attack(block, int(block.weight.sum()), AMPLE)
        assert proof.proven
        assert (proof.way.size if proof.way else None) == smallest_by_enumeration(block), seed


def test_integer_program_on_classes_that_are_not_invariant() -> None:
    solved = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 8).astype(np.int32)
        releases = []
        for _ in range(2):
            subjects = np.flatnonzero(rng.random(8) < 0.8).astype(np.int64)
            releases.append((subjects, (np.arange(len(subjects)) % 2).astype(np.int32), truth[subjects]))
        (block,) = all_blocks(series_of(releases, 2), apart=False)
        proof = solve_smallest_attack(block, int(block.weight.sum()), AMPLE)
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
        attacks = try_attacks(block)
        if attacks:
            assert 2 * attacks[0].size >= find_whole_cut(block)
            tight += 2 * attacks[0].size == find_whole_cut(block)
    assert tight > 30  # the bound is reached often enough to mean something


def test_the_new_cuts_are_the_minimum_cut_of_the_final_graph() -> None:
    """Without returns, looking at each release when it was made finds the cut that theorem 2 takes of the whole."""
    for seed in range(300):
        (block,) = all_blocks(buckets_over_time(np.random.default_rng(seed), returns=False))
        assert find_smallest_new_cut(block) == find_whole_cut(block)


def test_the_bound_holds_when_people_come_back() -> None:
    for seed in range(60):
        (block,) = all_blocks(buckets_over_time(np.random.default_rng(seed), returns=True, sizes=3))
        cut, least = find_smallest_new_cut(block), smallest_by_enumeration(block, reach=3)
        if least is not None:
            assert cut is not None
            assert 2 * least >= cut, seed


def test_what_is_too_large_for_the_program_is_not_called_proven() -> None:
    rng = np.random.default_rng(1)
    truth = np.tile([0, 1], 150).astype(np.int32)
    releases = []
    for _ in range(2):
        order = np.concatenate([rng.permutation(150) * 2, rng.permutation(150) * 2 + 1])
        classes = np.empty(300, dtype=np.int32)
        classes[order] = np.tile(np.arange(150), 2)
        releases.append((np.arange(300, dtype=np.int64), classes, truth))
    measures = Equivalence(e=2, exact=True).run(series_of(releases, 2)).measures
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
        releases.append((subjects[order], classes[order], values[order]))
    return series_of(releases, 2)


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
        proof = solve_smallest_attack(block, int(block.weight.sum()), AMPLE)
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
        exact = Equivalence(e=2, exact=True, nodes=AMPLE).run(series).measures
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
