"""Incognito: the minimal nodes of an exhaustive search, and boxes that nest level by level."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from reissue.arrays.types import Int32
from reissue.errors import SettingsError
from reissue.model.boxes import contain, losses
from reissue.model.domain import Domain
from reissue.model.requirement import Requirement, classes_meet
from reissue.model.requirement_check import violations
from reissue.partition import frequencies
from reissue.partition.frequencies import count, pack, roll_up
from reissue.partition.incognito import LatticeSearch, Metric, apply_levels, best, incognito
from reissue.partition.lattice import Node, build_ladder, climb, minimal, shape_of
from tests.partition.tables import domains, table
from tests.support.histories import toy_domains, uniform_tree

REQUIREMENTS = [
    Requirement(k=2),
    Requirement(k=2, c=0.6),
    Requirement(k=3, c=0.5),
    Requirement(k=2, l=2, diversity="entropy"),
    Requirement(k=2, l=2, diversity="recursive", recursive_c=2.0),
    Requirement(k=2, t=0.4),
    Requirement(k=1, beta=1.5),
]


def interval(domain: Domain, code: int, level: int, top: int) -> tuple[int, int]:
    """What a code is generalized to at a level, by definition."""
    if domain.tree is not None:
        node = int(domain.tree.at_level(level)[code])
        return int(domain.tree.lo[node]), int(domain.tree.hi[node])
    if level == top:
        return domain.lo, domain.hi
    low = code // 2**level * 2**level
    return low, low + 2**level - 1


def generalized(codes: Int32, made: tuple[Domain, ...], node: Node, tops: Node) -> list[tuple[tuple[int, int], ...]]:
    return [tuple(interval(d, row[a], node[a], tops[a]) for a, d in enumerate(made)) for row in codes.tolist()]


def test_levels_are_doubling_widths_anchored_at_zero_then_everything() -> None:
    ladder = build_ladder(Domain("age", 10, 79), np.array([79, 21, 23, 21, 52], dtype=np.int32))
    assert [boxes.tolist() for boxes in ladder.boxes[:3]] == [
        [[21, 21], [23, 23], [52, 52], [79, 79]],
        [[20, 21], [22, 23], [52, 53], [78, 79]],
        [[20, 23], [52, 55], [76, 79]],
    ]
    assert ladder.boxes[-1].tolist() == [[10, 79]]
    assert ladder.boxes[-2].tolist() == [[0, 63], [64, 127]]
    assert ladder.of(np.array([52, 21], dtype=np.int32), 2).tolist() == [1, 0]


def halved(runs: list[list[int]], lower: list[int], rows: list[int]) -> list[list[int]]:
    """Places by run, each run cut between two intervals of the lower level so that its halves differ least in rows."""
    found = []
    for run in runs:
        cuts = [place for place in run[1:] if lower[place] != lower[place - 1]]
        if not cuts:
            found.append(run)
            continue
        best = min(
            cuts, key=lambda cut: abs(sum(rows[p] for p in run if p < cut) - sum(rows[p] for p in run if p >= cut))
        )
        found += [[place for place in run if place < best], [place for place in run if place >= best]]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_halved_by_their_rows_from_one_level_to_the_next_where_ranges_are_shown(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = uniform_tree(int(rng.integers(2, 6)), int(rng.integers(1, 4)))
    domain = Domain("a", 0, tree.leaves - 1, tree, ranges=True)
    codes = rng.integers(0, tree.leaves, 60).astype(np.int32)
    codes = np.where(rng.random(60) < 0.5, codes[0], codes).astype(np.int32)
    plain, ladder = build_ladder(domain, codes), build_ladder(domain, codes, between=True)
    assert [boxes.tolist() for boxes in build_ladder(replace(domain, ranges=False), codes, between=True).boxes] == [
        boxes.tolist() for boxes in plain.boxes
    ]
    rows = [int((codes == code).sum()) for code in plain.codes]
    runs, expected = [list(range(len(rows)))], []
    for label in reversed(plain.labels):
        while len(runs) < len(set(label.tolist())):
            expected.append(runs)
            runs = halved(runs, label.tolist(), rows)
    expected.append(runs)
    sizes = [[sum(map(int, label == one)) for one in range(label.max() + 1)] for label in reversed(ladder.labels)]
    several = [level for at, level in enumerate(sizes) if at == 0 or level != sizes[at - 1]]
    assert several == [[len(run) for run in level] for level in expected]
    for level, (label, boxes) in enumerate(zip(ladder.labels, ladder.boxes, strict=True)):
        own = boxes[label]
        assert ((own[:, 0] <= ladder.codes) & (ladder.codes <= own[:, 1])).all()
        if level:
            below = ladder.boxes[level - 1][ladder.labels[level - 1]]
            assert ((own[:, 0] <= below[:, 0]) & (below[:, 1] <= own[:, 1])).all()


def test_codes_on_both_sides_of_zero_reach_the_top() -> None:
    ladder = build_ladder(Domain("celsius", -20, 35), np.array([-20, -1, 0, 35], dtype=np.int32))
    assert ladder.boxes[-2].tolist() == [[-64, -1], [0, 63]]
    assert ladder.boxes[-1].tolist() == [[-20, 35]]


def test_every_level_is_made_of_whole_intervals_of_the_level_below() -> None:
    rng = np.random.default_rng(11)
    for _ in range(200):
        (domain,) = domains(rng)[:1]
        codes = table(rng, (domain,), int(rng.integers(1, 30)), 2)[0][:, 0]
        ladder = build_ladder(domain, codes)
        assert len(ladder.boxes[-1]) == 1
        for low in range(ladder.height):
            up = ladder.up(low, low + 1)
            assert np.array_equal(up[ladder.labels[low]], ladder.labels[low + 1])
            assert (ladder.boxes[low + 1][up, 0] <= ladder.boxes[low][:, 0]).all() or domain.tree is None
        for level in range(ladder.height + 1):
            at = ladder.boxes[level][ladder.of(codes, level)]
            assert ((at[:, 0] <= codes) & (codes <= at[:, 1])).all()


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.sentence())
def test_satisfying_and_minimal_nodes_are_those_of_an_exhaustive_search(requirement: Requirement) -> None:
    rng = np.random.default_rng(12)
    inner = 0
    for _ in range(50):
        made = tuple(d for d in domains(rng) if d.name != "wide")
        if not made:
            continue
        codes, values = table(rng, made, int(rng.integers(3, 90)), int(rng.integers(1, 4)))
        limits = requirement.limits(np.bincount(values, minlength=4))
        search = LatticeSearch(codes, values, made, limits)
        satisfied = search.find_satisfied()
        for node in product(*map(range, shape_of(search.ladders))):
            names = generalized(codes, made, node, search.tops)
            distinct = sorted(set(names))
            classes = np.array([distinct.index(name) for name in names], dtype=np.int32)
            assert satisfied[node] == (violations(requirement, classes, values, 4) == ())
        lowest = minimal(satisfied)
        for node in np.argwhere(satisfied).tolist():
            below = [m for m in lowest if all(x <= y for x, y in zip(m, node, strict=True))]
            assert below
            assert (tuple(node) in lowest) == (below == [tuple(node)])
        inner += any(0 < sum(m) < sum(search.tops) for m in lowest)
    assert inner > 5


@pytest.mark.parametrize("requirement", REQUIREMENTS[:3], ids=lambda r: r.sentence())
def test_published_classes_hold_and_boxes_are_full_domain(requirement: Requirement) -> None:
    rng = np.random.default_rng(13)
    for _ in range(30):
        made = domains(rng)
        codes, values = table(rng, made, int(rng.integers(2, 200)), 4)
        limits = requirement.limits(np.bincount(values, minlength=4))
        if not classes_meet(limits, np.zeros(len(values), dtype=np.int32), values, 1).all():
            continue
        partition, node = incognito(codes, values, made, limits)
        assert np.array_equal(np.unique(partition.classes), np.arange(len(partition.boxes)))
        assert contain(partition.boxes, codes, partition.classes).all()
        assert violations(requirement, partition.classes, values, 4) == ()
        assert len(np.unique(partition.boxes.reshape(len(partition.boxes), -1), axis=0)) == len(partition.boxes)
        tops = tuple(build_ladder(d, codes[:, a]).height for a, d in enumerate(made))
        boxes = [tuple(map(tuple, box)) for box in partition.boxes[partition.classes].tolist()]
        assert boxes == generalized(codes, made, node, tops)


def measured(metric: Metric, codes: Int32, made: tuple[Domain, ...], search: LatticeSearch, node: Node) -> float:
    partition = apply_levels(search.ladders, codes, node)
    sizes = np.bincount(partition.classes)
    if metric == "loss":
        return float((losses(partition.boxes, made).sum(axis=1) * sizes).sum())
    if metric == "discernibility":
        return float((sizes**2).sum())
    return float(-len(sizes)) if metric == "classes" else float(sum(node))


@pytest.mark.parametrize("metric", ["loss", "discernibility", "classes", "height"])
def test_the_chosen_node_is_the_cheapest_of_all_that_satisfy(metric: Metric) -> None:
    rng = np.random.default_rng(14)
    for _ in range(25):
        made = domains(rng)
        codes, values = table(rng, made, 60, 3)
        search = LatticeSearch(codes, values, made, Requirement(k=3).limits(np.bincount(values)))
        satisfied = search.find_satisfied()
        chosen = best(search, minimal(satisfied), metric)
        costs = [measured(metric, codes, made, search, tuple(node)) for node in np.argwhere(satisfied).tolist()]
        assert measured(metric, codes, made, search, chosen) == pytest.approx(min(costs))


def test_the_order_of_the_rows_changes_nothing() -> None:
    rng = np.random.default_rng(15)
    made = toy_domains()
    codes, values = table(rng, made, 500, 4)
    limits = Requirement(k=5, c=0.6).limits(np.bincount(values))
    order = rng.permutation(len(values))
    first, node = incognito(codes, values, made, limits)
    second, again = incognito(codes[order], values[order], made, limits)
    assert node == again
    assert np.array_equal(first.boxes, second.boxes)
    assert np.array_equal(first.classes[order], second.classes)


def test_rolled_up_counts_are_those_counted_from_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along any path, by direct lookup, by hashing and where keys do not fit into 62 bits."""
    rng = np.random.default_rng(16)
    for case in range(90):
        if case == 60:
            monkeypatch.setattr(frequencies, "prod", lambda sizes: 1 << 62)
        made = domains(rng)
        codes, values = table(rng, made, 80, 3)
        limits = Requirement(k=2, c=0.9).limits(np.bincount(values, minlength=3))
        ladders = [build_ladder(d, codes[:, a]) for a, d in enumerate(made)]
        counts = count(codes, values, 3, ladders)
        node = [0] * len(made)
        for _ in range(3):
            node = [int(rng.integers(level, ladder.height + 1)) for level, ladder in zip(node, ladders, strict=True)]
            counts = roll_up(counts, tuple(node), ladders, limits)
            partition = apply_levels(ladders, codes, tuple(node))
            expected = sorted(zip(partition.classes.tolist(), values.tolist(), strict=True))
            key = pack(list(counts.labels), [ladder.size(level) for ladder, level in zip(ladders, node, strict=True)])
            rank = np.argsort(np.argsort(key))
            found = []
            for i in range(len(counts)):
                for group in range(counts.start[i], counts.start[i + 1]):
                    found += [(int(rank[i]), int(counts.values[group]))] * int(counts.counts[group])
            assert sorted(found) == expected
            holds = classes_meet(limits, partition.classes, values, len(partition.boxes)).all()
            assert counts.holds == holds
            assert roll_up(counts, tuple(node), ladders, limits, keep=False).holds == holds


