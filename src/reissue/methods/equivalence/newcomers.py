"""Which merged buckets a new release leaves undecided, judged by those who enter, stay and leave.

In the graph of a bucket's history (see `lifespans`) the new release must not be cut off from node 0 by few people.
Everybody who enters for the first time is an edge between the two; and somebody who stays and somebody who leaves, both
of whom entered with the same release, are a path over that release. All these are disjoint, so their number bounds the
cut from below, and only buckets with few of them need their whole history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.equivalence.person_matrix import ClassRows, list_everyone, list_subjects, number_classes
from reissue.model.observed import ObservedRelease


def find_undecided(
    releases: Sequence[ObservedRelease], enough: int, first_new: int | None = None
) -> list[tuple[int, ...]] | None:
    """The value sets of the buckets that the last release changes, and of which at most `enough` paths are known.

    first_new: as in `Observed`. None: the last two releases are not merged buckets with one set of values for
    everybody. O(rows log rows), and per older release a lookup of the people of buckets that are not yet decided.
    """
    last = [releases[i] for i in range(max(len(releases) - 2, 0), len(releases))]
    rows = number_classes(last)
    step = _make_step(last, rows) if rows.merged.all() else None
    if step is None:
        return None
    number = len(rows.sets)
    changed = np.bincount(step.shows[step.enters | step.leaves], minlength=number) > 0
    first = step.enters & (step.who >= first_new) if first_new is not None else np.zeros(len(step.who), dtype=np.bool_)
    paths = np.bincount(step.shows[first], minlength=number)
    open_ = changed & (paths <= enough)
    if open_.any():
        paths += _count_paths(step.only(open_[step.shows] & ~first), releases, number)
    sets = rows.sets
    still_open = np.flatnonzero(changed & (paths <= enough))
    return [tuple(sets.values[sets.start[i] : sets.start[i + 1]].tolist()) for i in still_open]


@dataclass(frozen=True, eq=False)
class _Step:
    """Some people (and counterfeits) of the last release or the one before it.

    who: int64[n] ascending; shows: int32[n] the set of values of their bucket
    enters, leaves: bool[n] not in the release before; not in the last release
    """

    who: Int64
    shows: Int32
    enters: Bool
    leaves: Bool

    def only(self, some: Bool) -> _Step:
        return _Step(self.who[some], self.shows[some], self.enters[some], self.leaves[some])


def _make_step(last: Sequence[ObservedRelease], rows: ClassRows) -> _Step | None:
    """Everybody in the last two releases (or the only one); None if somebody's set has changed."""
    now, classes = list_everyone(last[-1])
    shows = rows.shows[rows.first[-2] + classes]
    before, before_shows = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    if len(last) > 1:
        before, before_classes = list_everyone(last[0])
        before_shows = rows.shows[before_classes]
    at, there = lookup(before, now)
    if len(before) and not np.array_equal(before_shows[at[there]], shows[there]):
        return None
    gone = np.flatnonzero(~lookup(now, before)[1])
    who = np.concatenate([now, before[gone]])
    order = np.argsort(who, kind="stable")
    leaves = order >= len(now)
    enters = np.concatenate([~there, np.zeros(len(gone), dtype=np.bool_)])[order]
    return _Step(who[order], np.concatenate([shows, before_shows[gone]])[order], enters, leaves)


def _count_paths(step: _Step, releases: Sequence[ObservedRelease], number: int) -> Int64:
    """int64[number]: the disjoint paths that these people make in each bucket. Reads who was in the older releases.

    Somebody who was there before, left and came back is on no path.
    """
    since = np.full(len(step.who), max(len(releases) - 2, 0))  # where their stay began, if they were there before
    stays, again = ~step.enters, np.zeros(len(step.who), dtype=np.bool_)
    for position in range(len(releases) - 3, -1, -1):
        there = lookup(list_subjects(releases, position), step.who)[1]
        again |= there & ~stays
        stays &= there
        since[stays] = position
    place = step.shows.astype(np.int64) * len(releases) + since
    first, stay, leave = (
        np.bincount(place[some & ~again], minlength=number * len(releases))
        for some in (step.enters, ~step.enters & ~step.leaves, step.leaves)
    )
    return np.asarray((first + np.minimum(stay, leave)).reshape(number, -1).sum(axis=1), dtype=np.int64)
