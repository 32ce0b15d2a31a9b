"""Cutting a table into fragments, and putting a release together from them."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays.sets import hash_numbers, permute_ids
from reissue.model import fragments
from reissue.model.boxes import contain
from reissue.model.domain import Domain
from reissue.model.fragments import (
    BY_IDENTIFIER,
    Fragments,
    divide,
    divide_by_identifier,
    draw_sample,
    find_owners,
    join_facts,
    number_globally,
)
from reissue.model.release import Facts
from reissue.model.requirement import Requirement
from tests.support.histories import uniform_tree

DOMAINS = (Domain("age", 0, 79), Domain("place", 0, 79), Domain("zip", 0, 39))


def table(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, 80, rows), rng.integers(0, 3, rows), rng.integers(0, 40, rows)], axis=1)
    return codes.astype(np.int32), rng.integers(0, 6, rows).astype(np.int32)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_fragments_are_even_and_cover_every_row_once(count: int) -> None:
    codes, values = table(20_000)
    tree = divide(codes, values, DOMAINS, count)
    sizes = np.bincount(tree.of(codes), minlength=count)
    assert tree.count == count == len(sizes)
    assert sizes.min() > 0.8 * len(codes) / count
    assert sizes.max() < 1.25 * len(codes) / count
    again = Fragments.from_dict(tree.to_dict())
    assert np.array_equal(again.of(codes), tree.of(codes))


def test_a_cut_avoids_what_tells_the_value() -> None:
    """Age decides the value, place says nothing of it: fragments are cut by place."""
    rng = np.random.default_rng(1)
    age, place = rng.integers(0, 80, 10_000), rng.integers(0, 80, 10_000)
    tree = divide(np.stack([age, place], axis=1).astype(np.int32), (age // 20).astype(np.int32), DOMAINS[:2], 4)
    assert set(tree.attribute[tree.attribute >= 0].tolist()) == {1}


def test_no_cut_makes_a_value_too_frequent() -> None:
    """Age decides the value: half of the ages have one value only, so that only hashes keep it below 0.3."""
    age = np.random.default_rng(1).integers(0, 80, 10_000).astype(np.int32)
    values = (age // 20).astype(np.int32)
    tree = divide(age[:, None], values, DOMAINS[:1], 4, Requirement(c=0.3))
    home = tree.of(age[:, None], hash_numbers(np.arange(10_000, dtype=np.uint64), 5))
    assert (tree.attribute == BY_IDENTIFIER).any()
    assert all(np.bincount(values[home == f]).max() < 0.3 * (home == f).sum() for f in range(4))
    assert not ((divide(age[:, None], values, DOMAINS[:1], 4)).attribute == BY_IDENTIFIER).any()


def test_a_cut_goes_between_groups_of_a_taxonomy() -> None:
    """Codes 0..11 in three groups of four: the even cut at 5|6 would tear a group, that at 3|4 or 7|8 does not."""
    rng = np.random.default_rng(2)
    place = rng.choice(12, 10_000, p=[0.12] * 4 + [0.01] * 4 + [0.12] * 4)
    tree = divide(
        place.astype(np.int32)[:, None],
        np.zeros(10_000, dtype=np.int32),
        (Domain("place", 0, 11, uniform_tree(3, 4)),),
        2,
    )
    assert tree.attribute[0] == 0
    assert tree.cut[0] in (3, 7)


def test_rows_that_are_all_alike_are_divided_by_identifier() -> None:
    codes, values = np.zeros((9_000, 3), dtype=np.int32), np.zeros(9_000, dtype=np.int32)
    tree = divide(codes, values, DOMAINS, 4)
    assert (tree.attribute == BY_IDENTIFIER).any()
    assert (tree.attribute[tree.attribute > -2] == BY_IDENTIFIER).all()
    sizes = np.bincount(tree.of(codes, hash_numbers(np.arange(9_000, dtype=np.uint64), 5)), minlength=4)
    assert sizes.min() > 2_000, "a cut below a cut sees both sides of the hashes"


def test_one_crowded_value_does_not_unbalance_the_rest() -> None:
    codes, values = table(10_000)
    codes[:7_000] = codes[0]
    tree = divide(codes, values, DOMAINS, 4)
    sizes = np.bincount(tree.of(codes, hash_numbers(np.arange(10_000, dtype=np.uint64), 5)), minlength=4)
    assert sizes.max() < 1.6 * 2_500


def test_cuts_follow_codes_that_shift() -> None:
    codes, values = table(5_000)
    tree = divide(codes, values, DOMAINS, 6)
    shifted = tree.recoded(lambda old: old + np.int32(7))
    assert np.array_equal(shifted.of(codes + np.int32(7)), tree.of(codes))
    assert not np.array_equal(tree.of(codes + np.int32(7)), tree.of(codes))


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000, 4097])
def test_scattered_is_a_permutation_that_the_seed_decides(count: int) -> None:
    numbers = np.arange(count)
    one = permute_ids(numbers, count, 7)
    assert np.array_equal(np.sort(one), numbers)
    assert np.array_equal(one[::-1], permute_ids(numbers[::-1], count, 7)), "each number by itself"
    if count >= 1000:
        assert (one != permute_ids(numbers, count, 8)).mean() > 0.9
        assert abs(np.corrcoef(numbers, one)[0, 1]) < 0.15, "it tells nothing of the order"


def test_owners_are_those_who_numbered() -> None:
    starts = np.array([0, 4, 4, 9, 9, 11])  # two releases of three fragments: sizes 4, 0, 5 and 0, 2, some
    assert find_owners(starts, 3, np.array([0, 3, 4, 8, 9, 10, 11, 99])).tolist() == [0, 0, 2, 2, 1, 1, 2, 2]


def test_counterfeits_of_fragments_stay_apart() -> None:
    own = np.array([-3, -2, -1, 0, 7])
    spread = [number_globally(own, fragment, 4) for fragment in range(4)]
    fakes = np.concatenate([part[:3] for part in spread])
    assert len(set(fakes.tolist())) == 12
    assert fakes.max() == -1
    assert all(part[3:].tolist() == [0, 7] for part in spread)


def test_the_sample_is_chosen_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "SAMPLE", 5_000)
    rows = np.arange(100_000)
    chosen = draw_sample(rows, len(rows), 3)
    assert 4_500 < chosen.sum() < 5_500
    assert np.array_equal(chosen[50_000:], draw_sample(rows[50_000:], len(rows), 3))
    assert draw_sample(rows[:10], 10, 3).all()


def part(subjects: list[int], classes: list[int], count: int, lineage: list[int]) -> Facts:
    n = len(subjects)
    codes = np.asfortranarray(np.array([[s % 50, c] for s, c in zip(subjects, classes, strict=True)], dtype=np.int32))
    boxes = np.arange(count * 4, dtype=np.int32).reshape(count, 2, 2) + 100 * lineage[0]
    extras = {"class_lineage": np.array(lineage), "e": np.array([2]), "own": np.array([lineage[0]])}
    return Facts(
        3, boxes, np.array(subjects), np.array(classes, dtype=np.int32), np.zeros(n, np.int32), codes, extras=extras
    )


def test_what_all_fragments_have_alike_is_of_the_whole_also_texts_and_what_is_no_number() -> None:
    parts = [part([4, 6], [0, 1], 2, [10, 11]), part([0, 5], [1, 0], 2, [20, 21])]
    alike = {"bound": np.array([0.5, np.nan]), "name": np.array(["zip", "age"]), "whole": np.array([3, 4])}
    for i, one in enumerate(parts):
        one.extras.update({name: array.copy() for name, array in alike.items()})  # type: ignore[attr-defined]
        one.extras["other"] = np.array([0.5, np.nan, i])  # type: ignore[index]
    whole = join_facts(parts, seed=9)
    assert all(np.array_equal(whole.extras[name], array, equal_nan=name == "bound") for name, array in alike.items())
    assert "other" not in whole.extras


def test_a_release_is_its_fragments_under_common_names() -> None:
    parts = [part([-1, 4, 6], [0, 1, 0], 2, [10, 11]), part([-2, 0, 5], [2, 0, 1], 3, [20, 21, 22])]
    whole = join_facts(parts, seed=9)
    assert whole.subjects.tolist() == [-4, -1, 0, 4, 5, 6]
    assert whole.class_count == 5
    assert sorted(whole.extras["class_lineage"].tolist()) == [10, 11, 20, 21, 22]
    assert whole.extras["e"].tolist() == [2]
    assert "own" not in whole.extras, "what fragments disagree on is not whole"
    for one in parts:
        for subject, old in zip(one.subjects.tolist(), one.classes.tolist(), strict=True):
            if subject < 0:
                continue
            row = int(np.flatnonzero(whole.subjects == subject)[0])
            new = whole.classes[row]
            assert np.array_equal(whole.boxes[new], one.boxes[old])
            assert whole.extras["class_lineage"][new] == one.extras["class_lineage"][old]
            assert whole.codes[row].tolist() == one.codes[one.subjects == subject][0].tolist()
    assert join_facts(parts[:1], seed=9) is parts[0]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_hashes_alone_make_even_fragments(count: int) -> None:
    codes, _ = table(20_000)
    tree = divide_by_identifier(count)
    assert tree.count == count
    home = tree.of(codes, np.random.default_rng(1).integers(0, 2**63, len(codes)).astype(np.uint64))
    sizes = np.bincount(home, minlength=count)
    assert sizes.min() > 0.9 * len(codes) / count
    assert np.array_equal(Fragments.from_dict(tree.to_dict()).attribute, tree.attribute)


def test_common_classes_keep_their_numbers_when_fragments_are_joined() -> None:
    boxes = np.array([[[0, 4]], [[5, 9]], [[10, 19]]], dtype=np.int32)

    def part(subjects: list[int], classes: list[int], values: list[int], codes: list[int]) -> Facts:
        columns = (np.array(column, dtype=np.int32) for column in (classes, values))
        return Facts(1, boxes, np.array(subjects), *columns, np.array(codes, dtype=np.int32)[:, None])  # type: ignore[call-arg]

    parts = [part([0, 3], [2, 0], [1, 0], [12, 1]), part([1, 2], [1, 2], [0, 1], [5, 19])]
    whole = join_facts(parts, seed=9, common=True)
    assert whole.subjects.tolist() == [0, 1, 2, 3]
    assert whole.classes.tolist() == [2, 1, 2, 0]
    assert whole.values.tolist() == [1, 0, 1, 0]
    assert whole.codes[:, 0].tolist() == [12, 5, 19, 1]
    assert np.array_equal(whole.boxes, boxes)


def test_a_long_table_is_divided_and_looked_into_like_its_parts() -> None:
    rng = np.random.default_rng(6)
    codes = np.asfortranarray(rng.integers(0, 50, (70_000, 2)).astype(np.int32))
    tree = divide(codes[:500], np.zeros(500, dtype=np.int32), (Domain("a", 0, 49), Domain("b", 0, 49)), 3)
    found = tree.of(codes)
    assert set(found.tolist()) == {0, 1, 2}
    assert np.array_equal(found, np.concatenate([tree.of(part) for part in np.array_split(codes, 7)]))
    boxes = np.array([[[0, 40], [0, 49]], [[10, 49], [5, 49]]], dtype=np.int32)
    classes = rng.integers(-1, 2, len(codes)).astype(np.int32)
    inside = [
        own < 0 or all(low <= code <= high for code, (low, high) in zip(row, boxes[own].tolist(), strict=True))
        for row, own in zip(codes.tolist(), classes.tolist(), strict=True)
    ]
    assert contain(boxes, codes, classes).tolist() == inside
