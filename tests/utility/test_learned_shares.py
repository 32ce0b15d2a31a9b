"""Values shared out inside classes: rows and classes keep what they have, and dependence is learned, not made up."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.utility.learned_shares import RowShares, learn_shares, share_evenly

VALUES = 4


def make_people(rows: int, dependence: float, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(boxes of single codes, classes, values): the value follows the first attribute as often as `dependence` says.

    Classes are neighbours by the second attribute, which goes with the first: they have people of two codes or three.
    """
    rng = np.random.default_rng(seed)
    first = rng.integers(0, VALUES, rows)
    codes = np.stack([first, 12 * first + rng.integers(0, 25, rows)], axis=1).astype(np.int32)
    follows = rng.random(rows) < dependence
    values = np.where(follows, codes[:, 0], rng.integers(0, VALUES, rows))
    classes = np.empty(rows, dtype=np.int32)
    classes[np.argsort(codes[:, 1], kind="stable")] = np.arange(rows) // size
    return np.repeat(codes[:, :, None], 2, axis=2), classes, values


def tell(classes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """float64[classes, values]: the shares of each class."""
    table = np.zeros((int(classes.max()) + 1, VALUES))
    np.add.at(table, (classes, values), 1.0)
    return table / table.sum(axis=1, keepdims=True)


def spread(shares: RowShares, rows: int) -> np.ndarray:
    found = np.zeros((rows, VALUES))
    found[shares.row, shares.value] = shares.weight
    return found


def error(found: np.ndarray, codes: np.ndarray, values: np.ndarray) -> float:
    """By how many people counts by the first attribute and value are off, on average."""
    true = np.zeros((VALUES, VALUES))
    guess = np.zeros((VALUES, VALUES))
    np.add.at(true, (codes, values), 1.0)
    np.add.at(guess, codes, found)
    return float(np.abs(true - guess).mean())


@pytest.mark.parametrize("size", [4, 10, 40])
def test_every_row_is_one_person_and_every_class_has_its_values(size: int) -> None:
    boxes, classes, values = make_people(600, 0.6, size)
    table = tell(classes, values)
    found = spread(learn_shares(boxes, classes, table), 600)
    assert found.sum(axis=1) == pytest.approx(np.ones(600))
    by_class = np.zeros_like(table)
    np.add.at(by_class, classes, found)
    sizes = np.bincount(classes)[:, None]
    assert by_class == pytest.approx(table * sizes, abs=0.05)
    assert (found[table[classes] == 0] == 0).all()


@pytest.mark.parametrize("size", [8, 30])
def test_what_classes_tell_together_is_learned(size: int) -> None:
    boxes, classes, values = make_people(4_000, 0.6, size)
    table = tell(classes, values)
    even = error(spread(share_evenly(classes, table), 4_000), boxes[:, 0, 0], values)
    learned = error(spread(learn_shares(boxes, classes, table), 4_000), boxes[:, 0, 0], values)
    assert learned < 0.6 * even


def test_nothing_is_learned_where_nothing_is_to_be_learned() -> None:
    boxes, classes, values = make_people(4_000, 0.0, 8)
    table = tell(classes, values)
    even, learned = (share(boxes, classes, table) for share in (lambda _, *rest: share_evenly(*rest), learn_shares))
    off = [error(spread(one, 4_000), boxes[:, 0, 0], values) for one in (even, learned)]
    assert off[1] < 1.5 * off[0]
    assert np.abs(even.weight - learned.weight).mean() < 0.05


def test_one_class_says_nothing_about_its_rows() -> None:
    boxes, _, values = make_people(300, 0.9, 8)
    classes = np.zeros(300, dtype=np.int32)
    table = tell(classes, values)
    assert learn_shares(boxes, classes, table).weight == pytest.approx(share_evenly(classes, table).weight, abs=0.01)


def test_of_many_rows_some_classes_are_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels that none of these has say nothing about the others."""
    boxes, classes, values = make_people(4_000, 0.6, 8)
    boxes[:, 1] = 0
    boxes[classes == 1, 1] = 7
    table = tell(classes, values)
    whole = spread(learn_shares(boxes, classes, table), 4_000)
    monkeypatch.setattr("reissue.utility.learned_shares.MOST_ROWS", 2_000)
    some = spread(learn_shares(boxes, classes, table), 4_000)
    even = error(spread(share_evenly(classes, table), 4_000), boxes[:, 0, 0], values)
    assert error(some, boxes[:, 0, 0], values) < 0.7 * even
    alone = classes == 1
    assert some[alone] == pytest.approx(whole[alone], abs=0.3)


def test_orders_of_rows_and_numbers_of_classes_mean_nothing() -> None:
    boxes, classes, values = make_people(500, 0.5, 10)
    table = tell(classes, values)
    found = spread(learn_shares(boxes, classes, table), 500)
    rng = np.random.default_rng(1)
    order, name = rng.permutation(500), rng.permutation(len(table)).astype(np.int32)
    renamed = np.empty_like(table)
    renamed[name] = table
    again = spread(learn_shares(boxes[order], name[classes[order]], renamed), 500)
    assert again == pytest.approx(found[order])


def test_counts_of_asked_values() -> None:
    shares = share_evenly(np.array([0, 1, 0], dtype=np.int32), np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]))
    assert shares.row.tolist() == [0, 0, 1, 1, 2, 2]
    assert shares.value.tolist() == [0, 1, 1, 2, 0, 1]
    assert shares.count(np.array([False, True, True])).tolist() == [0.5, 1.0, 0.5]
    nobody = learn_shares(np.empty((0, 2, 2), dtype=np.int32), np.empty(0, dtype=np.int32), np.empty((0, 3)))
    assert len(nobody.count(np.array([True, True, True]))) == 0
