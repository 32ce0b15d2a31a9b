"""Tracing leaves most of two releases out where it may: equal to enumeration, whether or not anybody changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from reissue.methods.incremental import tracing, tracing_filter, tracing_places
from reissue.methods.incremental.tracing import Traces
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.methods.incremental.tracing_filter import Laid
from reissue.methods.incremental.tracing_places import TracingLook, TracingPlaces
from reissue.model.box_index import Points, find_meeting
from reissue.model.observed import Members, Observed
from tests.methods.incremental.tiny import random_series, series_of, traced

CASES = 60
Codes = dict[int, tuple[int, ...]]
Values = dict[int, int]
Boxes = tuple[np.ndarray, np.ndarray]
Change = Callable[[np.random.Generator, Codes, Values], tuple[Codes, Values]]


def nothing(rng: np.random.Generator, codes: Codes, values: Values) -> tuple[Codes, Values]:
    return codes, values


def attributes(rng: np.random.Generator, codes: Codes, values: Values) -> tuple[Codes, Values]:
    """One or two people move."""
    moved = rng.choice(len(codes), int(rng.integers(1, 3)), replace=False).tolist()
    return codes | {s: tuple(rng.integers(0, 5, 2).tolist()) for s in moved}, values


def value(rng: np.random.Generator, codes: Codes, values: Values) -> tuple[Codes, Values]:
    """One person's value becomes another one's."""
    one, other = rng.choice(len(codes), 2, replace=False).tolist()
    return codes, values | {one: values[other]}


def everybody(rng: np.random.Generator, codes: Codes, values: Values) -> tuple[Codes, Values]:
    """All people of a corner move together, so that classes stay large and share many, but lie elsewhere."""
    return {s: (code[0] + 10 * (code[0] > 2), code[1]) for s, code in codes.items()}, values


def upwards(rng: np.random.Generator, codes: Codes, values: Values) -> tuple[Codes, Values]:
    """The same in the last attribute alone."""
    return {s: (code[0], code[1] + 10 * (code[1] > 2)) for s, code in codes.items()}, values


def cases(seed: int, change: Change) -> Iterator[tuple[Observed, int]]:
    """Two releases of the same people and a few more; in between, somebody may have changed."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < CASES:
        k = int(rng.integers(2, 4))
        series = random_series(rng, releases=2, k=k, c=Fraction(2, 3))
        if series is None:
            continue
        older, newer = series.releases
        assert newer.members is not None
        codes = dict(enumerate(map(tuple, newer.members.codes.tolist())))
        values = dict(enumerate(newer.members.values.tolist()))
        classes = [np.flatnonzero(newer.members.classes == n).tolist() for n in range(newer.class_count)]
        later = series_of(*change(rng, codes, values), [classes, classes]).releases[1]
        found += 1
        yield Observed([older, later], series.domains, 10, series.words), k


def agrees(series: Observed, k: int) -> bool:
    """Whether tracing says what enumeration says: that rows cannot be placed, or which are traced to whom."""
    older, newer = series.releases
    expected = traced(older, newer, k)
    outcome = RecordTracing(k=k, limit=10_000).run(series)
    if expected is None:
        return outcome.notes != () and outcome.total == 0
    told = {(int(str(f.value)[1:]), frozenset(int(who[1:]) for who in f.subjects)) for f in outcome.findings}
    return outcome.notes == () and told == expected and outcome.total == len(expected)


CHANGES = [nothing, attributes, value, everybody, upwards]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", range(2))
def test_tracing_equals_enumeration_whatever_changed(change: Change, seed: int) -> None:
    for series, k in cases(seed, change):
        assert agrees(series, k)


def test_nobody_is_traced_into_a_release_of_other_people() -> None:
    """Enumeration says so, too: every row may have gone."""
    for series, k in cases(3, nothing):
        older, newer = series.releases
        assert newer.members is not None
        others = replace(newer, members=replace(newer.members, subjects=newer.members.subjects + 1000))
        assert traced(older, others, k) == set()
        assert agrees(Observed([older, others], series.domains, 10, series.words), k)


