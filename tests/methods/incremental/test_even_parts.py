"""Parts whose classes show the same values equally often need no flow: equal to enumeration, and to the flows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from reissue.methods.incremental import difference, tracing_filter
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.sides import count_even
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.model.observed import Groups, Observed
from tests.methods.incremental.test_tracing import agrees
from tests.methods.incremental.tiny import series_of

CASES = 150


def even_cases(seed: int) -> Iterator[Observed]:
    """People with a few values in classes that show them equally often, once or twice; then dealt anew, some replaced.

    Now and then a class shows other values, or one more often.
    """
    rng = np.random.default_rng(seed)
    for _ in range(CASES):
        kinds, here, total = int(rng.integers(2, 4)), 9, 11
        values = {s: s % kinds for s in range(total)}
        if rng.random() < 0.2:
            values[int(rng.integers(total))] = int(rng.integers(kinds + 1))
        codes = {s: tuple(rng.integers(0, 4, 2).tolist()) for s in range(total)}
        yield series_of(
            codes,
            values,
            [deal_evenly(rng, start, here, kinds) for start in (0, int(rng.integers(0, total - here + 1)))],
        )


def deal_evenly(rng: np.random.Generator, start: int, many: int, kinds: int) -> list[list[int]]:
    """Classes of one or two people of every kind, as far as they go."""
    left = [
        rng.permutation([s for s in range(start, start + many) if s % kinds == kind]).tolist() for kind in range(kinds)
    ]
    classes = []
    while all(left):
        times = min(int(rng.integers(1, 3)), *map(len, left))
        classes.append(sorted(own.pop() for own in left for _ in range(times)))
    return classes


@pytest.mark.parametrize("seed", range(2))
def test_tracing_of_even_parts_equals_enumeration(seed: int) -> None:
    """Of classes with every value twice fewer people may fit a row than the class has rows, but one for every value."""
    rng = np.random.default_rng(seed)
    assert all(agrees(series, int(rng.integers(2, 5))) for series in even_cases(seed))


def test_even_parts_are_passed_over_and_nothing_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    attacks = [Difference(k=k, c=c, limit=1000) for k, c in ((2, 1 / 2), (2, 1 / 3), (3, 0.4), (2, 1))]
    attacks_on = [*attacks, *(RecordTracing(k=k, limit=1000) for k in (2, 3, 4))]
    passed: list[int] = []

    def counted(*given: object) -> np.ndarray:
        found = count_even(*given)  # type: ignore[arg-type]
        passed.append(int((found > 0).sum()))
        return found

    def even(*_: object) -> np.ndarray:
        return np.zeros(_[-1], dtype=np.int64)  # type: ignore[call-overload]

    for series in islice(even_cases(7), 40):
        monkeypatch.setattr(tracing_filter, "count_even", counted)
        told = [attack.run(series) for attack in attacks_on]
        with monkeypatch.context() as without:
            without.setattr(difference, "count_even", even)
            without.setattr(tracing_filter, "count_even", even)
            for attack, one in zip(attacks_on, told, strict=True):
                whole = attack.run(series)
                assert (one.findings, one.total, one.measures, one.notes, one.unfinished) == (
                    *(whole.findings, whole.total, whole.measures, whole.notes),
                    whole.unfinished,
                )
                assert {n: ids.tolist() for n, ids in one.at_risk.items()} == {
                    n: ids.tolist() for n, ids in whole.at_risk.items()
                }
    assert sum(passed) > 50


def test_what_is_even() -> None:
    """Parts: the same values once and twice; other values; the same values unevenly; one class, and a class without
    rows."""
    older = Groups.from_sorted(
        np.array([0, 0, 1, 1, 2, 2, 3]), np.array([0, 1, 0, 1, 0, 1, 5], np.int32), np.array([1, 1, 1, 1, 1, 2, 3]), 5
    )
    newer = Groups.from_sorted(
        np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 2, 0, 1], np.int32), np.array([2, 2, 1, 1, 1, 1]), 3
    )
    found = count_even((older, np.array([0, 1, 2, 3, 3])), (newer, np.array([0, 1, 2])), 4)
    assert found.tolist() == [2, 0, 0, 1]
