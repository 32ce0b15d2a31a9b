"""One fragment of a series on a worker (the whole, if it is not divided): read from the ledger, counted, attacked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from reissue.arrays.lazy import Asked
from reissue.arrays.types import Int32, Int64
from reissue.audit.description import Card, Place, cards_of
from reissue.audit.parallel import Task, anonymous
from reissue.audit.steps import Step
from reissue.audit.timeline import Changes, Following, Tally, exact_rows, shown_exactly, tally
from reissue.audit.words import AuditWords
from reissue.coding import Coding
from reissue.history.identities import Identities
from reissue.history.past_releases import PastReleases
from reissue.ledger import Shelf
from reissue.methods.attack import Attack, Outcome
from reissue.model.box_index import Points
from reissue.model.fragments import number_globally, permute_ids
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.placeholders import TokenWords

FITTING = pa.schema([("release", pa.int32()), ("key", pa.binary()), ("sample", pa.int64()), ("fitting", pa.int64())])
"""Of a class, or of a combination of quasi-identifiers where they are shown as they are: rows of it in a release
(position), and people who fit it; all rows of one key are to be added up."""


class ReadReleases(Asked[ObservedRelease]):
    """The releases of a series in today's codes, read anew whenever one is asked for: none is kept."""

    def __init__(
        self, shelf: Shelf, coding: Coding, fragment: int | None = None, positions: Sequence[int] | None = None
    ) -> None:
        """`fragment`: only that fragment of a divided series, with class numbers and counterfeits of its own.

        positions: of the releases that are meant; None: all
        """
        self._read = shelf, coding, fragment
        self._positions = range(len(shelf.releases)) if positions is None else positions

    def __len__(self) -> int:
        return len(self._positions)

    def at(self, position: int) -> ObservedRelease:
        return ObservedRelease.of(PastReleases(*self._read)[self._positions[position]])


@dataclass(frozen=True, eq=False)
class Census:
    """A fragment in whole numbers that add up: its releases, who came, went and changed, and how many people it has."""

    tallies: Sequence[Tally]
    changes: Sequence[Changes]
    people: int
    changed_value: int


@dataclass(frozen=True, eq=False)
class Portion:
    """One fragment of a series (None: all of it), to be read by a worker.

    shelf: with the files of this fragment, and the shapes of all; fragments: how many there are
    """

    shelf: Shelf
    coding: Coding
    fragment: int | None
    fragments: int

    @staticmethod
    def every(shelf: Shelf, coding: Coding) -> list[Portion]:
        """All of a series, in portions that share neither people nor classes."""
        separate = shelf.separate
        shelves = shelf.divided(len(separate), common=["shape"])
        return [Portion(own, coding, fragment, len(separate)) for own, fragment in zip(shelves, separate, strict=True)]

    @property
    def releases(self) -> Sequence[ObservedRelease]:
        """In class numbers of the fragment's own."""
        return ReadReleases(self.shelf, self.coding, self.fragment)

    def census(self) -> Census:
        """One release after the other. O(people * releases) time, O(people + rows of a release) memory."""
        following = Following(len(self.coding.domains))
        tallies, changes = [], []
        for release in self.releases:
            assert release.members is not None
            tallies.append(tally(release, self.coding.domains))
            changes.append(following.add(release.members))
        return Census(tallies, changes, len(following.subjects), following.changed_value)

    def fitting(self, hulls: Sequence[Sequence[Int32 | None]]) -> Iterator[pa.Table]:
        """The own rows of every class, and how many of the own people fit which classes, as FITTING says.

        hulls: for each release, the hull of each fragment's boxes. Only fragments whose hull holds somebody are read.
        """
        following, exact = Following(len(self.coding.domains)), []
        for position, release in enumerate(self.releases):
            assert release.members is not None
            following.add(release.members)
            exact.append(shown_exactly(release))
            if exact[-1]:
                keys, rows = exact_rows(release.members.codes)
            else:
                filled = np.flatnonzero(release.sizes > 0)
                keys, rows = _class_keys(self.fragment, filled), release.sizes[filled]
            yield _fitting(position, keys, rows, np.zeros_like(rows))
        if any(exact):
            keys, people = exact_rows(following.codes)
            for position in np.flatnonzero(exact).tolist():
                yield _fitting(position, keys, np.zeros_like(people), people)
        points = Points(following.codes)
        for position in np.flatnonzero(~np.array(exact)).tolist():
            yield from self._inside(position, points, hulls[position])

    def _inside(self, position: int, points: Points, hulls: Sequence[Int32 | None]) -> Iterator[pa.Table]:
        for other, hull in enumerate(hulls):
            fragment = None if self.fragment is None else other
            if hull is not None and points.inside(hull[None], enough=1)[0]:
                people = points.inside(shape_of(self.shelf, self.coding, position, fragment)[0])
                some = np.flatnonzero(people)
                yield _fitting(position, _class_keys(fragment, some), np.zeros_like(people[some]), people[some])


def _class_keys(fragment: int | None, classes: Int64) -> Int32:
    return np.column_stack([np.full(len(classes), fragment or 0), classes]).astype(np.int32)