@pytest.mark.parametrize("change", CHANGES)
def test_leaving_out_is_right_only_if_nobody_changed(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it done all the same, something would be missed: so the cases above do test that it is not."""
    monkeypatch.setattr(tracing_filter, "find_followed", lambda *args: (np.ones(len(args[4]), np.bool_), True))
    wrong = sum(not agrees(series, k) for series, k in cases(0, change))
    assert (wrong > 0) == (change is not nothing)


def loose_cases(seed: int) -> Iterator[tuple[Observed, int]]:
    """Classes that stay or are split, and new people: few are tied, while boxes meet anywhere."""
    rng = np.random.default_rng(seed)
    for _ in range(CASES):
        before, total = 9, 9 + int(rng.integers(0, 4))
        codes: Codes = {s: tuple(rng.integers(0, 4, 2).tolist()) for s in range(total)}
        values = dict(enumerate(rng.integers(0, 2, total).tolist()))
        label = rng.integers(0, 3, before)
        older = [np.flatnonzero(label == n).tolist() for n in range(3) if (label == n).any()]
        newer: list[list[int]] = []
        for members in older:
            half = rng.integers(0, 1 + (rng.random() < 0.5), len(members))
            parts = ([s for s, side in zip(members, half, strict=True) if side == n] for n in range(2))
            newer += [part for part in parts if part]
        for subject in range(before, total):
            newer[int(rng.integers(len(newer)))].append(subject)
        yield series_of(codes, values, [older, newer]), int(rng.integers(2, 4))


def test_a_part_proves_that_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part may be as large as the whole here, since tiny series have few classes: each step occurs and is right."""
    steps = {"tied": 0, "around": 0, "no proof": 0}
    quiet, around, many = tracing._quiet, tracing._around, []

    def looked(*args: object) -> bool:
        many.clear()
        proved = quiet(*args)  # type: ignore[arg-type]
        steps["no proof" if not proved else "around" if many else "tied"] += 1
        return proved

    monkeypatch.setattr(tracing, "SMALL", 1)
    monkeypatch.setattr(tracing, "_quiet", looked)
    monkeypatch.setattr(tracing, "_around", lambda *args: many.append(1) or around(*args))
    for seed in range(2):
        assert all(agrees(series, k) for series, k in loose_cases(seed))
    assert min(steps.values()) > 4, steps


@pytest.mark.parametrize("drawn", [0, 1, 2])
def test_few_places_tell_as_much_as_all(drawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What else is needed is found, or all are taken; traces, rows and boxes are those along all pairs."""
    steps, widen, needed = Counter[str](), TracingPlaces.widen, tracing._trace_where_needed

    def widened(places: TracingPlaces, laid: Laid, look: TracingLook) -> TracingPlaces | None:
        more = widen(places, laid, look)
        steps["all" if more is None else "enough" if more is places else "more"] += 1
        steps["fewer than all"] += more is places and len(find_meeting(*places.boxes)[0]) > len(places.pairs[0])
        return more

    def compared(laid: Laid, boxes: Boxes, people: Points, k: int) -> Traces:
        told, every = needed(laid, boxes, people, k), tracing._trace_pairs(laid, boxes, find_meeting(*boxes), people, k)
        for name, of in vars(every).items():
            assert np.array_equal(getattr(told, name), of), name
        return told

    monkeypatch.setattr(tracing_places, "DRAWN", drawn)
    monkeypatch.setattr(tracing_places, "TRIED", 6 * drawn)
    monkeypatch.setattr(tracing_places, "FEW", 0)
    monkeypatch.setattr(tracing, "_quiet", lambda *_: False)
    monkeypatch.setattr(Laid, "quiet", False)
    monkeypatch.setattr(tracing, "_trace_where_needed", compared)
    monkeypatch.setattr(TracingPlaces, "widen", widened)
    for series, k in (*turning_cases(drawn), *cases(drawn, nothing), *leaving_cases(drawn), *loose_cases(drawn)):
        RecordTracing(k=k).run(series)
    assert min(steps["more"], steps["enough"], steps["fewer than all"]) > 20, steps


def test_a_value_that_two_people_exchange_within_a_class_changes_no_row() -> None:
    codes, classes = {0: (0, 0), 1: (1, 0), 2: (3, 0), 3: (4, 0)}, [[[0, 1], [2, 3]]] * 2
    before, after = (series_of(codes, {0: one, 1: 1 - one, 2: 0, 3: 1}, classes) for one in (0, 1))
    assert agrees(Observed([before.releases[0], after.releases[1]], before.domains, 2, before.words), 2)


@pytest.mark.parametrize("seed", range(2))
def test_values_of_people_that_no_row_of_theirs_shows_mislead_nobody(seed: int) -> None:
    """Snapshots may not fit the releases of another tool: rows are then placed as boxes and rows allow."""
    rng = np.random.default_rng(seed)
    for series, k in cases(seed, nothing):
        older = series.releases[0]
        assert older.members is not None
        values = older.members.values.copy()
        values[rng.choice(len(values), 2, replace=False)] = rng.integers(0, 7, 2)
        series.releases[0] = replace(older, members=replace(older.members, values=values))  # type: ignore[index]
        assert agrees(series, k)


def leaving_cases(seed: int) -> Iterator[tuple[Observed, int]]:
    """Some people leave, and in every other series some older rows are nobody's."""
    rng = np.random.default_rng(seed)
    for n in range(CASES):
        total, k = 11, int(rng.integers(2, 4))
        codes: Codes = {s: tuple(rng.integers(0, 4, 2).tolist()) for s in range(total)}
        values = dict(enumerate(rng.integers(0, 3, total).tolist()))
        halves = [rng.integers(0, parts, total) for parts in (3, 3)]
        leave = rng.choice(9, int(rng.integers(1, 4)), replace=False)
        present = [np.arange(9), np.setdiff1d(np.arange(total), leave)]
        releases = [
            [[int(s) for s in here if label[s] == part] for part in range(3)]
            for here, label in zip(present, halves, strict=True)
        ]
        series = series_of(codes, values, [[part for part in parts if part] for parts in releases])
        if n % 2:
            older = series.releases[0]
            known = older.members
            assert known is not None
            nobody = np.isin(known.subjects, rng.choice(9, 2, replace=False))
            kept = [of[~nobody] for of in (known.subjects, known.classes, known.codes, known.values)]
            series.releases[0] = replace(older, members=Members(*kept))  # type: ignore[index]
        yield series, k


def turning_cases(seed: int) -> Iterator[tuple[Observed, int]]:
    """Small classes of people who are near each other in one way or the other, dealt anew; some leave, others come."""
    rng = np.random.default_rng(seed)
    for _ in range(2 * CASES):
        stay, kinds = int(rng.integers(30, 90)), int(rng.integers(2, 6))
        leave, come = rng.integers(0, 4, 2).tolist()
        codes: Codes = {s: tuple(rng.integers(0, 9, 2).tolist()) for s in range(stay + come)}
        values = dict(enumerate(rng.integers(0, kinds, stay + come).tolist()))
        releases = []
        for here in (np.arange(stay), np.arange(leave, stay + come)):
            near, size = int(rng.integers(1, 13)), int(rng.integers(2, 6))
            key = [codes[s][0] // near + rng.random() * 2 for s in here.tolist()]
            line = here[np.argsort(key)]
            releases.append([part.tolist() for part in np.array_split(line, len(line) // size)])
        yield series_of(codes, values, releases), int(rng.integers(2, 8))


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_left_share_one_budget(seed: int) -> None:
    """Of a class as many rows are gone as people, whatever their values: equal to enumeration of all values at once."""
    assert all(agrees(series, k) for series, k in leaving_cases(seed))


def test_if_one_person_left_not_every_value_lost_a_row() -> None:
    """Two rows of v0 and two of v1; one person left. Three rows of the four are gone from the corner of release 2 only
    if two people left: so the row of v1 that is there must be old, and is that of one of the two people there."""
    codes, values = {0: (0,), 1: (9,), 2: (1,), 3: (8,)}, {0: 0, 1: 0, 2: 1, 3: 1}
    classes = [[[0, 1, 2, 3]], [[0, 2], [3]]]
    series = series_of(codes, values, classes, boxes=[[[(0, 9)]], [[(0, 1)], [(8, 8)]]])
    found = {(f.value, f.subjects) for f in RecordTracing(k=2).run(series).findings}
    assert found == {("v1", ("#3",))}
    assert agrees(series, 2)


def test_whoever_moves_accuses_nobody() -> None:
    """Subject 2 moved to the other class: to take its row for one that stayed would leave one place for each other."""
    before: Codes = {0: (0,), 1: (1,), 2: (1,), 3: (8,), 4: (9,), 5: (8,)}
    values = {0: 0, 1: 1, 2: 0, 3: 0, 4: 1, 5: 1}
    older = series_of(before, values, [[[0, 1, 2], [3, 4, 5]]])
    newer = series_of(before | {2: (9,)}, values, [[[0, 1], [2, 3, 4, 5]]] * 2)
    series = Observed([older.releases[0], newer.releases[1]], older.domains, 2, older.words)
    assert RecordTracing(k=2).run(series).findings == ()
    assert agrees(series, 3)


def test_every_link_knows_its_pair_or_that_the_boxes_do_not_meet() -> None:
    rng, apart = np.random.default_rng(5), 0
    for _ in range(40):
        lefts, rights = rng.integers(1, 7, 2).tolist()
        every = np.arange(lefts * rights)
        met, linked = every[rng.random(len(every)) < 0.6], every[rng.random(len(every)) < 0.5]
        overlap = SimpleNamespace(left=linked // rights, right=linked % rights)
        found = tracing._pair_of(overlap, met // rights, met % rights, rights)
        assert np.array_equal(found >= 0, np.isin(linked, met))
        assert np.array_equal(met[found[found >= 0]], linked[found >= 0])
        apart += int((found < 0).sum())
    assert apart > 20
