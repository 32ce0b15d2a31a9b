"""Classes that share nobody with any other, as standing classes do: no attack of few people can use them.

Weights W of the classes show y = W S, and are an attack if the values cancel; then both sides have as many rows. All n
people of a class Q that shares nobody have one number, W_Q. If it is not 0, they all stand on one side: the attack has
at least n people on each.

Whole people show no more, if Q has two different values x and y. Let A and B be disjoint sets that have the same values
in every world, and a person a of Q be in A. If somebody b of Q is not in A, there is a world in which a has x and b has
y, and the one in which they exchange these, which touches nobody else. A then has one x less and one y more, and B is
as it was, or has one y less and one x more: A and B cannot have the same values in both worlds. So A holds all of Q.
"""

from __future__ import annotations

from collections.abc import Sequence
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
