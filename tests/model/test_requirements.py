"""Every condition: kernel, independent check and the definition say the same; limits are exact."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.model.feasible import refuse_infeasible
from reissue.model.requirement import Requirement, classes_meet, tighten_limits
from reissue.model.requirement_check import violations
from reissue.model.requirement_kernels import meets, rows_to_wait
from tests.support.oracles import class_meets
from tests.support.refusals import names

REQUIREMENTS = [
    Requirement(k=3),
    Requirement(k=2, c=0.5),
    Requirement(k=1, c=1 / 3),
    Requirement(c=0.7),
    Requirement(k=2, c=0.9, known=1),
    Requirement(k=5, c=0.6, known=3),
    Requirement(l=3),
    Requirement(l=2.5, diversity="entropy"),
    Requirement(l=2, diversity="entropy"),
    Requirement(l=2, diversity="recursive", recursive_c=1.0),
    Requirement(l=3, diversity="recursive", recursive_c=2.5),
    Requirement(l=1, diversity="recursive", recursive_c=0.5),
    Requirement(t=0.2),
    Requirement(t=0.25, ordered=True),
    Requirement(beta=1.0),
    Requirement(beta=0.5),
    Requirement(beta=2.0, likeness="enhanced"),
    Requirement(k=2, c=0.75, l=2, t=0.4, beta=3.0),
]


def tables(rng: np.random.Generator, cases: int) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Random (classes, values, value_count), small enough that classes sit at the limits often."""
    made = []
    for _ in range(cases):
        rows, classes, kinds = int(rng.integers(1, 25)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
        made.append(
            (rng.integers(0, classes, rows).astype(np.int32), rng.integers(0, kinds, rows).astype(np.int32), kinds)
        )
    return made


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.sentence())
def test_kernel_and_check_agree_with_the_definition(requirement: Requirement) -> None:
    seen = set()
    for classes, values, kinds in tables(np.random.default_rng(1), 250):
        count = int(classes.max()) + 1
        limits = requirement.limits(np.bincount(values, minlength=kinds))
        expected = [
            class_meets(requirement, values[classes == i].tolist(), values.tolist(), kinds) for i in range(count)
        ]
        assert classes_meet(limits, classes, values, count).tolist() == expected
        present = [expected[i] for i in range(count) if (classes == i).any()]
        found = violations(requirement, classes, values, kinds)
        assert (found == ()) == all(present)
        for violation in found:
            assert not expected[violation.worst]
        seen.update(present)
    assert seen == {True, False}


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.sentence())
def test_rows_that_are_left_out_change_nothing_for_the_others(requirement: Requirement) -> None:
    rng, told = np.random.default_rng(3), 0
    for classes, values, kinds in tables(rng, 60):
        some = np.where(rng.random(len(classes)) < 0.3, np.int32(-1), classes).astype(np.int32)
        kept = some >= 0
        alone = violations(requirement, classes[kept], values[kept], kinds)
        assert violations(requirement, some, values, kinds) == alone
        told += bool(alone) and not kept.all()
        table = rng.dirichlet(np.ones(kinds))
        given = violations(requirement, classes[kept], values[kept], kinds, table)
        assert violations(requirement, some, values, kinds, table) == given
    assert told > 5
    assert violations(requirement, np.full(3, -1, np.int32), np.zeros(3, np.int32), 1) == ()


def test_distances_along_an_order_of_many_values_are_measured_piece_by_piece() -> None:
    """A million shares at a time: here those of two classes, then of two, then of the last."""
    kinds = 400_000
    values = np.array([0, 1, 399_999, 5, 200_000, 0, 399_999, 7, 300_000], dtype=np.int32)
    classes = np.array([0, 0, 1, 1, 2, 2, 3, 4, 4], dtype=np.int32)
    table = np.bincount(values, minlength=kinds) / len(values)
    expected = []
    for own in range(5):
        share = np.bincount(values[classes == own], minlength=kinds) / (classes == own).sum()
        expected.append(np.abs(np.cumsum(share - table)).sum() / (kinds - 1))
    for limit in (0.0, *(distance - 1e-6 for distance in expected)):
        [found] = violations(Requirement(t=max(limit, 1e-7), ordered=True), classes, values, kinds)
        assert (found.worst, found.measured) == (int(np.argmax(expected)), pytest.approx(max(expected)))
        assert found.classes == sum(distance > limit for distance in expected)


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.sentence())
def test_every_condition_survives_merging_classes(requirement: Requirement) -> None:
    for classes, values, kinds in tables(np.random.default_rng(2), 250):
        count = int(classes.max()) + 1
        limits = requirement.limits(np.bincount(values, minlength=kinds))
        holds = classes_meet(limits, classes, values, count)
        merged = np.where(classes <= 1, 0, classes).astype(np.int32)
        if holds[0] and count > 1 and holds[1]:
            assert classes_meet(limits, merged, values, count)[0]


