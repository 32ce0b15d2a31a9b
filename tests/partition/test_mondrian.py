"""Mondrian: equal to lists of rows on small tables, and right in itself on larger ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reissue.coding import MISSING_CODE
from reissue.model.boxes import contain, losses
from reissue.model.domain import Domain
from reissue.model.requirement import Requirement
from reissue.model.requirement_check import violations
from reissue.partition.cuts import measure, try_cut
from reissue.partition.mondrian import mondrian
from reissue.partition.tables import build_forest, copy_rows, cut_buffers, grow_tree
from tests.partition.tables import domains, ragged_tree, table
from tests.support.histories import toy_domains, uniform_tree
from tests.support.legal import assert_nodes
from tests.support.oracles import cover, mondrian_classes

REQUIREMENTS = [
    Requirement(k=2),
    Requirement(k=3, c=0.5),
    Requirement(k=2, l=2, diversity="entropy"),
    Requirement(k=2, t=0.3),
    Requirement(k=2, l=2, diversity="recursive", recursive_c=2.0),
]


@pytest.mark.parametrize("share", [0.1, 0.4, 0.6])
def test_missing_numbers_lie_on_one_side_of_every_cut(share: float) -> None:
    """Their code is far below all others: a cut keeps them together with the lowest, whatever the median is."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        top = int(rng.integers(4, 40))
        numbers = np.where(rng.random(60) < share, MISSING_CODE, rng.integers(0, top + 1, 60))
        codes = np.stack([numbers, rng.integers(0, 4, 60)], axis=1).astype(np.int32)
        made = mondrian(
            codes,
            np.zeros(60, np.int32),
            (Domain("a", 0, top), Domain("b", 0, 3)),
            Requirement(k=4).limits(np.array([60])),
        )
        assert np.bincount(made.classes).min() >= 4
        for i, one in enumerate(made.boxes):  # cuts are cuts: no two boxes meet
            assert all((one[:, 0] > other[:, 1]).any() or (one[:, 1] < other[:, 0]).any() for other in made.boxes[:i])


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.sentence())
def test_the_kernel_cuts_as_lists_of_rows_would_be_cut(requirement: Requirement) -> None:
    rng = np.random.default_rng(5)
    cuts = 0
    for _ in range(120):
        made = domains(rng)
        codes, values = table(rng, made, int(rng.integers(1, 40)), int(rng.integers(1, 5)))
        limits = requirement.limits(np.bincount(values))
        partition = mondrian(codes, values, made, limits)
        expected = mondrian_classes(codes, values, made, requirement)
        classes = [np.flatnonzero(partition.classes == i).tolist() for i in range(len(partition.boxes))]
        assert classes == expected
        for box, rows in zip(partition.boxes.tolist(), expected, strict=True):
            hull = [cover(d, int(codes[rows, a].min()), int(codes[rows, a].max())) for a, d in enumerate(made)]
            assert [tuple(interval) for interval in box] == hull
        cuts += len(expected) - 1
    assert cuts > 50


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.sentence())
def test_the_kernel_cuts_at_round_numbers_as_lists_of_rows_would_be_cut(requirement: Requirement) -> None:
    rng, other = np.random.default_rng(5), 0
    for _ in range(60):
        made = (*domains(rng), Domain("wide", 0, int(rng.integers(20, 90))))
        codes, values = table(rng, made, int(rng.integers(1, 40)), int(rng.integers(1, 5)))
        favours, limits = rng.choice([1.0, 4.0], len(made)).tolist(), requirement.limits(np.bincount(values))
        partition = mondrian(codes, values, made, limits, favours=favours)
        classes = [np.flatnonzero(partition.classes == i).tolist() for i in range(len(partition.boxes))]
        assert classes == mondrian_classes(codes, values, made, requirement, favours)
        other += not np.array_equal(partition.classes, mondrian(codes, values, made, limits).classes)
    assert other > 10


