"""Dealing: every class has each value of its signature once, neighbours share it, and the seed decides who."""

from __future__ import annotations

from collections import Counter

import numpy as np

from reissue.methods.invariance.buckets import Demand, plan_buckets
from reissue.methods.invariance.dealing import REGION
from reissue.methods.invariance.signatures import Signatures
from reissue.methods.invariance.strategy import Cells, Dealt, MInvariance, make_counterfeits
from reissue.model.release import Coded, History
from tests.methods.invariance.test_assignment import DOMAINS, past, plan
from tests.methods.learning.townspeople import town


def test_every_class_has_each_value_of_its_signature_once() -> None:
    rng, sizes = np.random.default_rng(3), Counter[int]()
    for _ in range(200):
        made, snapshot, bucket = plan(rng)
        fakes = make_counterfeits(made, past(rng, 0), snapshot, bucket, exact=False, rng=rng)
        dealt = Cells.of(snapshot, bucket, 2).deal(made, fakes, rng)
        signature = np.concatenate([dealt.signature, fakes.signature])
        values = np.concatenate([snapshot.values, fakes.value])
        classes = np.concatenate([dealt.classes, dealt.fakes])
        assert (dealt.signature[bucket >= 0] == bucket[bucket >= 0]).all(), "a signature is for life"
        assert dealt.count == made.height.sum()
        for number in range(dealt.count):
            own = classes == number
            (one,) = set(signature[own].tolist())
            begin, end = made.signatures.start[one : one + 2]
            assert sorted(values[own].tolist()) == made.signatures.values[begin:end].tolist()
            sizes[one] += 1
        assert [sizes.pop(one, 0) for one in range(len(made.height))] == made.height.tolist()


def deal(codes: list[int], values: list[int], bucket: list[int], seed: int) -> Dealt:
    """Two signatures, {0, 1} and {0, 2}, on a line of 0..99."""
    signatures = Signatures(np.array([0, 2, 4]), np.array([0, 1, 0, 2], dtype=np.int32))
    places = np.array([[code, 0] for code in codes], dtype=np.int32).reshape(-1, 2)
    snapshot = Coded(np.arange(len(codes)), np.asfortranarray(places), np.array(values, dtype=np.int32), DOMAINS, 3)
    has = np.array(bucket, dtype=np.int32)
    old = has >= 0
    alive = np.bincount(signatures.entries(has[old], snapshot.values[old]), minlength=4)
    new = np.bincount(snapshot.values[~old], minlength=3)
    none, zero = np.zeros(4, dtype=np.int64), np.zeros(2, dtype=np.int64)
    made = plan_buckets(Demand(signatures, alive, new, new, none, zero, new[None]), 2, repair=False)
    rng = np.random.default_rng(seed)
    fakes = make_counterfeits(made, past(rng, 0), snapshot, has, exact=False, rng=rng)
    return Cells.of(snapshot, has, 2).deal(made, fakes, rng)


def test_newcomers_fill_what_their_neighbours_lack() -> None:
    """Two buckets at the two ends of the line, each lacking one value: the newcomers at each end fill it."""
    codes, values = [1, 2, 3, 91, 92, 93, 94, 4, 95, 5, 96, 6], [1, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0]
    bucket = [0, 0, 0, 1, 1, 1, -1, -1, -1, -1, -1, -1]
    for seed in range(5):
        assert deal(codes, values, bucket, seed).signature.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0]


def test_the_seed_decides_who_of_a_cell_shares_a_class_whoever_is_nearer() -> None:
    """Two people of value 1 and two of value 0 in one cell: both pairings are as likely, whatever they cost."""
    classes = [deal([10, 10, 90, 90], [0, 1, 0, 1], [0, 0, 0, 0], seed).classes for seed in range(400)]
    near = sum(int(one[0] == one[1]) for one in classes)
    assert all((one[0] == one[1]) == (one[2] == one[3]) for one in classes)
    assert 150 < near < 250


def test_cells_do_not_depend_on_values() -> None:
    table, rng = town(600), np.random.default_rng(1)
    nobody = np.full(len(table), -1, dtype=np.int32)
    other = Coded(table.subjects, table.codes, rng.permutation(table.values), table.domains, table.value_count)
    one, two = Cells.of(table, nobody, 3), Cells.of(other, nobody, 3)
    assert np.array_equal(one.tree.leaf, two.tree.leaf)
    assert np.array_equal(one.region, two.region)


def test_a_cell_is_parted_into_regions_where_it_has_newcomers_enough() -> None:
    table, bucket = town(6_000), np.full(6_000, -1, dtype=np.int32)
    bucket[::3] = 0
    cells = Cells.of(table, bucket, 2)
    count, parent = np.bincount(cells.tree.leaf[bucket < 0], minlength=len(cells.region)), cells.tree.parent
    for cell in range(len(parent) - 1, 0, -1):
        count[parent[cell]] += count[cell]
    for cell in range(1, len(parent)):
        if cells.region[parent[cell]] >= 0:
            assert cells.region[cell] == cells.region[parent[cell]]
        else:
            assert count[parent[cell]] >= 2 * REGION * 2 * 8
    largest = np.bincount(cells.homes[bucket < 0])
    assert len(largest) > 2
    assert largest.max() < 2 * REGION * 2 * 8


def test_neighbours_share_classes() -> None:
    """Sexes are cut apart first: nearly every class is of one sex, as hardly any would be by chance."""
    table = town(4_000)
    made = MInvariance(m=3).publish(table, History([], {}, 1))
    mixed = (made.boxes[:, 2, 0] != made.boxes[:, 2, 1]).mean()
    assert mixed < 0.1


def test_nobody_is_dealt_to_nobody() -> None:
    dealt = deal([], [], [], 0)
    assert (len(dealt.classes), dealt.count) == (0, 0)
