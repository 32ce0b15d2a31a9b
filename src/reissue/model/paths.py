"""Releases that are only counted: how many people went which way through them.

What outsiders see of all releases, and who could be whom, follows from these counts, and counts of fragments add up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.sets import Combinations, distinct, union
from reissue.arrays.types import Int32, Int64
from reissue.errors import refuse_release
from reissue.model.observed import Members, ObservedRelease, Words, put_names
from reissue.model.release import Facts


def count_paths(releases: Sequence[Facts], words: Words) -> tuple[Combinations, Int64]:
    """(the ways of a fragment's people through the releases, int64[ways] the first person who went each). O(rows).

    A way is a value, and a class in each release, -1 where the person was not in it. What outsiders see of all
    releases, and who could be whom, follows from how many people of all fragments went each way.
    """
    people = union(*(facts.subjects for facts in releases))
    values = np.full(len(people), -1, dtype=np.int32)
    columns = []
    for facts in releases:
        if not facts.real.all():
            refuse_release(put_names(f"in {{release:{facts.number}}} a row of this strategy stands for nobody", words))
        at = np.searchsorted(people, facts.subjects)
        other = np.flatnonzero((values[at] >= 0) & (values[at] != facts.values))
        if len(other):
            was, now = int(values[at[other[0]]]), int(facts.values[other[0]])
            differs = (
                f"in {{release:{facts.number}}} a sensitive value differs from the one that was published before: "
                f"{{value:{now}}} in place of {{value:{was}}}"
            )
            refuse_release(put_names(differs, words))
        values[at] = facts.values
        classes = np.full(len(people), -1, dtype=np.int32)
        classes[at] = facts.classes
        columns.append(classes)
    first, home = distinct([values, *columns])
    counts = np.bincount(home, minlength=len(first)).astype(np.int64)
    return Combinations(tuple(column[first] for column in (values, *columns)), counts), people[first]


def make_counted_releases(boxes: Sequence[Int32], ways: Combinations, people: Int64) -> list[ObservedRelease]:
    """The releases in counts. All who went the same way are one member: the one of `people`, which ascend.

    boxes: int32[classes, attributes, 2] of each release
    """
    values, *classes = ways.columns
    releases = []
    for number, (its, own) in enumerate(zip(boxes, classes, strict=True), start=1):
        here = np.flatnonzero(own >= 0)
        nothing = np.empty((len(here), 0), dtype=np.int32)
        members = Members(people[here], own[here], nothing, values[here])
        releases.append(ObservedRelease(number, its, own[here], values[here], members, amounts=ways.counts[here]))
    return releases
