"""How a series looks to the equivalence attack: what decides how it is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
