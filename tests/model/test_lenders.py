"""Who lends counterfeits their columns: people who say the same, one of them for as many columns as possible."""

from __future__ import annotations

import numpy as np

from reissue.model.lenders import find_lenders


def test_lenders_say_the_same_and_one_lends_what_it_can() -> None:
    rng = np.random.default_rng(1)
    own, lent = rng.integers(0, 5, (300, 2)).astype(np.int32), rng.integers(0, 9, (300, 4)).astype(np.int32)
    said, says = own[:40].copy(), lent[:40].copy()
    says[:, 3] = np.where(np.arange(40) < 10, 99, lent[rng.integers(300, size=40), 3])  # ten say what nobody says
    wanted = rng.random((40, 4)) < 0.8
    found = find_lenders(own, lent, said, says, wanted, rng)
    there = found >= 0
    assert (there == (wanted & (says != 99))).all()
    of = np.where(there, np.take_along_axis(lent, np.maximum(found, 0), axis=0), says)
    assert (of == says).all()
    lenders = [len(set(row[row >= 0].tolist())) for row in found[:, :3]]
    assert np.mean(lenders) < 1.5 < np.mean(wanted[:, :3].sum(axis=1))  # somebody says all three of the first columns


def test_nobody_lends_to_nobody() -> None:
    none = np.empty((0, 2), dtype=np.int32)
    people = np.zeros((3, 2), dtype=np.int32)
    found = find_lenders(people, people, none, none, np.empty((0, 2), dtype=np.bool_), np.random.default_rng(0))
    assert found.shape == (0, 2)