@pytest.mark.parametrize(
    "requirement", [r for r in REQUIREMENTS if r.needs_table and not (r.ordered and r.beta)], ids=lambda r: r.sentence()
)
def test_what_meets_spared_limits_meets_them_in_every_table_on_the_way(requirement: Requirement) -> None:
    rng, met, stricter = np.random.default_rng(3), 0, 0
    for classes, values, kinds in tables(rng, 400):
        count = int(classes.max()) + 1
        limits = requirement.limits(np.bincount(values, minlength=kinds))
        gone = rng.random(len(values)) < 0.15
        now = np.bincount(values[~gone], minlength=kinds) / max(1, (~gone).sum())
        good = classes_meet(tighten_limits(limits, now), classes, values, count)
        met += int(good.sum())
        stricter += int((classes_meet(limits, classes, values, count) & ~good).sum())
        for share in (0.0, 0.5, 1.0, 1.9):
            drifted = limits.table + share * (now - limits.table)
            if (drifted >= 0).all():
                assert classes_meet(limits._replace(table=drifted), classes, values, count)[good].all()
    assert met > 20
    assert stricter > 0


@pytest.mark.parametrize("denominator", range(1, 12))
def test_a_share_at_the_limit_is_allowed_and_one_row_more_is_not(denominator: int) -> None:
    """c written as p/q in binary floating point, for classes of many sizes: count == c * size must pass."""
    for numerator in range(1, denominator + 1):
        for times in (1, 3, 7, 1000):
            size, count = denominator * times, numerator * times
            values = (np.arange(size) >= count).astype(np.int32) * np.arange(1, size + 1, dtype=np.int32)
            classes = np.zeros(size, dtype=np.int32)
            requirement = Requirement(c=numerator / denominator)
            limits = requirement.limits(np.bincount(values, minlength=size + 1))
            assert classes_meet(limits, classes, values, 1).all()
            assert violations(requirement, classes, values, size + 1) == ()
            if count < size:
                values[-1] = 0
                assert not classes_meet(limits, classes, values, 1).any()
                (found,) = violations(requirement, classes, values, size + 1)
                assert (found.condition, found.worst, found.value) == ("c", 0, 0)
                assert found.measured == pytest.approx((count + 1) / size)


def test_rows_of_other_classes_than_those_asked_for_are_ignored() -> None:
    values, classes = np.tile(np.arange(3, dtype=np.int32), 20_000), np.repeat(np.arange(20_000, dtype=np.int32), 3)
    limits = Requirement(l=3).limits(np.full(3, 20_000))
    for count in (1, 2, 19_999):
        assert classes_meet(limits, classes, values, count).tolist() == [True] * count


def test_violations_name_the_worst_class_and_how_many() -> None:
    classes = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, -1], dtype=np.int32)
    values = np.array([0, 1, 2, 3, 3, 1, 1, 1, 0, 3], dtype=np.int32)
    small, share = violations(Requirement(k=4, c=0.5), classes, values, 4)
    assert (small.condition, small.worst, small.measured, small.limit, small.classes) == ("k", 1, 2, 4, 2)
    assert (share.condition, share.worst, share.measured, share.value, share.classes) == ("c", 1, 1.0, 3, 2)
    assert share.limit == 0.5
    (few,) = violations(Requirement(l=3), classes, values, 4)
    assert (few.worst, few.measured, few.limit, few.classes) == (1, 1, 3, 2)


def test_published_examples_of_the_measures() -> None:
    """t: table 3 of Li et al. 2007: nine salaries 3K..11K; {3K,4K,5K} is at ordered distance 0.375 and {6K,8K,11K}
    at 0.167."""
    values = np.arange(9, dtype=np.int32)
    classes = np.full(9, 2, dtype=np.int32)
    classes[[0, 1, 2]], classes[[3, 5, 8]] = 0, 1
    for t, holds in ((0.375, [True, True]), (0.374, [False, True]), (0.166, [False, False])):
        limits = Requirement(t=t, ordered=True).limits(np.ones(9, dtype=np.int64))
        assert classes_meet(limits, classes, values, 2).tolist() == holds