def _fitting(position: int, keys: Int32, sample: Int64, fitting: Int64) -> pa.Table:
    """keys: int32[n, any]; their bytes are the key."""
    bytes_ = np.ascontiguousarray(keys, dtype=np.int32)
    width = pa.binary(4 * keys.shape[1])
    key = pa.FixedSizeBinaryArray.from_buffers(width, len(keys), [None, pa.py_buffer(bytes_)]).cast(pa.binary())
    release = np.full(len(keys), position, dtype=np.int32)
    return pa.table([pa.array(release), key, pa.array(sample), pa.array(fitting)], schema=FITTING)


def shape_of(shelf: Shelf, coding: Coding, position: int, fragment: int | None) -> tuple[Int32, bool]:
    """The boxes of a release, or of one fragment of it, in today's codes; and whether it is anatomized. O(classes)."""
    record = shelf.releases[position]
    boxes, anatomized = shelf.shape(record.number, fragment)
    if record.coding_version != coding.version:
        made_under = Coding.from_dict(shelf.coding(record.coding_version))
        boxes, _ = coding.remap(made_under, boxes, np.empty((0, boxes.shape[1]), dtype=np.int32))
    return boxes, anatomized


@dataclass(frozen=True, eq=False)
class NamedPortion(Portion):
    """A fragment that knows what its classes are called in the whole release.

    before, classes: for each release, the classes of the fragments before this one, and of all fragments
    """

    before: tuple[int, ...]
    classes: tuple[int, ...]

    @staticmethod
    def naming(portions: Sequence[Portion], classes: Int64) -> list[NamedPortion]:
        """The portions with names. classes: int64[portions, releases] how many each has."""
        before, total = np.cumsum(classes, axis=0) - classes, tuple(classes.sum(axis=0).tolist())
        return [
            NamedPortion(one.shelf, one.coding, one.fragment, one.fragments, tuple(earlier), total)
            for one, earlier in zip(portions, before.tolist(), strict=True)
        ]

    def attacked(self, attack: Attack) -> Outcome | None:
        """What a worker tells; nothing where the fragment never had anybody."""
        part = self.observed()
        if not any(len(release.members.subjects) for release in part.releases if release.members is not None):
            return None
        return Task(attack, anonymous(part)).run()

    def observed(self) -> Observed:
        """The fragment under the names of the whole release: its classes, its counterfeits. O(rows)."""
        releases = [self.named(position) for position in range(len(self.shelf.releases))]
        return Observed(releases, self.coding.domains, len(self.coding.values), TokenWords())

    def named(self, position: int) -> ObservedRelease:
        """One release of the fragment, read now, under the names of the whole."""
        return self._renamed(position, self.releases[position])

    def cards(self, wanted: Mapping[int, Int64]) -> dict[Place, Card]:
        """The classes of these numbers, by release, that are the fragment's own. Other releases are not read."""
        found: dict[Place, Card] = {}
        for position, record in enumerate(self.shelf.releases):
            if record.number not in wanted:
                continue
            boxes, _ = self.shelf.shape(record.number, self.fragment)
            names = self._names(position, len(boxes))
            own = np.flatnonzero(np.isin(names, wanted[record.number])).tolist()
            if own:
                cards = cards_of(self.releases[position], own)
                found |= {(record.number, int(names[one])): card for one, card in cards.items()}
        return found

    def _names(self, position: int, count: int) -> Int64:
        """int64[count]: what the fragment's classes are called."""
        numbers = np.arange(count, dtype=np.int64)
        if self.fragment is None:
            return numbers
        return permute_ids(self.before[position] + numbers, self.classes[position], self.shelf.releases[position].seed)

    def _renamed(self, position: int, release: ObservedRelease) -> ObservedRelease:
        if self.fragment is None:
            return release
        names = self._names(position, release.class_count).astype(np.int32)
        order = np.argsort(names)
        place = np.empty(len(names), dtype=np.int32)
        place[order] = np.arange(len(names), dtype=np.int32)
        members, fakes = release.members, release.counterfeits
        assert members is not None and fakes is not None  # noqa: PT018
        subjects = number_globally(fakes.subjects, self.fragment, self.fragments)
        return replace(
            release,
            boxes=release.boxes[order],
            classes=place[release.classes],
            members=replace(members, classes=place[members.classes]),
            counterfeits=replace(fakes, subjects=subjects, classes=place[fakes.classes]),
            numbers=names[order],
        )


@dataclass(frozen=True, eq=False)
class Whole:
    """All of a series, for attacks that cannot be parted: read by one worker, or step by step by several.

    names: whether people are called by their names, where a worker must know them
    """

    shelf: Shelf
    coding: Coding
    names: bool

    def attacked(self, attack: Attack) -> Outcome:
        """What an attack tells of the series, by number unless it is `by_name`."""
        read = ReadReleases(self.shelf, self.coding)
        releases = read if attack.in_order else list(read)
        words = AuditWords(self.coding, self._name) if attack.looks_for_names else TokenWords()
        return attack.run(Observed(releases, self.coding.domains, len(self.coding.values), words))

    def stepped(self, attack: Attack, step: Step) -> Outcome:
        """What a stepwise attack tells of one step, by number. Two releases are in memory at a time."""
        read = ReadReleases(self.shelf, self.coding, positions=step)
        part = Observed(read, self.coding.domains, len(self.coding.values), TokenWords())
        return Task(attack, part, involving=len(step)).run()

    def _name(self, number: int) -> str:
        return self._identities.name(number) if self.names else f"subject {number}"

    @cached_property
    def _identities(self) -> Identities:
        return Identities(*self.shelf.identities())
