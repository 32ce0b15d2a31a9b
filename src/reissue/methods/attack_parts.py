"""Attack a series piece by piece, and put together what the attack on the whole would have told.

**In parts.** A *part* is a set of classes closed under sharing people (and counterfeits that are known): see `audit.spark.regrouped`. Every row
of a person lies in one part. An attack is separable if, from its definition, no class outside a part can change what
it says of the part; then findings, people at risk and measures of the whole follow from those of the parts.

| attack | separable | because |
|---|---|---|
| intersection | yes | a person's values are intersected over the person's own classes, which lie in one part |
| association | yes | likewise for sets of values; shares are those of single classes |
| difference | yes | E and N(E) share people by definition. Where E falls into sets in several parts, so do N(E) and what is left over, and the sizes and counts add up: if all of it is too small each non-empty piece is, and if its share of a value exceeds c that of some piece does (the whole's share is a weighted mean of theirs). So a smallest difference and a greatest share lie within one part |
| historical-correlation | yes, unless people are compromised | only classes with common rows are compared. Compromised people are drawn from, or looked up among, everybody |
| possible-worlds | yes, unless people are compromised | every equation is about one class or one path through classes, so worlds of the whole are all combinations of worlds of the parts. `seconds` then holds for each part |
| record-tracing | no | rows go wherever boxes meet, and everybody in a box is counted, whether or not classes share people |
| equivalence | no | it sets classes against each other that show the same values, also where they share nobody. It is divided by value sets instead, whose parts are told how the whole is searched: see `equivalence.attack.Look` |
| correspondence | no | it has no members: records may be wherever boxes meet. Counts tell it all it measures |
| background-knowledge | no | beliefs are estimated from everybody. Parts that are told what all of them counted can be attacked one by one |

**In steps.** A *step* is one release and some earlier ones in a row: `run(series, involving=n)` on these alone, n being
the place of the newest among them. An attack is stepwise if it only ever lays two releases side by side, and the series
tells what its pairs tell, added up; so steps that have every pair of releases once can be run one by one, with two
releases in memory at a time.

| attack | stepwise | because |
|---|---|---|
| record-tracing | yes | rows are followed from one release to one other; whoever fits is counted in the older of them |
| difference | yes | classes of one release are taken out of those of one other |
| intersection, association | no | a person's classes of all releases are intersected |
| historical-correlation | no | two releases are compared, but a class that is too close to several earlier ones counts once, and compromised people lead from pair to pair |
| correspondence | no | a person's candidates are the fewest over all releases since the arrival |
| equivalence, possible-worlds | no | they combine classes of any number of releases |
| background-knowledge | no | beliefs are carried from release to release |
"""  # noqa: E501 (a table)

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from reissue.arrays.types import Int64
from reissue.methods.attack import Attack, Outcome, merge_steps

if TYPE_CHECKING:
    from reissue.methods.beliefs.attack_cycle import FragmentSurvey
    from reissue.model.fragment_counts import TableCounts
    from reissue.model.observed import Observed

Shape = TypeVar("Shape")
Found = TypeVar("Found")


# -- In steps

Step = tuple[int, ...]
"""Positions of releases, ascending; the last is to be laid beside each of the others."""


def list_steps(releases: int, wanted: int) -> list[Step]:
    """Steps that have every pair of so many releases once, the longest first.

    At least `wanted` of them, if there are as many pairs; but few, since each reads its newest release.
    """
    pairs = releases * (releases - 1) // 2
    longest = max(1, pairs // max(wanted, 1))
    made = [
        (*range(first, min(first + longest, newest)), newest)
        for newest in range(releases)
        for first in range(0, newest, longest)
    ]
    return sorted(made, key=len, reverse=True) or [tuple(range(releases))]


def join_steps(attack: Attack, steps: Sequence[Step], outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of the attack on a series, from those of its steps."""
    in_order = sorted(range(len(steps)), key=lambda i: (steps[i][-1:], steps[i]))
    return merge_steps(attack, [outcomes[i] for i in in_order])


# -- In two rounds: parts tell something of themselves, and are attacked once they know it of all


class ValueSetAttack(Attack, Generic[Shape, Found]):
    """An attack divided by value sets: a part of the series has all classes that show some sets of values."""

    @abstractmethod
    def describe_shape(self, part: Observed) -> Shape:
        """What `search_part` must know of the parts together, told by one of them."""

    @abstractmethod
    def join_shapes(self, shapes: Sequence[Shape], steady: Callable[[], bool]) -> Shape | None:
        """The shape of the series; None if its parts cannot be searched one by one.

        steady: whether everybody's classes show the same set, which parts cannot see; asked only where it matters
        """

    @abstractmethod
    def search_part(self, part: Observed, shape: Shape) -> Found: ...

    @abstractmethod
    def conclude(self, found: Sequence[Found], shape: Shape, locate: Callable[[Int64], Mapping[int, Int64]]) -> Outcome:
        """What is told of a series of this shape. locate: of people, ascending, those in each release by its number"""


class SharedCountAttack(Attack, Generic[Found]):
    """An attack with shared counts: fragments are attacked one by one, once they are told what all of them counted.

    shared: the names of counts that every fragment is told; support: keys with fewer rows are of no use to anybody
    """

    shared: ClassVar[Sequence[str]]
    support: ClassVar[int]

    @property
    @abstractmethod
    def estimates(self) -> bool:
        """Whether fragments ask for counts of their own keys, too."""

    @abstractmethod
    def survey(self, fragment: Observed) -> Iterator[FragmentSurvey]:
        """What the other fragments need to be told of this one, release by release."""

    @abstractmethod
    def attack_part(
        self, series: Observed, told: Mapping[int, TableCounts] | None = None, *, involving: int | None = None
    ) -> Found:
        """What is learned about the people of a series, or of a fragment that is told what all fragments counted."""

    @abstractmethod
    def conclude(self, parts: Sequence[Found], skipped: Sequence[int] = ()) -> Outcome:
        """The outcome of the attack on the series that these are the parts of. skipped: releases without members"""
