"""Parts of a series: closed under sharing people, balanced, nothing lost; names come back as they were."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.audit.spark.names import TokenWords, fill_in_all_words, fill_in_words
from reissue.audit.spark.regrouped import deal_parts, find_links
from reissue.model.observed import Observed, ObservedRelease
from tests.support.churning import churning
from tests.support.in_parts import split_series
from tests.support.words import PlainWords


def members(release: ObservedRelease) -> np.ndarray:
    assert release.members is not None
    return np.bincount(release.members.classes, minlength=release.class_count).astype(np.int64)


def everybody(release: ObservedRelease) -> list[tuple[int, int]]:
    some = [part for part in (release.members, release.counterfeits) if part is not None]
    return [(int(s), int(c)) for part in some for s, c in zip(part.subjects, part.classes, strict=True)]


def closed_sets(series: Observed) -> list[set[tuple[int, int]]]:
    """Components by brute force: merge the classes of each person until nothing changes."""
    sets = [{(i, c)} for i, release in enumerate(series.releases) for c in range(release.class_count)]
    where: dict[int, set[tuple[int, int]]] = {}
    for i, release in enumerate(series.releases):
        for subject, own in everybody(release):
            where.setdefault(subject, set()).add((i, own))
    for classes in where.values():
        touched = [one for one in sets if one & classes]
        sets = [one for one in sets if not one & classes] + [set().union(*touched)]
    return sets


@pytest.mark.parametrize("seed", range(300))
def test_parts_are_unions_of_components(seed: int) -> None:
    rng = np.random.default_rng(seed)
    series = churning(rng)
    wanted = closed_sets(series)
    people = [members(release) for release in series.releases]
    parts = int(rng.integers(1, 8))
    bins = deal_parts(find_links(series.releases), people, parts)
    where = [{int(bins[i][c]) for i, c in one} for one in wanted]
    assert all(len(numbers) == 1 for numbers in where), "a component was cut"
    weight = np.array([sum(int(people[i][c]) for i, c in one) for one in wanted])
    used = {number for numbers in where for number in numbers}
    assert used == set(range(max(1, min(parts, int((weight > 0).sum())))))
    load = np.zeros(len(used))
    for one, (number,) in zip(weight, where, strict=True):
        load[number] += one
    if weight.sum():
        assert load.min() > 0, "a part without members"
        # the largest first: no part is above another by more than one component
        assert load.max() - load.min() <= weight.max()


@pytest.mark.parametrize("seed", range(100))
def test_a_split_keeps_every_row_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    series = churning(rng)
    bins = deal_parts(find_links(series.releases), [members(release) for release in series.releases], 4)
    parts = split_series(series, bins)
    for i, release in enumerate(series.releases):
        pieces = [part.releases[i] for part in parts]
        rows = sorted((p.called(c), int(v)) for p in pieces for c, v in zip(p.classes, p.values, strict=True))
        assert rows == sorted(zip(release.classes.tolist(), release.values.tolist(), strict=True))
        people = sorted((s, p.called(c)) for p in pieces for s, c in everybody(p))
        assert people == sorted(everybody(release))
        assert sum(piece.class_count for piece in pieces) == release.class_count
        for piece in pieces:
            assert piece.members is not None
            assert piece.numbers is not None
            assert (np.diff(piece.members.subjects) > 0).all()
            assert (np.diff(piece.numbers) > 0).all(), "classes keep their order"
            assert (piece.boxes == release.boxes[piece.numbers]).all()


def test_a_link_may_be_repeated_any_number_of_times() -> None:
    first, third = np.zeros(512, dtype=np.int64), np.full(512, 2, dtype=np.int64)
    bins = deal_parts((first, third), [np.array([3, 1]), np.array([3])], 5)
    assert [part.tolist() for part in bins] == [[0, 1], [0]]


def test_a_series_of_nothing_is_one_part() -> None:
    empty = Observed([], (), 1, PlainWords())
    assert deal_parts(find_links([]), [], 3) == []
    assert len(split_series(empty, [])) == 1


def test_marks_are_replaced_once() -> None:
    words, marks = PlainWords(subjects={7: "{value:1}"}), TokenWords()
    box = np.array([[-1, 3], [0, 0]], dtype=np.int32)
    said = f"{marks.subject(7)} in {marks.box(box)} of {marks.release(2)} has {marks.value(0)}"
    assert fill_in_words(said, words) == "{value:1} in a0 -1-3, a1 0-0 of release 2 has v0"
    assert fill_in_all_words({"left": (marks.subject(1), 3), "by": {marks.value(2): [marks.value(3)]}}, words) == {
        "left": ("#1", 3),
        "by": {"v2": ["v3"]},
    }
