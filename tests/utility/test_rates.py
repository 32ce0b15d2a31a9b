"""Rates of values by two attributes: chosen, counted by hand, and read from the told form as its readers do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from reissue.errors import InputError
from reissue.methods.standing.strategy import Standing
from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, ObservedRelease
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History
from reissue.utility import Queries, choose_pair, estimate, find_pair, query_errors, random_queries, rate_errors
from reissue.utility.learned_shares import learn_shares
from reissue.utility.rates import CellMargins, _find_parts, _list_margins, _rake, are_narrow, list_labels
from tests.support.histories import uniform_tree
from tests.utility.support import random_snapshot, small_domains


def exact(snapshot: Coded) -> Facts:
    boxes = np.stack([snapshot.codes, snapshot.codes], axis=2).astype(np.int32)
    rows = np.arange(len(snapshot), dtype=np.int32)
    return Candidate(boxes, rows, Counterfeits.none(len(snapshot.domains)), ()).facts(1, snapshot)


def people(rows: int = 600) -> Coded:
    return random_snapshot(np.random.default_rng(3), rows, 3, small_domains(numeric=70))


def test_rates_of_an_exact_release_are_right() -> None:
    found = rate_errors(exact(people()), people())
    assert found.median == 0.0
    assert found.correlation == pytest.approx(1.0)
    assert found.counted.any()


def test_rates_are_those_counted_by_hand() -> None:
    snapshot = people()
    found = rate_errors(exact(snapshot), snapshot, (0, 2))
    for cell, actual in zip(found.cells, found.actual, strict=True):
        inside = np.ones(len(snapshot), dtype=np.bool_)
        for a, (low, high) in zip((0, 2), cell.tolist(), strict=True):
            inside &= (snapshot.codes[:, a] >= low) & (snapshot.codes[:, a] <= high)
        if inside.any():
            assert actual == pytest.approx(np.bincount(snapshot.values[inside], minlength=3) / inside.sum())
    assert np.array_equal(np.unique(found.cells[:, 0], axis=0)[0], [0, 9]), "numbers are divided at round ones"


def test_a_release_that_hides_everything_has_no_correlation_and_a_large_error() -> None:
    snapshot = people()
    skewed = Coded(
        snapshot.subjects, snapshot.codes, snapshot.codes[:, 2].copy(), snapshot.domains, snapshot.value_count
    )
    boxes = np.array([[[d.lo, d.hi] for d in snapshot.domains]], dtype=np.int32)
    one = Candidate(boxes, np.zeros(len(skewed), np.int32), Counterfeits.none(3), ()).facts(1, skewed)
    found = rate_errors(one, skewed)
    assert found.median > 0.3
    assert np.isnan(found.correlation) or found.correlation < 0.5


def test_the_pair_is_a_wide_number_and_a_narrow_attribute_or_what_the_config_says() -> None:
    domains = small_domains()
    assert choose_pair(domains) == (0, 2)
    assert choose_pair(domains[1:]) == (1, 0), "without numbers the two narrowest"
    assert choose_pair(domains[:1]) == (0,)
    assert find_pair("place x age", [domain.name for domain in domains]) == (1, 0)
    with pytest.raises(InputError, match=r"'ages'.*Did you mean 'age'\?"):
        find_pair("ages x sex", ["age", "sex"])
    with pytest.raises(InputError, match="different"):
        find_pair("sex x sex", ["age", "sex"])


def test_many_leaves_are_joined_to_the_groups_below_the_root() -> None:
    domains = (Domain("place", 0, 23, uniform_tree(4, 6)), Domain("sex", 0, 1, uniform_tree(2)))
    found = rate_errors(exact(random_snapshot(np.random.default_rng(0), 400, 2, domains)),
                        random_snapshot(np.random.default_rng(0), 400, 2, domains), (0, 1))  # fmt: skip
    assert len(found.cells) == 8


def test_a_told_release_is_read_by_the_values_it_tells_not_by_those_that_were_dealt() -> None:
    """Every row has its part of the values of its class: counted row by row here, through boxes there."""
    snapshot = random_snapshot(np.random.default_rng(5), 400, 5, small_domains(numeric=30))
    facts = Standing(form="told", k=5, c=0.5, l=2).publish(snapshot, History([], {}, 3)).facts(1, snapshot)
    kept = facts.standing
    assert kept is not None
    queries = random_queries(np.random.default_rng(1), snapshot.domains, 5, count=40, selectivity=0.2)
    shares = np.zeros((int(kept.standing.max()) + 1, 5))
    shares[kept.tokens.standing, kept.tokens.value] = kept.tokens.count
    shares /= shares.sum(axis=1, keepdims=True)
    box = facts.boxes[facts.classes]
    learned = learn_shares(box, kept.standing, shares)
    rows = np.zeros((len(box), 5))
    rows[learned.row, learned.value] = learned.weight
    assert not rows[shares[kept.standing] == 0].any()
    expected = []
    for q in range(len(queries)):
        part = np.ones(len(box))
        for a in range(box.shape[1]):
            both = np.minimum(box[:, a, 1], queries.high[q, a]) - np.maximum(box[:, a, 0], queries.low[q, a]) + 1
            part *= np.maximum(both, 0) / (box[:, a, 1] - box[:, a, 0] + 1)
        asked = slice(queries.value_low[q], queries.value_high[q] + 1)
        expected.append(float(part @ rows[:, asked].sum(axis=1)))
    for release in (facts, ObservedRelease.of(facts)):
        assert estimate(queries, release, snapshot.domains) == pytest.approx(expected)


def test_told_counts_are_nearer_to_the_truth_than_dealt_ones() -> None:
    snapshot = random_snapshot(np.random.default_rng(6), 3_000, 5, small_domains(numeric=30))
    told = Standing(form="told").publish(snapshot, History([], {}, 3)).facts(1, snapshot)
    flat = Standing().publish(snapshot, History([], {}, 3)).facts(1, snapshot)
    queries: Queries = random_queries(np.random.default_rng(1), snapshot.domains, 5, count=200, selectivity=0.05)
    assert query_errors(queries, told, snapshot).median < query_errors(queries, flat, snapshot).median


def mixed_classes(rng: np.random.Generator) -> tuple[ObservedRelease, Coded]:
    """600 classes of 8 people, of sexes in any mix; of one sex a fifth has the value, of the other seven tenths."""
    sex = (rng.random(4_800) < np.repeat(rng.random(600), 8)).astype(np.int32)
    values = (rng.random(4_800) < np.where(sex == 0, 0.2, 0.7)).astype(np.int32)
    codes, classes = np.asfortranarray(sex[:, None]), np.repeat(np.arange(600, dtype=np.int32), 8)
    boxes = np.tile(np.array([[[0, 1]]], dtype=np.int32), (600, 1, 1))
    snapshot = Coded(np.arange(4_800), codes, values, (Domain("sex", 0, 1),), 2)
    members = Members(snapshot.subjects, classes, codes, values)
    return ObservedRelease(1, boxes, classes, values, members, anatomized=True), snapshot


def test_all_classes_together_say_what_each_of_them_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    release, snapshot = mixed_classes(np.random.default_rng(1))
    found = rate_errors(release, snapshot, (0,))
    monkeypatch.setattr("reissue.utility.rates.ROUNDS", 0)
    plain = rate_errors(release, snapshot, (0,))
    assert plain.median > 0.2, "each class by itself draws the rates together"
    assert found.median < 0.5 * plain.median


def test_what_is_dealt_to_cells_keeps_the_margins_of_every_class() -> None:
    release, snapshot = mixed_classes(np.random.default_rng(2))
    cells = np.array([[[0, 0]], [[1, 1]]], dtype=np.int32)
    places, values = _list_margins(release, snapshot, (0,), cells, (False,))
    margins = CellMargins.of(release, snapshot, (0,), cells, (False,))
    counts = margins.deal(margins.deal(None).learn()).expected
    assert np.asarray(places.sum(axis=0)).tolist() == np.bincount(snapshot.codes[:, 0]).tolist()
    assert counts.sum(axis=1) == pytest.approx(np.bincount(snapshot.codes[:, 0]), rel=1e-3)
    assert counts.sum(axis=0) == pytest.approx(np.asarray(values.sum(axis=0)))


def test_somebody_is_at_each_end_of_a_range_that_is_as_narrow_as_its_rows() -> None:
    boxes = np.array([[[25, 44]], [[20, 29]], [[33, 33]], [[28, 31]], [[25, 44]]], dtype=np.int32)
    sizes = np.array([4, 5, 3, 2, 1])
    cells = np.array([[[20, 29]], [[30, 39]], [[40, 49]]], dtype=np.int32)
    narrow = _find_parts(boxes, sizes, (0,), cells, (True,)).toarray()
    assert narrow == pytest.approx(
        np.array([[0.375, 0.25, 0.375], [1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0.25, 0.5, 0.25]])
    )
    evenly = _find_parts(boxes, sizes, (0,), cells, (False,)).toarray()
    assert evenly[0].tolist() == [0.25, 0.5, 0.25]


def test_ranges_are_narrow_where_they_overlap() -> None:
    """Where a value has one label everywhere, the label is as wide as it is whoever has it."""
    domains = (Domain("age", 0, 99), Domain("place", 0, 23, uniform_tree(4, 6)))

    def look(*ages: tuple[int, int]) -> list[np.ndarray | None]:  # type: ignore[type-arg]
        boxes = np.array([[age, (0, 23)] for age in ages] + [[ages[0], (0, 5)]], dtype=np.int32)
        classes = np.arange(len(boxes), dtype=np.int32)
        return list_labels(ObservedRelease(1, boxes, classes, classes), domains, (0, 1))

    labels, places = look((0, 19), (20, 59), (60, 99))
    assert labels is not None
    assert labels.tolist() == [[0, 19], [20, 59], [60, 99]]
    assert not are_narrow([labels])
    assert not are_narrow([places]), "groups of a hierarchy hold each other, and are no ranges"
    assert look((0, 19), (15, 40))[0] is None
    assert are_narrow([look((0, 19), (15, 40))[0]])
    one, other = look((0, 19), (30, 40))[0], look((10, 25))[0]
    assert not are_narrow([one, one])
    assert are_narrow([one, other]), "parts that do not overlap by themselves"


def test_a_reader_who_knows_that_knows_how_many_people_a_cell_has() -> None:
    """Classes of any four people of the same quarter of ages."""
    rng = np.random.default_rng(3)
    age = np.sort(rng.integers(0, 100, 6_000)).astype(np.int32)
    age = age[np.argsort(np.arange(6_000) // 1_500 + rng.random(6_000))]
    classes = (np.arange(6_000) // 4).astype(np.int32)
    snapshot = Coded(np.arange(6_000), np.asfortranarray(age[:, None]), classes % 2, (Domain("age", 0, 99),), 2)
    boxes = bounding_boxes(snapshot.codes, classes, 1_500)
    facts = Candidate(boxes, classes, Counterfeits.none(1), ()).facts(1, snapshot)
    cells = np.array([[[low, low + 9]] for low in range(0, 100, 10)], dtype=np.int32)
    evenly, ends = (
        np.abs(
            CellMargins.of(facts, snapshot, (0,), cells, (narrow,)).deal(None).people - np.bincount(age // 10)
        ).mean()
        for narrow in (False, True)
    )
    assert ends < 0.2 * evenly


def test_values_are_adjusted_to_totals() -> None:
    shown = csr_array(np.array([[3.0, 1.0], [1.0, 3.0], [2.0, 2.0]]))
    raked = _rake(shown, np.array([4, 2, 4]), np.array([8, 2]))
    shares = raked.toarray() / raked.sum(axis=1)[:, None]
    assert shares.T @ np.array([4, 2, 4]) == pytest.approx([8, 2], rel=1e-3)
    odds = shares[:, 0] / shares[:, 1]
    assert odds / odds[2] == pytest.approx([3.0, 1 / 3, 1.0]), "classes differ as they did"


@pytest.mark.parametrize(
    ("labels", "overlap"),
    [
        ([[20, 30], [30, 40]], True),
        ([[20, 29], [30, 40]], False),
        ([[20, 40], [25, 30]], True),
        ([[20, 29], [20, 29]], False),
        ([[20, 29]], False),
    ],
)
def test_ranges_that_share_one_number_overlap(labels: list[list[int]], overlap: bool) -> None:
    boxes = np.array(labels, dtype=np.int32)
    assert are_narrow([boxes]) == overlap
    assert are_narrow([boxes[:1], boxes[1:]]) == overlap
