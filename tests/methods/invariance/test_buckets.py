"""Balancing and assignment against brute force and against what they promise."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy
from reissue.methods.invariance.buckets import Demand, assign_sets, plan_buckets, plan_supply
from reissue.methods.invariance.signatures import Signatures


def eligible(rest: np.ndarray, m: int) -> bool:
    return int(rest.max(initial=0)) * m <= int(rest.sum())


def fewest_counterfeits(shortfall: np.ndarray, new: np.ndarray, m: int) -> int | None:
    """Every way to fill shortfalls with new rows: the fewest counterfeits that leave the rest m-eligible."""
    ways = product(*(range(min(n, d) + 1) for n, d in zip(new.tolist(), shortfall.tolist(), strict=True)))
    costs = [int(shortfall.sum()) - sum(way) for way in ways if eligible(new - np.array(way), m)]
    return min(costs, default=None)


def test_supply_uses_as_few_counterfeits_as_enumeration() -> None:
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(1500):
        m, values = int(rng.integers(2, 4)), int(rng.integers(1, 5))
        shortfall, new = rng.integers(0, 5, values), rng.integers(0, 6, values)
        best = fewest_counterfeits(shortfall, new, m)
        if best is None:
            refused += 1
            with pytest.raises(InfeasiblePolicy, match=r"cannot hold|largest feasible m"):
                plan_supply(shortfall, new, new, m, repair=False)
            continue
        use = plan_supply(shortfall, new, new, m, repair=False)
        assert int((shortfall - use.taken).sum()) == best
        assert eligible(new - use.taken, m)
        assert (use.taken <= np.minimum(new, shortfall)).all()
        assert not use.repair.any()
    assert 200 < refused < 1300  # both outcomes were exercised


def test_repair_adds_the_fewest_counterfeits_that_make_the_rest_eligible() -> None:
    rng = np.random.default_rng(6)
    for _ in range(120):
        values = 3
        shortfall, new = rng.integers(0, 3, values), rng.integers(0, 5, values)
        use = plan_supply(shortfall, new, new, 3, repair=True)
        total = int((shortfall - use.taken).sum() + use.repair.sum())
        best = min(
            cost + sum(added)
            for added in product(range(5), repeat=values)
            if (cost := fewest_counterfeits(shortfall, new + np.array(added), 3)) is not None
        )
        assert total == best
        assert eligible(new - use.taken + use.repair, 3)


def test_refusal_names_the_value_its_share_and_the_largest_feasible_m() -> None:
    new = np.array([31, 20, 20, 29])
    with pytest.raises(InfeasiblePolicy) as refusal:
        plan_supply(np.zeros(4, dtype=np.int64), new, new, 4, repair=False)
    message = str(refusal.value)
    assert "{value:0} is 31.0% of the 100 new rows" in message
    assert "at most 25.0%" in message
    assert "largest feasible m is 3" in message
    assert plan_supply(np.zeros(4, dtype=np.int64), new, new, 3, repair=False).taken.sum() == 0


def test_largest_feasible_m_in_a_refusal_is_exact() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        shortfall, new = rng.integers(0, 4, 5), rng.integers(0, 9, 5)
        feasible = [m for m in range(1, 8) if fewest_counterfeits(shortfall, new, m) is not None]
        if len(feasible) == 7:
            continue
        with pytest.raises(InfeasiblePolicy, match=f"largest feasible m is {max(feasible)}\\."):
            plan_supply(shortfall, new, new, max(feasible) + 1, repair=False)


def random_signatures(rng: np.random.Generator, number: int, values: int, m: int) -> Signatures:
    sets = {tuple(sorted(rng.choice(values, int(rng.integers(m, values + 1)), replace=False))) for _ in range(number)}
    chosen = sorted(sets)
    start = np.cumsum([0, *(len(s) for s in chosen)]).astype(np.int64)
    return Signatures(start, np.concatenate([np.array(s) for s in chosen]).astype(np.int32))


def test_assignment_places_every_eligible_row_once_in_sets_of_m_values() -> None:
    rng = np.random.default_rng(8)
    done = 0
    while done < 500:
        m, values = int(rng.integers(2, 5)), int(rng.integers(4, 8))
        rest = rng.integers(0, 30, values)
        if not eligible(rest, m):
            continue
        done += 1
        known = random_signatures(rng, 3, values, m)
        signatures, sets = assign_sets(known, rest, m, rng.integers(0, 9, len(known)))
        placed = np.bincount(signatures.values, weights=sets[signatures.owner], minlength=values)
        assert (placed == rest).all()
        assert (signatures.sizes >= m).all()
        assert np.array_equal(signatures.values[: len(known.values)], known.values)


def test_plans_are_balanced_and_use_every_new_row() -> None:
    rng = np.random.default_rng(9)
    for trial in range(500):
        m, values = 2, 5
        known = random_signatures(rng, 3, values, m)
        alive = rng.integers(0, 6, len(known.values))
        regions = rng.integers(0, 4, (int(rng.integers(1, 4)), values))
        new = regions.sum(axis=0)
        none, zero = np.zeros(len(known.values), dtype=np.int64), np.zeros(len(known), dtype=np.int64)
        demand = Demand(known, alive, new, new, none, zero, regions)
        made = plan_buckets(demand, m, repair=bool(trial % 2)) if trial % 2 or _feasible(known, alive, new, m) else None
        if made is None:
            continue
        assert (made.quota >= 0).all()
        assert (made.counterfeits >= 0).all()
        assert (np.bincount(made.signatures.values, weights=made.quota, minlength=values) == new).all()
        fewest = np.minimum.reduceat(made.counterfeits, made.signatures.start[:-1])
        assert (fewest == 0).all(), "a set of counterfeits only serves nobody"
        assert set(made.sets[:, 0].tolist()) <= set(range(len(regions)))


def test_each_region_plans_for_its_own_newcomers_where_they_are_eligible() -> None:
    """Two regions of different values: together they would mix; a third that is not eligible joins a neighbour."""
    regions = np.array([[5, 5, 0, 0], [0, 0, 5, 5], [0, 0, 0, 2], [1, 1, 1, 0]])
    new, none = regions.sum(axis=0), np.empty(0, dtype=np.int64)
    made = plan_buckets(Demand(Signatures.none(), none, new, new, none, none, regions), 2, repair=False)
    shown = [made.signatures.values[i:j].tolist() for i, j in pairwise(made.signatures.start.tolist())]
    of_region = [[(shown[s], n) for r, s, n in made.sets.tolist() if r == region] for region in range(4)]
    assert of_region[0] == [([0, 1], 5)]
    assert of_region[1] == [([2, 3], 5)]
    assert of_region[2] == of_region[3] != []
    assert sum(n * len(values) for region in (0, 1, 2) for values, n in of_region[region]) == new.sum()


def test_known_signatures_take_newcomers_in_proportion_to_their_buckets() -> None:
    """Three buckets want value 0; by size alone the first would take all nine."""
    known = Signatures(np.arange(0, 10, 2), np.array([0, 1, 0, 2, 0, 3, 4, 5], dtype=np.int32))
    _, sets = assign_sets(known, np.full(6, 9), 2, np.array([4, 2, 2, 40]))
    assert sets[:4].tolist() == [5, 2, 2, 9]
    assert assign_sets(known, np.full(6, 9), 2, np.zeros(4, dtype=np.int64))[1][:4].tolist() == [9, 0, 0, 9]


def _feasible(known: Signatures, alive: np.ndarray, new: np.ndarray, m: int) -> bool:
    gap = known.most(alive)[known.owner] - alive
    lacking = np.bincount(known.values, weights=gap, minlength=len(new)).astype(np.int64)
    return fewest_counterfeits(lacking, new, m) is not None


def scan_sets(
    known: Signatures, rest: np.ndarray, m: int, height: np.ndarray
) -> tuple[list[int], list[tuple[list[int], int]]]:
    """Phase 3 as one would write it down: every signature and every value is looked at in every step."""
    left = rest.tolist()
    members = [known.values[known.start[s] : known.start[s + 1]].tolist() for s in range(len(known))]

    def room(chosen: list[int]) -> int:
        outside = max((left[v] for v in range(len(left)) if v not in chosen), default=0)
        number = min(min(left[v] for v in chosen), (sum(left) - m * outside) // len(chosen))
        spare = len(chosen) - m
        return min(number, (sum(left) - m * max(left[v] for v in chosen)) // spare) if spare else number

    def take(chosen: list[int], number: int) -> None:
        for v in chosen:
            left[v] -= number

    sets = [0] * len(known)
    whole = int(known.sizes @ height)
    shares = [-(-int(one) * sum(left) // whole) for one in height] if whole else [0] * len(known)
    for limit in (shares, [sum(left)] * len(known)):
        while any(left):
            able = [min(max(room(own), 0), limit[s]) if len(own) >= m else 0 for s, own in enumerate(members)]
            best = int(np.argmax(able)) if able else 0
            if not able or able[best] == 0:
                break
            take(members[best], able[best])
            sets[best] += able[best]
            limit[best] -= able[best]
    new = []
    while any(left):
        order = sorted(range(len(left)), key=lambda v: (-left[v], v))
        size = next(b for b in range(m, len(left) + 1) if room(order[:b]) > 0)
        new.append((sorted(order[:size]), room(order[:size])))
        take(*new[-1])
    return sets, new


def test_assignment_is_that_of_looking_at_everything_in_every_step() -> None:
    rng = np.random.default_rng(12)
    done = 0
    while done < 400:
        m, values = int(rng.integers(2, 5)), int(rng.integers(4, 12))
        rest = rng.integers(0, int(rng.integers(2, 30)), values)
        if not eligible(rest, m):
            continue
        done += 1
        known = random_signatures(rng, int(rng.integers(1, 9)), values, m - int(rng.integers(0, 2)))
        height = rng.integers(0, 6, len(known))
        signatures, sets = assign_sets(known, rest, m, height)
        reused, new = scan_sets(known, rest, m, height)
        expected = {
            tuple(known.values[known.start[s] : known.start[s + 1]].tolist()): reused[s] for s in range(len(known))
        }
        for chosen, number in new:
            expected[tuple(chosen)] = expected.get(tuple(chosen), 0) + number
        found = {
            tuple(signatures.values[signatures.start[s] : signatures.start[s + 1]].tolist()): int(sets[s])
            for s in range(len(signatures))
        }
        assert found == expected
