"""The second form of the three attacks: equal to enumeration, and what saves us from a fault in a shared kernel."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import reissue as ri
from reissue.methods.incremental import difference, second_check, second_tracing, tracing, tracing_filter
from reissue.methods.incremental.difference import DifferencePart
from reissue.methods.incremental.difference_flows import Frequent
from reissue.methods.incremental.tracing_filter import TracingPart
from reissue.methods.plain_release import PlainRelease
from reissue.model import overlap
from reissue.model.observed import GroupArrays, Members, Observed, ObservedRelease
from tests.methods.incremental.test_incremental_attacks import tiny_cases
from tests.methods.incremental.tiny import differences, intersections, traced, value_of
from tests.support.planted import Case, Fault, Insertions, assert_noticed


@pytest.mark.parametrize("seed", range(10))
def test_the_second_form_equals_enumeration(seed: int) -> None:
    for series, k, c in tiny_cases(400 + seed):
        releases = [PlainRelease(release, series.value_count) for release in series.releases]
        everybody = np.arange(len(releases[-1].subjects))
        assert (second_check._find_common_value(releases, everybody, c) is not None) == common_value(series, c)
        older, newer = releases[-2:]
        for i, j in ((-2, -1), (-1, -2)):
            starts = [*range(len(releases[i].boxes))]
            found = second_check._find_small_rest(releases[i], releases[j], starts, k, c)
            assert (found is not None) == small_rest(series.releases[i], series.releases[j], k, c)
        found = second_tracing.find_trace(older, newer, k, np.random.default_rng(0))
        assert (found is not None) == bool(traced(series.releases[-2], series.releases[-1], k))


@pytest.mark.parametrize("seed", range(3))
def test_who_makes_way_moves_on_and_nobody_is_lost_or_made(seed: int) -> None:
    """One more row of a left class: every right class keeps its rows, every other left class as many as it had."""
    longest = 0
    for series, k, _ in tiny_cases(600 + seed):
        older, newer = (PlainRelease(release, series.value_count) for release in series.releases[-2:])
        known = second_tracing._Known(older, newer, np.random.default_rng(0))
        for value in range(series.value_count):
            for left in known.lefts:
                for start in known.reach(left):
                    placing = second_tracing._Placing(known, value, k)
                    way = placing._find_way(left, start, set(), None)
                    if way is None:
                        continue
                    kept = {right: placing.flow[right].total() + placing.room[right] for right in placing.room}
                    sent = sum(placing.flow.values(), Counter[int]())
                    placing._take(left, way)
                    assert kept == {right: placing.flow[right].total() + placing.room[right] for right in placing.room}
                    assert all(rows >= 0 for flow in placing.flow.values() for rows in flow.values())
                    if all(right in placing.room for _, right in way):
                        assert sum(placing.flow.values(), Counter[int]()) == sent + Counter([left])
                        longest = max(longest, len(way))
    assert longest > 1


@pytest.mark.parametrize("starts", [[0], [0, 20], [0, 20, 39]])
def test_of_connected_classes_as_many_are_looked_at_for_each_start(starts: list[int]) -> None:
    """40 classes of two people, half of them in one class of the next release and half in another."""
    people = np.arange(80, dtype=np.int64)
    zeros = np.zeros(80, dtype=np.int32)

    def release(number: int, classes: np.ndarray) -> PlainRelease:  # type: ignore[type-arg]
        own = classes.astype(np.int32)
        members = Members(people, own, np.zeros((80, 1), dtype=np.int32), zeros)
        boxes = np.zeros((int(own.max()) + 1, 1, 2), dtype=np.int32)
        return PlainRelease(ObservedRelease(number, boxes, own, zeros, members), 1)

    touched = second_check._find_touched(release(1, people // 2), release(2, people // 40), starts)
    assert len(touched) == min(second_check.TOGETHER * len(starts), 40 if len(starts) > 1 else 20)
    assert set(starts) <= set(touched)
    assert all(rights == {own // 20} for own, rights in touched.items())


@pytest.mark.parametrize("seed", range(5))
def test_of_large_releases_some_classes_are_traced_and_all_where_there_are_no_more(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Counter[bool]()
    for series, k, _ in tiny_cases(500 + seed):
        older, newer = (PlainRelease(release, series.value_count) for release in series.releases[-2:])
        whole = second_tracing.find_trace(older, newer, k, np.random.default_rng(0))
        with monkeypatch.context() as large:
            large.setattr(second_tracing, "FEW", 0)
            large.setattr(second_tracing, "STARTS", (1, 7))
            known = second_tracing._Known(older, newer, np.random.default_rng(seed))
            found = second_tracing.find_trace(older, newer, k, np.random.default_rng(seed))
        some = min(len(older.boxes), 1 + len(older.subjects) // 7)
        assert len(set(known.lefts)) == some
        assert set(known.rights) == {right for left in known.lefts for right in newer.find_meeting(older.boxes[left])}
        every = some == len(older.boxes)
        looked[every] += 1
        assert (found is None) == (whole is None) if every else found is None or whole is not None
    assert min(looked[True], looked[False]) > 1


def common_value(series: Observed, c: Fraction) -> bool:
    return any(left and max(left.values()) > c * left.total() for left in intersections(series.releases).values())


def small_rest(left: ObservedRelease, right: ObservedRelease, k: int, c: Fraction) -> bool:
    value = value_of(right)
    counts = [Counter(value[subject] for subject in over) for _, over in differences(left, right) if over]
    return any(rest.total() < k or max(rest.values()) > c * rest.total() for rest in counts)


def test_the_tiny_series_have_something_to_find_and_something_to_pass() -> None:
    found = Counter[bool]()
    for seed in range(10):
        for series, k, c in tiny_cases(400 + seed):
            found[second_check.find_breach(series, k, float(c), seed) is not None] += 1
    assert min(found[True], found[False]) > 20


def test_beside_a_release_of_nobody_nothing_is_found() -> None:
    series, k, c = tiny_cases(400)[0]
    none = np.empty(0, dtype=np.int32)
    nobody = Members(np.empty(0, dtype=np.int64), none, np.empty((0, len(series.domains)), dtype=np.int32), none)
    empty = ObservedRelease(1, np.empty((0, len(series.domains), 2), dtype=np.int32), none, none, nobody)
    one = replace(series, releases=[empty, replace(series.releases[0], number=2)])
    assert second_check.find_breach(one, k, float(c), 1) is None


@pytest.mark.parametrize("module", [second_check, second_tracing])
def test_the_second_form_shares_no_code_with_the_attacks(module: object) -> None:
    own = {"arrays.types", "methods.plain_release", "methods.incremental.second_check", "model.observed"}
    own.add("methods.incremental.second_tracing")
    for node in ast.walk(ast.parse(Path(str(vars(module)["__file__"])).read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("reissue."):
            assert str(node.module).removeprefix("reissue.") in own


# Each fault is in a kernel by which the strategy plans and the attack measures.
def find_no_frequent_value(part: DifferencePart, *_: object, **__: object) -> Frequent:
    return Frequent([], 0, (0, 1), np.zeros(part.components, dtype=np.bool_))


def find_no_small_rest(_: object, k: int, *__: object) -> tuple[list[object], int, int]:
    return [], 0, k


def suspect_nobody(part: DifferencePart, *_: object) -> tuple[np.ndarray, float]:
    return np.zeros(part.components, dtype=np.bool_), 0.0


def keep_the_newer_values(
    _: GroupArrays, newer: GroupArrays, __: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """In place of the intersection of two multisets, the second of them."""
    start, value, count = newer
    sizes = start[right + 1] - start[right]
    entries = np.concatenate([np.arange(start[own], start[own + 1]) for own in right] or [np.empty(0, np.int64)])
    return np.concatenate([[0], np.cumsum(sizes)]), value[entries], count[entries]


def trace_nothing(*_: object) -> list[object]:
    return []


def call_everything_even(*given: object) -> np.ndarray:
    """Every part shows more values than any k asks for, equally often."""
    return np.full(int(str(given[-1])), 1_000)


def pass_everything(*_: object) -> bool:
    return False


FAULTS = {
    "the flow of the share of a value": Fault(difference, "too_frequent", find_no_frequent_value, "difference"),
    "the flow of the people left over": Fault(difference, "find_too_few", find_no_small_rest, "difference"),
    "the components without flows": Fault(difference, "_suspect", suspect_nobody, "difference"),
    "the running multiset": Fault(overlap, "_intersect", keep_the_newer_values, "intersection"),
    "the traces": Fault(tracing, "trace_rows", trace_nothing, "record tracing"),
    "the even parts of differences": Fault(difference, "count_even", call_everything_even, "difference"),
    "the even parts of traces": Fault(tracing_filter, "count_even", call_everything_even, "record tracing"),
    "the filter of the traces": Fault(TracingPart, "suspicious", pass_everything, "record tracing"),
}
CASES = {
    "the flow of the share of a value": Case(ri.CheckedIncognito(k=2, c=0.5), Insertions(1, 48, 24, 4, 11, 3)),
    "the flow of the people left over": Case(ri.CheckedIncognito(k=4, c=0.8), Insertions(4, 63, 38, 4, 8, 3)),
    "the components without flows": Case(ri.CheckedIncognito(k=2, c=0.8), Insertions(3, 68, 10, 2, 5, 3)),
    "the running multiset": Case(ri.CheckedMondrian(k=3, c=0.7), Insertions(14, 30, 34, 3, 6, 3)),
    "the traces": Case(ri.CheckedIncognito(k=3, c=0.8), Insertions(7, 76, 28, 4, 11, 3)),
    "the even parts of differences": Case(ri.CheckedIncognito(k=2, c=0.5), Insertions(1, 48, 24, 4, 11, 3)),
    "the even parts of traces": Case(ri.CheckedIncognito(k=3, c=0.7), Insertions(11, 28, 12, 4, 7, 3)),
    "the filter of the traces": Case(ri.CheckedIncognito(k=3, c=0.7), Insertions(11, 28, 12, 4, 7, 3)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_shared_kernel_is_noticed_and_nothing_is_committed(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_noticed(FAULTS[fault], CASES[fault], tmp_path, monkeypatch)
