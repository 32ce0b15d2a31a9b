"""How a series looks to the equivalence attack: what decides how it is searched, and what need not be.

Classes that share nobody with any other, as standing classes do, are no use to an attack of few people. Weights W of
the classes show y = W S, and are an attack if the values cancel; then both sides have as many rows. All n people of a
class Q that shares nobody have one number, W_Q. If it is not 0, they all stand on one side: the attack has at least n
people on each.

Whole people show no more, if Q has two different values x and y. Let A and B be disjoint sets that have the same values
in every world, and a person a of Q be in A. If somebody b of Q is not in A, there is a world in which a has x and b has
y, and the one in which they exchange these, which touches nobody else. A then has one x less and one y more, and B is
as it was, or has one y less and one x more: A and B cannot have the same values in both worlds. So A holds all of Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from reissue.arrays.types import Bool, Int64
from reissue.methods.equivalence.person_matrix import (
    connect_classes,
    list_everyone,
    number_classes,
    trace_patterns,
)
from reissue.model.observed import ObservedRelease, keep_classes, leave_out_repeats

MOST_BUCKETS = 10_000
"""Beyond this many buckets that share nobody, classes are only set against each other in pairs."""
MOST_MIXED = 20_000
"""Up to so many classes a series in which people go from one set of values to another is searched whole."""
MERGED, PIECES, PAIRS = "merged", "pieces", "pairs"
"""Ways to search a series: by buckets, one class a release; by buckets of parts that share nobody; only in pairs."""


@dataclass(frozen=True)
class SeriesShape:
    """What decides how a series is searched; parts of it that have all classes of some sets of values add up.

    Whatever the way, classes are only weighed against classes that show the same values, but for the small series that
    is searched all at once (`needs_whole`). So parts can be searched one by one, once the way is known, which is a
    property of the whole series.

    classes:  of all releases together; smallest: values of the smallest set, if there are any
    apart:    all classes show their values equally often, and everybody's classes the same set. Nobody sees from a part
              that a person has classes elsewhere: who adds up parts must know that nobody has
    merged:   then, whether each set is shown by one class of a release at most; within: by one that shares people
    buckets:  how many buckets of several releases share nobody with the others
    """

    classes: int
    smallest: int | None
    apart: bool
    merged: bool
    within: bool
    buckets: int

    @property
    def way(self) -> str:
        if self.apart and self.merged:
            return MERGED
        return PIECES if self.apart and self.within and self.buckets <= MOST_BUCKETS else PAIRS

    @property
    def needs_whole(self) -> bool:
        """Whether parts cannot be searched one by one: people go from one set of values to another."""
        return not self.apart and self.classes <= MOST_MIXED

    @property
    def can_settle(self) -> bool:
        """Whether parts so small that their worlds can be listed are few enough to be looked at."""
        return self.can_connect and self.classes <= MOST_MIXED

    @property
    def can_connect(self) -> bool:
        """Whether all classes that share people are looked at together."""
        return self.apart or self.needs_whole

    def as_mixed(self) -> SeriesShape:
        """The shape of a series in which somebody's classes show different sets."""
        return replace(self, apart=False, merged=False, within=False, buckets=0)

    @staticmethod
    def sum_up(shapes: Sequence[SeriesShape]) -> SeriesShape:
        return SeriesShape(
            sum(one.classes for one in shapes),
            min((one.smallest for one in shapes if one.smallest is not None), default=None),
            all(one.apart for one in shapes),
            all(one.merged for one in shapes),
            all(one.within for one in shapes),
            sum(one.buckets for one in shapes),
        )


def leave_out_lone(releases: Sequence[ObservedRelease], e: int) -> tuple[list[ObservedRelease], int | None]:
    """(what is left of the releases, the fewest people on a side of an attack that uses the rest; None: no rest).

    Classes that only say again what they said are left out first: they are the same equation. O(n log n).
    """
    once = [leave_out_repeats(release) for release in releases]
    lone, people = _find_lone(once, e)
    first = np.cumsum([0, *(release.class_count for release in once)])
    parts = zip(once, pairwise(first.tolist()), strict=True)
    left = [keep_classes(release, ~lone[begin:end]) for release, (begin, end) in parts]
    return left, int(people[lone].min()) if lone.any() else None


def _find_lone(releases: Sequence[ObservedRelease], e: int) -> tuple[Bool, Int64]:
    """(bool[classes]: shares nobody, has at least e people and two values; int64[classes] its people), of all."""
    rows = number_classes(releases)
    pieces = connect_classes(rows, trace_patterns(releases, rows))
    counts = [np.bincount(list_everyone(release)[1], minlength=release.class_count) for release in releases]
    people = np.concatenate(counts).astype(np.int64) if counts else np.empty(0, dtype=np.int64)
    alone = np.bincount(pieces, minlength=1)[pieces] == 1
    return np.asarray(alone & (people >= e) & (rows.sets.sizes[rows.shows] > 1), dtype=np.bool_), people
