"""One fragment of a series on a worker (the whole, if it is not divided): read from the ledger, counted, attacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.sets import permute_ids
from reissue.arrays.types import Int32, Int64
from reissue.audit.description import ClassRef, ClassSummary, SeriesFragment, summarize_class
from reissue.audit.spark.names import TokenWords
from reissue.coding import Coding, CodingWords
from reissue.history.past_releases import Identities, read_releases
from reissue.ledger import Shelf
from reissue.methods.attack import Attack, Outcome
from reissue.model.domain import Domain
from reissue.model.fragments import number_globally
from reissue.model.observed import LazySequence, Observed, ObservedRelease, Words


@dataclass(frozen=True, eq=False)
class FragmentReader(SeriesFragment):
    """One fragment of a series (None: all of it), to be read by a worker.

    shelf: with the files of this fragment, and the shapes of all; fragments: how many there are
    common: whether the classes are those of all fragments
    before, classes: for each release, the classes of the fragments before this one, and of all, once they are known
    """

    shelf: Shelf
    coding: Coding
    fragment: int | None = None
    fragments: int = 1
    common: bool = False
    before: Sequence[int] = ()
    classes: Sequence[int] = ()

    @staticmethod
    def every(
        shelf: Shelf, coding: Coding, fragments: Sequence[int | None], common: bool = False
    ) -> list[FragmentReader]:
        """The fragments of a series, each with its own files and the shapes of all."""
        shelves = zip(shelf.divided(len(fragments), common=["shape"]), fragments, strict=True)
        return [FragmentReader(own, coding, fragment, len(fragments), common) for own, fragment in shelves]

    @property
    def whole_classes(self) -> bool:
        """Whether its class numbers are those of the whole releases."""
        return self.fragment is None or self.common

    @property
    def domains(self) -> Sequence[Domain]:  # type: ignore[override]
        return self.coding.domains

    @property
    def releases(self) -> LazySequence[ObservedRelease]:
        return read_releases(self.shelf, self.coding, self.fragment)

    def name_classes(self, before: Sequence[int], classes: Sequence[int]) -> FragmentReader:
        return replace(self, before=before, classes=classes)

    def boxes_of(self, position: int, fragment: int | None) -> Int32:
        return self.shape_of(position, fragment)[0]

    def shape_of(self, position: int, fragment: int | None) -> tuple[Int32, bool]:
        """The boxes of a release, or of one fragment of it, in today's codes; and whether it is anatomized."""
        record = self.shelf.releases[position]
        boxes, anatomized = self.shelf.shape(record.number, fragment)
        if record.coding_version != self.coding.version:
            made_under = Coding.from_dict(self.shelf.coding(record.coding_version))
            boxes, _ = self.coding.remap(made_under, boxes, np.empty((0, boxes.shape[1]), dtype=np.int32))
        return boxes, anatomized

    def summarize(self, wanted: Mapping[int, Int64]) -> dict[ClassRef, ClassSummary]:
        """Other releases are not read."""
        found: dict[ClassRef, ClassSummary] = {}
        for position, record in enumerate(self.shelf.releases):
            if record.number not in wanted:
                continue
            names = self._class_names(position, len(self.shelf.shape(record.number, self.fragment)[0]))
            own = np.flatnonzero(np.isin(names, wanted[record.number])).tolist()
            if own:
                release = self.releases[position]
                found |= {(record.number, int(names[one])): summarize_class(release, one) for one in own}
        return found

    # -- attacks

    def attack(self, attack: Attack) -> Outcome | None:
        """What a worker tells, by number; nothing where the fragment never had anybody."""
        series = self.observe()
        part = replace(series, releases=list(series.releases))
        if not any(len(release.members.subjects) for release in part.releases if release.members is not None):
            return None
        return attack.run(part)

    def attack_whole(self, attack: Attack, names: bool) -> Outcome:
        """What an attack that cannot be divided tells of all of a series; by number, unless it looks for names.

        names: whether people are then called by them
        """
        words: Words = TokenWords()
        if attack.looks_for_names:
            known = Identities(*self.shelf.identities()) if names else None
            words = CodingWords(self.coding, "subject {}".format if known is None else known.name, self.shelf.labels)
        series = self.observe(words)
        return attack.run(series if attack.in_order else replace(series, releases=list(series.releases)))

    def attack_step(self, attack: Attack, step: Sequence[int]) -> Outcome:
        """What an attack tells of one step, by number. Two releases are in memory at a time."""
        part = replace(self.observe(), releases=read_releases(self.shelf, self.coding, positions=step))
        return attack.run(part, involving=len(step))

    def observe(self, words: Words | None = None) -> Observed:
        """The fragment as an attacker sees it, under the names of the whole; each release is read when asked for."""
        releases = LazySequence(len(self.shelf.releases), self.read_named)
        return Observed(releases, self.coding.domains, len(self.coding.values), words or TokenWords())

    def read_named(self, position: int) -> ObservedRelease:
        """One release, read now, under the names of the whole: its classes, its counterfeits. O(rows)."""
        release = self.releases[position]
        if self.whole_classes or self.fragment is None:
            return release
        names = self._class_names(position, release.class_count).astype(np.int32)
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

    def _class_names(self, position: int, count: int) -> Int64:
        """int64[count]: what the fragment's classes are called."""
        numbers = np.arange(count, dtype=np.int64)
        if self.whole_classes:
            return numbers
        return permute_ids(self.before[position] + numbers, self.classes[position], self.shelf.releases[position].seed)