def test_nearly_all_favoured_classes_lie_inside_round_ranges() -> None:
    rng = np.random.default_rng(6)
    made = (Domain("age", 18, 95), Domain("weight", -40, 160))
    codes = np.stack([rng.integers(18, 96, 3_000), rng.integers(-40, 161, 3_000)], axis=1).astype(np.int32)
    values, limits = np.zeros(3_000, dtype=np.int32), Requirement(k=5).limits(np.array([3_000]))
    assert [domain.step for domain in made] == [10, 20]
    inside = [
        [(own[:, a, 0] // domain.step == own[:, a, 1] // domain.step).mean() for a, domain in enumerate(made)]
        for own in (mondrian(codes, values, made, limits, favours=some).boxes for some in (None, [4.0, 4.0]))
    ]
    assert max(inside[0]) < 0.8
    assert min(inside[1]) > 0.95


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.sentence())
def test_every_row_is_in_one_class_inside_its_box_and_every_class_holds(requirement: Requirement) -> None:
    rng = np.random.default_rng(6)
    made = (*toy_domains(), Domain("ragged", 0, 6, ragged_tree()), Domain("income", 0, 500_000))
    codes, values = table(rng, made, 5000, 8)
    partition = mondrian(codes, values, made, requirement.limits(np.bincount(values)))
    assert np.array_equal(np.unique(partition.classes), np.arange(len(partition.boxes)))
    assert contain(partition.boxes, codes, partition.classes).all()
    assert violations(requirement, partition.classes, values, 8) == ()
    assert_nodes(partition.boxes, made)
    assert len(partition.boxes) > 100


def test_boxes_of_numbers_do_not_overlap() -> None:
    """Two classes never share a point of the space. (In hierarchies a rest may keep the label of its whole group.)"""
    rng = np.random.default_rng(7)
    made = tuple(Domain(str(a), 0, highest) for a, highest in enumerate((70, 1, 500_000)))
    codes, values = table(rng, made, 3000, 5)
    boxes = mondrian(codes, values, made, Requirement(k=5).limits(np.bincount(values))).boxes
    meets = (boxes[:, None, :, 0] <= boxes[None, :, :, 1]) & (boxes[None, :, :, 0] <= boxes[:, None, :, 1])
    assert np.array_equal(meets.all(axis=2), np.eye(len(boxes), dtype=bool))


def test_the_order_of_the_rows_changes_nothing() -> None:
    rng = np.random.default_rng(8)
    for requirement in REQUIREMENTS:
        made = toy_domains()
        codes, values = table(rng, made, 400, 4)
        limits = requirement.limits(np.bincount(values))
        first = mondrian(codes, values, made, limits)
        order = rng.permutation(len(values))
        second = mondrian(codes[order], values[order], made, limits)
        assert np.array_equal(first.boxes, second.boxes)
        assert np.array_equal(first.classes[order], second.classes)


def test_the_input_is_left_as_it_is() -> None:
    rng = np.random.default_rng(9)
    made = toy_domains()
    codes, values = table(rng, made, 300, 4)
    before = codes.copy(), values.copy()
    mondrian(codes, values, made, Requirement(k=3).limits(np.bincount(values)))
    assert np.array_equal(codes, before[0])
    assert np.array_equal(values, before[1])


def test_a_value_that_is_both_median_and_maximum_is_still_cut() -> None:
    """Most rows at the upper end: "up to the median" would be everything, so the median's rows go right."""
    codes = np.array([[1], [2], [9], [9], [9], [9]], dtype=np.int32)
    values = np.zeros(6, dtype=np.int32)
    partition = mondrian(codes, values, (Domain("x", 0, 9),), Requirement(k=2).limits(np.array([6])))
    assert partition.boxes[:, 0].tolist() == [[1, 2], [9, 9]]


def test_try_cut_keeps_the_rows_of_a_slice_together_even_when_it_is_not_legal() -> None:
    """What a search with further conditions builds on: a refused cut moves rows inside the slice at most."""
    rng = np.random.default_rng(10)
    made = toy_domains()
    for _ in range(100):
        codes, values = table(rng, made, 60, 3)
        limits = Requirement(k=4, c=0.6).limits(np.bincount(values, minlength=3))
        forest = build_forest(made)
        rows, scratch = copy_rows(codes, values), cut_buffers(forest, 3)
        for number in range(measure(rows, 10, 50, forest, 4, scratch)):
            parts = try_cut(rows, 10, 50, number, forest, limits, scratch)
            assert sorted(rows.ids[10:50].tolist()) == list(range(10, 50))
            assert np.array_equal(rows.codes, codes[rows.ids])
            assert np.array_equal(rows.values, values[rows.ids])
            if parts:
                assert scratch.ends[0] == 10
                assert scratch.ends[parts] == 50
                label = np.repeat(np.arange(parts), np.diff(scratch.ends[: parts + 1])).astype(np.int32)
                assert violations(Requirement(k=4, c=0.6), label, rows.values[10:50], 3) == ()


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_tiny_tables(rows: int) -> None:
    made = toy_domains()
    codes, values = np.zeros((rows, 3), dtype=np.int32), np.zeros(rows, dtype=np.int32)
    partition = mondrian(codes, values, made, Requirement(k=2).limits(np.array([rows])))
    assert len(partition.boxes) == min(rows, 1)
    assert partition.classes.tolist() == [0] * rows


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.sentence())
def test_equal_rows_cut_as_one_give_the_same_classes(requirement: Requirement, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(17)
    for rows in [*rng.integers(10, 90, 40).tolist(), 5000]:
        made = toy_domains()
        codes, values = table(rng, made, rows, 4)
        some = rng.integers(0, rng.integers(1, rows + 1), rows)
        codes, values = codes[some], values[some]
        limits = requirement.limits(np.bincount(values, minlength=4))
        alone = mondrian(codes, values, made, limits)
        monkeypatch.setattr("reissue.partition.mondrian.WORTH_MERGING", 0)
        monkeypatch.setattr("reissue.partition.mondrian.FEWEST_EQUAL", 0.0)
        merged = mondrian(codes, values, made, limits)
        monkeypatch.undo()
        assert np.array_equal(alone.classes, merged.classes)
        assert np.array_equal(alone.boxes, merged.boxes)


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.sentence())
def test_any_number_of_threads_gives_the_same_classes(
    requirement: Requirement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reissue.partition.mondrian.WORTH_THREADS", 10)
    rng = np.random.default_rng(7)
    for rows in [*rng.integers(10, 60, 40).tolist(), 5000, 20_000]:
        made = domains(rng)
        codes, values = table(rng, made, rows, 5)
        limits = requirement.limits(np.bincount(values))
        monkeypatch.setattr("reissue.partition.mondrian.processors", lambda: 1)
        alone = mondrian(codes, values, made, limits)
        for threads in (2, 3, 7):
            monkeypatch.setattr("reissue.partition.mondrian.processors", lambda threads=threads: threads)
            shared = mondrian(codes, values, made, limits)
            assert np.array_equal(shared.classes, alone.classes)
            assert np.array_equal(shared.boxes, alone.boxes)


def test_one_small_member_does_not_keep_the_others_together() -> None:
    """Of a flat hierarchy of seven, one member has one row: all but one of the others get labels of their own."""
    made = (Domain("ragged", 0, 6, ragged_tree()),)
    leaves = np.repeat(np.arange(7), [50, 50, 50, 50, 50, 50, 1]).astype(np.int32)
    values = np.zeros(len(leaves), dtype=np.int32)
    found = mondrian(leaves[:, None], values, made, Requirement(k=5).limits(np.bincount(values)))
    assert len(found.boxes) > 3
    assert np.bincount(found.classes).min() >= 5


def test_values_refuse_cuts_but_never_choose_them() -> None:
    """Exchanging values between people changes no class, as long as the same cuts stand."""
    rng = np.random.default_rng(12)
    made = toy_domains()
    codes, values = table(rng, made, 2000, 6)
    limits = Requirement(k=10).limits(np.bincount(values))
    assert np.array_equal(
        mondrian(codes, values, made, limits).classes, mondrian(codes, rng.permutation(values), made, limits).classes
    )


def test_a_heavy_attribute_keeps_more_of_its_detail() -> None:
    rng = np.random.default_rng(13)
    made = (Domain("age", 0, 70), Domain("income", 0, 500_000), Domain("place", 0, 11, uniform_tree(3, 2, 2)))
    codes, values = table(rng, made, 600, 6)
    limits = Requirement(k=10).limits(np.bincount(values))
    for a in range(len(made)):
        heavy = tuple(replace(domain, weight=5.0 if i == a else 1.0) for i, domain in enumerate(made))
        plain, weighed = (mondrian(codes, values, own, limits) for own in (made, heavy))
        lost = [losses(own.boxes, made)[own.classes, a].mean() for own in (plain, weighed)]
        assert lost[1] < lost[0]


def test_the_tree_of_cells_ends_where_mondrian_ends_and_every_cell_is_cut_from_the_one_around_it() -> None:
    rng, cells = np.random.default_rng(8), 0
    for _ in range(60):
        made = domains(rng)
        codes, values = table(rng, made, int(rng.integers(1, 60)), 2)
        least = int(rng.integers(1, 5))
        tree = grow_tree(codes, made, least)
        plain = mondrian(codes, values, made, Requirement(k=least).limits(np.bincount(values)))
        pairs = set(zip(tree.leaf.tolist(), plain.classes.tolist(), strict=True))
        assert len(pairs) == len({leaf for leaf, _ in pairs}) == len(plain.boxes)
        assert tree.parent[0] == -1
        assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()
        held = np.bincount(tree.leaf, minlength=len(tree.parent))
        for cell in range(len(tree.parent) - 1, 0, -1):
            assert held[cell] >= least
            held[tree.parent[cell]] += held[cell]
        assert held[0] == len(codes)
        cells += len(tree.parent)
    assert cells > 300
    alone = grow_tree(np.zeros((1, 2), dtype=np.int32), (Domain("a", 0, 3), Domain("b", 0, 3)), 2)
    assert (alone.parent.tolist(), alone.leaf.tolist()) == ([-1], [0])
    nobody = grow_tree(np.empty((0, 2), dtype=np.int32), (Domain("a", 0, 3), Domain("b", 0, 3)), 2)
    assert (len(nobody.parent), len(nobody.leaf)) == (1, 0)
