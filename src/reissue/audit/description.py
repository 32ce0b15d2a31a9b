"""What the document tells of a series beside the outcomes of attacks: its timeline, and the classes that findings name.

A series is fragments that share nobody: each is looked at where it lies, and what they tell adds up. In this process
there is one, the whole series.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int32, Int64
from reissue.audit.rates import SeriesRates, measure_series_rates
from reissue.audit.timeline import (
    ReleaseTally,
    TimelineEntry,
    add_tallies,
    count_kinds,
    count_release,
    count_same,
    shows_exactly,
)
from reissue.model.box_index import Points
from reissue.model.domain import Domain
from reissue.model.observed import LazySequence, Observed, ObservedRelease
from reissue.model.overlap import LastSeen, Turnover, follow_people
from reissue.model.release import Coded
from reissue.model.standing_view import EPISODE

if TYPE_CHECKING:
    from reissue.engine.text import Text

VALUES = 8
"""The values of a class that are shown, at most."""

ClassRef = tuple[int, int]
"""The number of a release, and of one of its classes."""

FITTING = pa.schema([("release", pa.int32()), ("key", pa.binary()), ("sample", pa.int64()), ("fitting", pa.int64())])
"""Of a class, or of a combination of quasi-identifiers where they are shown as they are: rows of it in a release
(position), and people who fit it; all rows of one key are to be added up."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class ReleaseNotes:
    """What the timeline needs to know of one release beside what an attacker sees.

    name: "release 2024-01", with its label if it has one; number: None where releases are simply counted
    left_out: people who are not in it although they were in the snapshot, by value, as far as that is known
    files: its public files by name, each with its SHA-256; none of a frame
    """

    name: str
    suppressed: int
    number: int | None = None
    label: str | None = None
    left_out: Mapping[int, int] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    ambiguous: int | None = None
    coded: Coded | None = None
    insensitive: Mapping[str, Text] = field(default_factory=dict)
    about: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ClassSummary:
    """One class: box int32[attributes, 2], rows, the commonest values with their counts, and how many values it has."""

    box: Int32
    rows: int
    values: Sequence[tuple[int, int]]
    kinds: int


def summarize_class(release: ObservedRelease, number: int) -> ClassSummary:
    """O(rows) for the first of a release."""
    classes, values, counts = release.groups
    first, last = np.searchsorted(classes, [number, number + 1])
    order = first + np.argsort(-counts[first:last], kind="stable")
    shown = [(int(values[i]), int(counts[i])) for i in order[:VALUES]]
    return ClassSummary(release.boxes[number], int(release.sizes[number]), shown, int(last - first))


@dataclass(frozen=True, eq=False)
class FragmentCensus:
    """A fragment in whole numbers that add up: its releases; who came, went and changed, where that is known."""

    tallies: Sequence[ReleaseTally]
    turnover: Sequence[Turnover] | None
    people: int | None
    changed_value: int


class SeriesFragment(ABC):
    """A fragment of a series (None: all of it), looked at where its releases are."""

    fragment: int | None
    domains: Sequence[Domain]

    @property
    @abstractmethod
    def releases(self) -> Sequence[ObservedRelease]:
        """In class numbers of the fragment's own."""

    @abstractmethod
    def boxes_of(self, position: int, fragment: int | None) -> Int32:
        """The boxes of a release, or of one fragment of it. O(classes)."""

    @abstractmethod
    def summarize(self, wanted: Mapping[int, Int64]) -> dict[ClassRef, ClassSummary]:
        """The classes of these numbers, by release, that are the fragment's own."""

    def name_classes(self, before: Sequence[int], classes: Sequence[int]) -> SeriesFragment:
        """The same, knowing for each release how many classes fragments before this one have, and all have."""
        return self

    def take_census(self) -> FragmentCensus:
        """One release after the other. O(people * releases) time, O(people + rows of a release) memory."""
        tallies: list[ReleaseTally] = []

        def count_each() -> Iterator[ObservedRelease]:
            for release in self.releases:
                tallies.append(count_release(release, self.domains))
                yield release

        return FragmentCensus(tallies, *follow_people(count_each(), len(self.domains)))

    def count_fits(self, hulls: Sequence[Sequence[Int32 | None]]) -> Iterator[pa.Table]:
        """The own people of every class, and how many of the own people fit which classes, as FITTING says.

        hulls: for each release, the hull of each fragment's boxes. Only fragments whose hull holds somebody are read.
        """
        seen, exact = LastSeen(len(self.domains)), []
        for position, release in enumerate(self.releases):
            if release.members is not None:
                seen.add(release.members)
            exact.append(shows_exactly(release))
            if exact[-1] and release.members is not None:
                keys, rows = count_same(release.members.codes)
            else:
                people = release.people  # a row of nobody hides nobody
                filled = np.flatnonzero(people > 0)
                keys, rows = _make_class_keys(self.fragment, filled), people[filled]
            yield _make_fitting(position, keys, rows, np.zeros_like(rows))
        if any(exact):
            keys, people = count_same(seen.codes)
            for position in np.flatnonzero(exact).tolist():
                yield _make_fitting(position, keys, np.zeros_like(people), people)
        if len(seen.codes):
            points = Points(seen.codes)
            for position in np.flatnonzero(~np.array(exact)).tolist():
                yield from self._count_inside(position, points, hulls[position])

    def _count_inside(self, position: int, points: Points, hulls: Sequence[Int32 | None]) -> Iterator[pa.Table]:
        for other, hull in enumerate(hulls):
            fragment = None if self.fragment is None else other
            if hull is not None and points.inside(hull[None], enough=1)[0]:
                people = points.inside(self.boxes_of(position, fragment))
                some = np.flatnonzero(people)
                yield _make_fitting(
                    position, _make_class_keys(fragment, some), np.zeros_like(people[some]), people[some]
                )