@pytest.mark.parametrize(
    ("requirement", "counts", "message"),
    [
        (Requirement(k=10), [3, 4], "only 7 rows. Lower k to 7"),
        (Requirement(k=2), [0, 0], "only 0 rows"),
        (
            Requirement(c=0.5),
            [0, 31, 20],
            "{value:1} is 60.8% of the 51 rows (31 of them). The smallest feasible c is 0.6079",
        ),
        (Requirement(l=4), [1, 5, 5, 0], "only 3 different values. The largest feasible l is 3"),
        (Requirement(l=3, diversity="entropy"), [8, 1, 1], "The largest feasible l is 1.89"),
        (Requirement(l=2, diversity="recursive", recursive_c=2), [8, 3, 1], "{value:0} has 8 of the 12 rows"),
    ],
)
def test_an_infeasible_policy_names_the_nearest_feasible(
    requirement: Requirement, counts: list[int], message: str
) -> None:
    with pytest.raises(InfeasiblePolicy) as refused:
        refuse_infeasible(requirement, np.array(counts, dtype=np.int64))
    assert message in str(refused.value)


def test_refused_exactly_when_one_class_of_all_rows_fails() -> None:
    rng = np.random.default_rng(3)
    for requirement in REQUIREMENTS:
        for _, values, kinds in tables(rng, 100):
            counts = np.bincount(values, minlength=kinds).astype(np.int64)
            holds = class_meets(requirement, values.tolist(), values.tolist(), kinds)
            try:
                refuse_infeasible(requirement, counts)
            except InfeasiblePolicy:
                assert not holds
            else:
                assert holds


def test_advice_is_itself_feasible() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        counts = rng.integers(0, 50, 5).astype(np.int64) + 1
        with pytest.raises(InfeasiblePolicy) as refused:
            refuse_infeasible(Requirement(c=0.01), counts)
        advice = float(str(refused.value).split("smallest feasible c is ")[1].split(";")[0])
        refuse_infeasible(Requirement(c=advice), counts)


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 0},
        {"k": 2.5},
        {"k": "2"},
        {"k": None},
        {"k": True},
        {"c": 0.0},
        {"c": 1.5},
        {"l": 0},
        {"l": 2.5},
        {"l": 2, "diversity": "recursive"},
        {"recursive_c": 2.0, "diversity": "recursive"},
        {"l": 2, "recursive_c": 2.0},
        {"diversity": "many"},
        {"t": -0.1},
        {"t": 1.1},
        {"beta": 0.0},
        {"beta": 1.0, "likeness": "strong"},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        Requirement(**settings)  # type: ignore[arg-type]


def test_a_whole_float_is_a_whole_number() -> None:
    assert type(Requirement(k=2.0).k) is int  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "requirement",
    [
        Requirement(k=4),
        Requirement(k=2, beta=0.6),
        Requirement(k=2, beta=0.6, likeness="enhanced"),
        Requirement(k=2, t=0.2),
        Requirement(k=8, t=0.2, ordered=True),
        Requirement(k=3, t=0.3, beta=1.0),
    ],
    ids=lambda requirement: requirement.sentence(),
)
def test_no_class_meets_the_limits_before_it_has_the_rows_to_wait_for(requirement: Requirement) -> None:
    """All ways of adding so many rows less one, on tiny classes; and some classes must wait, or it proves nothing."""
    rng, waited = np.random.default_rng(3), 0
    for _ in range(60):
        table = rng.integers(1, 20, 3)
        limits = requirement.limits(table.astype(np.int64))
        counts = rng.integers(0, 6, 3)
        counts[rng.integers(0, 3)] += 1
        present = np.flatnonzero(counts).astype(np.int32)
        wait = rows_to_wait(counts, present, len(present), int(counts.sum()), limits)
        waited += wait > 0
        for more in range(min(wait, 9)):
            for first in range(more + 1):
                for second in range(more - first + 1):
                    later = counts + np.array([first, second, more - first - second])
                    there = np.flatnonzero(later).astype(np.int32)
                    assert not meets(later, there, len(there), int(later.sum()), limits)
    assert waited > 0