def test_keys_too_large_for_62_bits_still_sort_like_the_columns() -> None:
    rng = np.random.default_rng(17)
    columns = [rng.integers(0, 3, 200).astype(np.int32) * 600_000_000 for _ in range(5)]
    key = pack(columns, [2_000_000_000] * 5)
    order = np.lexsort(columns[::-1])
    assert (np.diff(key[order]) >= 0).all()
    assert len(np.unique(key)) == len(np.unique(np.stack(columns), axis=1).T)


def test_small_memory_for_counts_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intermediate counts are made and dropped along the way; neither may change which nodes satisfy."""
    rng = np.random.default_rng(18)
    made = (*toy_domains(), Domain("flat", 0, 4, uniform_tree(5)))
    codes, values = table(rng, made, 400, 3)
    limits = Requirement(k=4, c=0.7).limits(np.bincount(values))
    expected = LatticeSearch(codes, values, made, limits).find_satisfied()
    monkeypatch.setattr("reissue.partition.incognito.SMALL", 0)
    assert np.array_equal(LatticeSearch(codes, values, made, limits).find_satisfied(), expected)
    monkeypatch.setattr("reissue.partition.incognito.ROOM", 0)
    assert np.array_equal(LatticeSearch(codes, values, made, limits).find_satisfied(), expected)


def test_climbing_finds_what_a_test_allows_and_asks_little() -> None:
    """Any upward-closed predicate, on candidates that are closed upwards themselves."""
    rng = np.random.default_rng(19)
    for _ in range(300):
        shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 5))))
        grid = np.indices(shape)

        def up_set(corners: int, shape: tuple[int, ...] = shape, grid: np.ndarray = grid) -> np.ndarray:
            made = np.zeros(shape, dtype=bool)
            for _ in range(corners):
                corner = [int(rng.integers(0, n)) for n in shape]
                made |= np.all([axis >= level for axis, level in zip(grid, corner, strict=True)], axis=0)
            return made

        candidates, truth = up_set(3), up_set(2)
        asked: list[Node] = []
        passed = climb(candidates, lambda node, t=truth, a=asked: a.append(node) or bool(t[node]))  # type: ignore[misc]
        assert np.array_equal(passed, candidates & truth)
        assert len(asked) == len(set(asked))
        assert all(candidates[node] for node in asked)


def test_a_lattice_too_large_is_refused_with_the_way_out() -> None:
    rng = np.random.default_rng(20)
    made = tuple(Domain(f"n{i}", 0, 1_000_000) for i in range(8))
    codes, values = table(rng, made, 50, 2)
    with pytest.raises(SettingsError, match="mondrian"):
        LatticeSearch(codes, values, made, Requirement(k=2).limits(np.bincount(values)))


def test_missing_values_are_no_neighbours_of_numbers() -> None:
    missing = -(2**30)
    ladder = build_ladder(Domain("age", 20, 49), np.array([missing, 20, 21, 30, 49, missing], dtype=np.int32))
    assert len(ladder.boxes) <= 7, "levels for the numbers, not for the way to the code of missing values"
    for boxes in ladder.boxes[:-1]:
        assert boxes[0].tolist() == [missing, missing]
        assert (boxes[1:, 0] >= 0).all()
    assert ladder.boxes[-1].tolist() == [[missing, 49]]


@pytest.mark.parametrize("requirement", [Requirement(k=4), Requirement(k=3, c=0.6), Requirement(k=3, l=2)])
def test_with_rows_to_spare_the_node_is_the_cheapest_that_leaves_out_no_more(requirement: Requirement) -> None:
    """Against every node: small classes are left out, whatever their values; all others must hold."""
    rng, used, values_mattered = np.random.default_rng(4), 0, 0
    for _ in range(150):
        made = domains(rng)
        codes, values = table(rng, made, int(rng.integers(12, 40)), 3)
        limits, spare = requirement.limits(np.bincount(values, minlength=3)), int(rng.integers(1, 8))
        if not requirement_holds(requirement, values):
            continue
        partition, node = incognito(codes, values, made, limits, spare=spare)
        search = LatticeSearch(codes, values, made, limits)
        fine = []
        for other in product(*(range(size) for size in shape_of(search.ladders))):
            classes = apply_levels(search.ladders, codes, other).classes
            sizes = np.bincount(classes)
            large = [values[classes == number] for number in np.flatnonzero(sizes >= requirement.k)]
            small = int(sizes[sizes < requirement.k].sum())
            if small <= spare and all(requirement_holds(requirement, one) for one in large):
                fine.append(other)
            else:
                values_mattered += small <= spare
        assert node == best(search, fine)
        out = partition.classes < 0
        sizes = np.bincount(apply_levels(search.ladders, codes, node).classes)
        assert int(out.sum()) == int(sizes[sizes < requirement.k].sum()) <= spare
        assert len(partition.boxes) == int(partition.classes.max()) + 1
        assert contain(partition.boxes, codes, partition.classes).all()
        used += bool(out.any())
    assert used > 30
    assert values_mattered > 20 or (requirement.c == 1.0 and requirement.l is None)


def requirement_holds(requirement: Requirement, values: Int32) -> bool:
    counts = np.bincount(values, minlength=3)
    enough = len(values) >= requirement.k and (requirement.l is None or (counts > 0).sum() >= requirement.l)
    return bool(enough and counts.max() <= requirement.c * len(values) + 1e-9)
