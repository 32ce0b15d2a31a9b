"""Which merged buckets a new release leaves undecided, from people who enter for the first time alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.core.ascending import seek
from reissue.core.domain import Bool, Int64
from reissue.core.equivalence import everyone, rows_of
from reissue.core.observed import Release


def undecided(releases: Sequence[Release], enough: int) -> list[tuple[int, ...]] | None:
    """The value sets of the changed buckets of the last release that at most `enough` first-timers entered.

    Every first-timer is an edge between the new snapshot and node 0, so more than `enough` of them make the new cut
    larger than that (see `lifespans`); nobody else need be looked at. None: the last two releases are not merged
    buckets with one set of values for everybody. O(rows log rows), and per older release a lookup of who is new.
    """
    last = [releases[i] for i in range(max(len(releases) - 2, 0), len(releases))]
    rows = rows_of(last)
    if not rows.merged.all():
        return None
    who, classes = everyone(last[-1])
    shows = rows.shows[rows.first[-2] + classes]
    if len(last) == 1:
        before, before_shows = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    else:
        before, before_classes = everyone(last[0])
        before_shows = rows.shows[before_classes]
    at, there = seek(before, who)
    if len(before) and not np.array_equal(before_shows[at[there]], shows[there]):
        return None
    first = _first_timers(releases, who, ~there)
    number = len(rows.sets)
    direct = np.bincount(shows[first], minlength=number)
    changed = np.zeros(number, dtype=np.bool_)
    changed[shows[~there]] = True
    changed[before_shows[~seek(who, before)[1]]] = True
    sets = rows.sets
    open_ = np.flatnonzero(changed & (direct <= enough))
    return [tuple(sets.values[sets.start[i] : sets.start[i + 1]].tolist()) for i in open_]


def _first_timers(releases: Sequence[Release], who: Int64, candidates: Bool) -> Bool:
    """bool[n]: candidates that are in none of the releases before the last two. Loads them one by one, newest first."""
    first = candidates.copy()
    for position in range(len(releases) - 3, -1, -1):
        open_ = np.flatnonzero(first)
        if len(open_) == 0:
            break
        first[open_[seek(everyone(releases[position])[0], who[open_])[1]]] = False
    return first