def _make_class_keys(fragment: int | None, classes: Int64) -> Int32:
    return np.column_stack([np.full(len(classes), fragment or 0), classes]).astype(np.int32)


def _make_fitting(position: int, keys: Int32, sample: Int64, fitting: Int64) -> pa.Table:
    """keys: int32[n, any]; their bytes are the key."""
    bytes_ = np.ascontiguousarray(keys, dtype=np.int32)
    width = pa.binary(4 * keys.shape[1])
    key = pa.FixedSizeBinaryArray.from_buffers(width, len(keys), [None, pa.py_buffer(bytes_)]).cast(pa.binary())
    release = np.full(len(keys), position, dtype=np.int32)
    return pa.table([pa.array(release), key, pa.array(sample), pa.array(fitting)], schema=FITTING)


class WholeSeries(SeriesFragment):
    """A series as an attacker sees it, all in this process."""

    fragment = None

    def __init__(self, observed: Observed) -> None:
        self._observed, self.domains = observed, observed.domains

    @property
    def releases(self) -> Sequence[ObservedRelease]:
        return self._observed.releases

    def take_census(self) -> FragmentCensus:
        """What the releases hold is counted when somebody asks for it: attacks need only know who is in them."""
        releases = self.releases
        tallies = LazySequence(len(releases), lambda place: count_release(releases[place], self.domains))
        return FragmentCensus(tallies, *follow_people(releases, len(self.domains)))

    def boxes_of(self, position: int, fragment: int | None) -> Int32:
        return self.releases[position].boxes

    def summarize(self, wanted: Mapping[int, Int64]) -> dict[ClassRef, ClassSummary]:
        shown = ((release, one) for release in self.releases for one in wanted.get(release.number, ()))
        return {(release.number, int(one)): summarize_class(release, int(one)) for release, one in shown}

    def find_members(self, numbers: Int64) -> list[tuple[int, int, int]]:
        """(release, class, true value) of every place that these people have, episodes of theirs included. O(rows)."""
        found = []
        for release in self.releases:
            some = release.members
            at = [] if some is None else np.flatnonzero(np.isin(some.subjects % EPISODE, numbers)).tolist()
            found += [(release.number, int(some.classes[row]), int(some.values[row])) for row in at if some is not None]
        return found


class Workers:
    """Who looks at the fragments: this process. lasting: whether what they read stays as it is"""

    lasting = True

    def each(self, items: Sequence[Item], task: Callable[[Item], Result]) -> list[Result]:
        return [task(item) for item in items]

    def count_fits(self, items: Sequence[Item], task: Callable[[Item], Iterable[pa.Table]]) -> pa.Table:
        """Columns release, sample, fitting, count: kinds of keys with rows, added up. task: tells rows of FITTING"""
        rows = pa.concat_tables([table for item in items for table in task(item)])
        sums = rows.group_by(["release", "key"]).aggregate([("sample", "sum"), ("fitting", "sum")])
        release, sample, fitting = (np.asarray(sums[name]) for name in ("release", "sample_sum", "fitting_sum"))
        kinds = np.column_stack([release, sample, np.maximum(sample, fitting)])[sample > 0]
        found = count_kinds(kinds, np.ones(len(kinds), dtype=np.int64))
        return pa.table(list(found.T), ["release", "sample", "fitting", "count"])


