"""Buckets that are decided without their history: against the cut of the whole history, and counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from reissue.methods.equivalence.newcomers import find_undecided
from reissue.methods.equivalence.smallest_attack import find_smallest_new_cut
from reissue.model.observed import Observed, ObservedRelease
from tests.methods.equivalence.blocks import all_blocks, buckets_over_time, series_of

SETS = [(0, 1)]


def presence(series: Observed) -> dict[int, list[bool]]:
    """Of everybody, whether they are in each release."""
    lists = [set(release.members.subjects.tolist()) for release in series.releases if release.members]
    return {who: [who in there for there in lists] for who in set().union(*lists)}


def paths(series: Observed) -> int:
    """Those who enter for the first time, and pairs of one who stays and one who leaves, by release of entry."""
    first, stay, leave = 0, [0] * len(series), [0] * len(series)
    for there in presence(series).values():
        stays = sum(now and not before for before, now in zip([False, *there], there, strict=False))
        if stays != 1:
            continue
        if not any(there[:-1]):
            first += 1
        elif there[-2]:
            (stay if there[-1] else leave)[there.index(True)] += 1
    return first + sum(map(min, stay, leave))


@pytest.mark.parametrize("returns", [False, True])
def test_a_bucket_is_decided_by_disjoint_paths_which_its_cut_exceeds(returns: bool) -> None:
    decided, large = 0, 0
    for seed in range(150):
        series = buckets_over_time(np.random.default_rng(seed), returns=returns)
        (block,) = all_blocks(series)
        cut, known = find_smallest_new_cut(block, only_last=True) or 0, paths(series)
        changed = any(there[-2] != there[-1] for there in presence(series).values())
        for enough in (0, 2, 4, 7) if changed else ():
            found = find_undecided(series.releases, enough)
            assert found == (SETS if known <= enough else []), seed
            assert found == SETS or cut > enough, seed
            decided, large = decided + (found == []), large + (cut > enough)
    assert decided > 0.8 * large > 80


def test_an_unchanged_bucket_is_decided() -> None:
    releases = buckets_over_time(np.random.default_rng(3), returns=True).releases
    again = replace(releases[-1], number=len(releases) + 1)
    assert find_undecided([*releases, again], 1_000) == []


@pytest.mark.parametrize("moves", [False, True])
def test_nothing_is_decided_where_somebody_shows_another_set_of_values_than_before(moves: bool) -> None:
    """Two buckets, {0, 1} and {2, 3}; newcomers join both. Who changes bucket is on no path."""
    who, values = np.arange(8), np.array([0, 1, 2, 3, 0, 1, 2, 3], dtype=np.int32)
    before = (who[:4], np.array([0, 0, 1, 1], dtype=np.int32), values[:4])
    if moves:  # 0 and 2 change places, with new values
        values[[0, 2]] = 2, 0
    after = (who, np.where(values < 2, 0, 1).astype(np.int32), values)
    found = find_undecided(series_of([before, after], 4).releases, 1)
    assert found is None if moves else found == []


def test_numbers_that_are_certainly_new_need_not_be_looked_for() -> None:
    for seed in range(80):
        releases = buckets_over_time(np.random.default_rng(seed), returns=True).releases
        first_new = max(int(one.members.subjects.max(initial=-1)) for one in releases[:-1] if one.members) + 1
        for enough in (0, 2, 5):
            assert find_undecided(releases, enough, first_new) == find_undecided(releases, enough)


class Lists(Sequence[ObservedRelease]):
    """Releases of which only the last two can be read; of the others only who is in them."""

    def __init__(self, releases: Sequence[ObservedRelease]) -> None:
        self._releases, self.asked = releases, 0

    def __len__(self) -> int:
        return len(self._releases)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        assert index >= len(self) - 2, "an older release was read"
        return self._releases[index]

    def subjects(self, position: int):  # type: ignore[no-untyped-def]
        self.asked += 1
        members = self._releases[position].members
        assert members is not None
        return members.subjects


def test_of_older_releases_only_the_lists_of_people_are_read_and_none_where_newcomers_decide() -> None:
    asked = []
    for seed in range(50):
        releases = buckets_over_time(np.random.default_rng(seed), returns=False).releases
        lists = Lists(releases)
        for enough in (0, 2, 6):
            assert find_undecided(lists, enough) == find_undecided(releases, enough)
        asked.append(lists.asked)
        first_new = max(int(one.members.subjects.max(initial=-1)) for one in releases[:-1] if one.members) + 1
        new = sum(releases[-1].members.subjects >= first_new) if releases[-1].members else 0
        fresh = Lists(releases)
        find_undecided(fresh, new - 1, first_new)
        assert fresh.asked == 0
    assert max(asked) == 6  # two older releases, three times