class SeriesView:
    """The timeline of a series, and the classes of findings; worked out when they are first asked for."""

    def __init__(self, fragments: Sequence[SeriesFragment], workers: Workers) -> None:
        self._fragments, self._workers = fragments, workers
        self._summaries: dict[ClassRef, ClassSummary] = {}
        self._rates: dict[tuple[str, ...], list[SeriesRates]] = {}

    @cached_property
    def _censuses(self) -> list[FragmentCensus]:
        return self._workers.each(self._fragments, lambda fragment: fragment.take_census())

    @cached_property
    def fragments(self) -> list[SeriesFragment]:
        """The fragments, knowing what their classes are called in the whole releases."""
        classes = np.array([[one.classes for one in tallies] for tallies in self._tallies], dtype=np.int64)
        before, total = np.cumsum(classes, axis=0) - classes, classes.sum(axis=0).tolist()
        return [one.name_classes(own, total) for one, own in zip(self._fragments, before.tolist(), strict=True)]

    @property
    def people(self) -> int | None:
        """How many different people are in the series; None where nobody is known."""
        counts = [census.people for census in self._censuses]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def changed_value(self) -> int:
        """How many people ever had another value."""
        return sum(census.changed_value for census in self._censuses)

    @cached_property
    def _tallies(self) -> list[list[ReleaseTally]]:
        """Of each fragment its releases."""
        return [list(census.tallies) for census in self._censuses]

    @cached_property
    def tallies(self) -> list[ReleaseTally]:
        """The releases in whole numbers."""
        return [add_tallies(parts) for parts in zip(*self._tallies, strict=True)]

    @cached_property
    def timeline(self) -> list[TimelineEntry]:
        hulls = [[one.hull for one in parts] for parts in zip(*self._tallies, strict=True)]
        known = [census.turnover for census in self._censuses if census.turnover]
        turnover = [reduce(add, parts) for parts in zip(*known, strict=True)] or [None] * len(hulls)
        found = self._workers.count_fits(self._fragments, lambda fragment: fragment.count_fits(hulls))
        table = np.column_stack([np.asarray(column).astype(np.int64) for column in found.columns])
        table = table[np.lexsort(table.T[::-1])]
        return [
            TimelineEntry(tally, changes, table[table[:, 0] == position, 1:])
            for position, (tally, changes) in enumerate(zip(self.tallies, turnover, strict=True))
        ]

    def measure_rates(self, value_count: int, pairs: Sequence[str]) -> list[SeriesRates]:
        """How far off rates by these pairs of attributes are; nothing where nobody is known."""
        if tuple(pairs) not in self._rates:
            known = self.people is not None and self.tallies
            self._rates[tuple(pairs)] = (
                measure_series_rates(self._fragments, self._workers, value_count, pairs) if known else []
            )
        return self._rates[tuple(pairs)]

    def settle(
        self, find_classes: Callable[[], Iterable[ClassRef]], value_count: int, pairs: Sequence[str] | None
    ) -> None:
        """The attacks are done, and the series may change from now on. find_classes: those of their findings; pairs: by
        which rates will be asked for, if they are"""
        if not self._workers.lasting:
            _ = self.timeline
            if pairs is not None:
                self.measure_rates(value_count, pairs)
            self.summaries(find_classes())

    def find_members(self, numbers: Int64) -> list[tuple[int, int, int]]:
        """(release, class, true value) of every place that these people have, as attackers are taken to know it."""
        return [one for part in self._fragments if isinstance(part, WholeSeries) for one in part.find_members(numbers)]

    def summaries(self, classes: Iterable[ClassRef]) -> Mapping[ClassRef, ClassSummary]:
        """At least these classes."""
        wanted = _group_by_release(set(classes) - set(self._summaries))
        if wanted:
            for some in self._workers.each(self.fragments, lambda fragment: fragment.summarize(wanted)):
                self._summaries |= some
        return self._summaries


def _group_by_release(classes: Iterable[ClassRef]) -> dict[int, Int64]:
    """int64[classes] ascending, by the number of their release."""
    found: dict[int, list[int]] = {}
    for number, one in sorted(classes):
        found.setdefault(number, []).append(one)
    return {number: np.array(its, dtype=np.int64) for number, its in found.items()}
