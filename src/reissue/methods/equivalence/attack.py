"""The value equivalence attack (He, Barman & Naughton 2011): two sets of people shown to have the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, ClassVar

import numpy as np

from reissue.arrays.sets import sorted_unique, union
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.attack import Outcome, WorkDivision
from reissue.methods.attack_parts import ValueSetAttack
from reissue.methods.equivalence.attack_people import list_small_parts, search_all_classes, search_worlds
from reissue.methods.equivalence.attack_search import EquivalenceSearch, SearchTotals
from reissue.methods.equivalence.class_pairs import find_class_pairs
from reissue.methods.equivalence.fingerprints import MOST_CELLS, count_cells, take_fingerprints
from reissue.methods.equivalence.newcomers import find_undecided
from reissue.methods.equivalence.person_matrix import (
    MERGED,
    PAIRS,
    PIECES,
    ClassRows,
    Patterns,
    SeriesShape,
    connect_classes,
    is_invariant,
    leave_out_lone,
    number_classes,
    trace_patterns,
)
from reissue.methods.equivalence.smallest_attack import Block, find_smallest_new_cut, make_blocks
from reissue.model.observed import Observed, ObservedRelease, require_members
from reissue.model.settings import PeopleCount, Within

_LINEAR = (
    "Sizes and bounds are about what follows by adding and subtracting classes; that values belong to whole people can "
    "show more."
)
_SETTLED = "Small parts of the series were settled, each by itself, by listing every possibility, for {} on each side."
_OPEN = (
    "No attack below e={} was found, but it is only proven that none has fewer than {} people on each side. A smaller "
    "e, or exact=True while classes are few, can settle it."
)
_BY_WORLDS = "{:,} findings do not follow by adding and subtracting classes, but because values belong to whole people."
_SMALL_ONLY = "All cases of {} were found, by all classes together; larger ones only where two classes show them."
_UNLOOKED = (
    "The series is too large to look at all classes together: they were only set against each other in pairs, and "
    "nothing is proven."
)
_PAIRS_ONLY = "Classes were only set against each other in pairs: more of them together may show more."
_BY_SIGNATURE = (
    "Classes were compared that show the same values: this finds the smallest attack if it has at most m people on "
    "each side."
)
_IN_PIECES = (
    "Classes with the same values share nobody in parts of the series, and each part was searched by itself. The lower "
    "bound holds for every attack; attacks that combine such parts count in it, but were not searched for."
)
_LONE = (
    "Classes for life that share nobody with other classes cannot be weighed but whole: whatever follows about one of "
    "their people follows about all of them, at least {:,} on each side."
)
_MOST_ROWS = 60
"""Beyond this many classes a block is too large for the integer program."""


@dataclass(frozen=True, kw_only=True)
class Equivalence(ValueSetAttack["SeriesShape", SearchTotals]):
    """Weigh the classes of all releases so that their values cancel; who remains is shown to be equal.

    e:          two sets of fewer than e people shown to have the same values are a breach
    exact:      close the gap between the bound and the best attack found by an integer program
    nodes:      branchings of one integer program at most: work, so that the answer is the same on every machine
    time_limit: seconds for all integer programs together, if they must end
    """

    e: PeopleCount = 2
    exact: bool = False
    nodes: Annotated[int, Within("a number of branchings", least=1)] = 2_000
    time_limit: Annotated[float, Within("a number of seconds", above=0)] | None = None

    name: ClassVar[str] = "equivalence"
    assumes: ClassVar[str] = "The attacker knows who is in which class of every release, and that values do not change."
    divisions: ClassVar[Mapping[WorkDivision, str]] = {
        WorkDivision.VALUE_SETS: "classes are compared that show the same values, even where they share nobody"
    }

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        if involving is not None:
            return self._added(series, involving)
        part, least = series, None
        if series.standing:
            left, least = leave_out_lone(series.releases, self.e)
            part = replace(series, releases=left)
        seen = _Seen(part.releases)
        shape = seen.describe_shape
        if least is not None and shape.as_mixed().needs_whole:
            shape = shape.as_mixed()  # what is left may look simpler than the series is
        tally = self._searched(part, seen, shape)
        tally.bound_lone(least)
        outcome = self.conclude([tally], shape, partial(locate_people, series.releases))
        return outcome if least is None else replace(outcome, notes=(_LONE.format(least), *outcome.notes))

    # -- a series, or a part of it: all classes that show some sets of values

    def describe_shape(self, part: Observed) -> SeriesShape:
        """What `search_part` must know of the parts together, told by one of them."""
        return _Seen(part.releases).describe_shape

    def search_part(self, part: Observed, shape: SeriesShape) -> SearchTotals:
        """What is found in a part of such a series. See `SeriesShape` for why parts can be searched one by one."""
        return self._searched(part, _Seen(part.releases), shape)

    def join_shapes(self, shapes: Sequence[SeriesShape], steady: Callable[[], bool]) -> SeriesShape | None:
        """Sets of equal hash are compared in their part. None for a small series that is searched all at once."""
        shape = SeriesShape.sum_up(shapes)
        if shape.apart and not steady():
            shape = shape.as_mixed()
        return None if shape.needs_whole else shape

    def conclude(
        self,
        found: Sequence[SearchTotals],
        shape: SeriesShape,
        locate: Callable[[Int64], Mapping[int, Int64]],
    ) -> Outcome:
        """What is told of a series of this shape, from what was found in it, or in all its parts."""
        tally = found[0] if len(found) == 1 else SearchTotals.sum_up(found)
        risks = locate(union(*tally.risky))
        by_signature = shape.apart and shape.smallest is not None
        both = self.e > 2 and not tally.open_pairs
        people = "one or two people on each side" if both else "one person on each side"
        listed = "one or two people" if self.e > 2 else "one person"
        notes = {
            _BY_SIGNATURE: by_signature,
            _IN_PIECES: bool(tally.cuts),
            _SMALL_ONLY.format(people): shape.way == PAIRS and not tally.unlooked,
            _UNLOOKED: tally.unlooked,
            _BY_WORLDS.format(tally.by_worlds): tally.by_worlds > 0,
            _LINEAR: shape.classes > 0,
            _SETTLED.format(listed): shape.can_settle and shape.classes > 0,
        }
        told = [note for note, holds in notes.items() if holds]
        outcome = tally.outcome(self.name, risks, told, shape.smallest if by_signature else None)
        open_ = tally.unlooked or (tally.linear is not None and tally.linear < self.e)
        if outcome.breaches or not open_:
            return outcome
        gap = _OPEN.format(self.e, tally.linear or 1)
        return replace(outcome, notes=(*outcome.notes, gap), unfinished=shape.classes)

    def _searched(self, part: Observed, seen: _Seen, shape: SeriesShape) -> SearchTotals:
        search, rows, releases = EquivalenceSearch(self, part), seen.rows, part.releases
        if shape.way == MERGED:
            for block in make_blocks(releases, rows, seen.patterns, apart=True):
                search.bucket(block)
        elif shape.way == PIECES:
            self._pieces(releases, seen, search)
        else:
            if self.exact:
                self._programs(releases, seen, shape, search)
            for pairs in find_class_pairs(releases):
                search.pairs(pairs)
            self._fingerprints(releases, seen, shape, search)
        if shape.can_settle:
            for small in list_small_parts(releases, rows, seen.pieces):
                search_worlds(search, small)
        return search.tally

    def _fingerprints(
        self, releases: Sequence[ObservedRelease], seen: _Seen, shape: SeriesShape, search: EquivalenceSearch
    ) -> None:
        """All classes at once, whatever their number, for attacks of one or two people on a side."""
        small = np.full(len(seen.rows.shows), shape.can_connect)
        small &= count_cells(releases, seen.rows, seen.pieces) <= MOST_CELLS
        search.tally.unlooked |= not bool(small.all())
        if small.any():
            patterns = seen.patterns if small.all() else trace_patterns(releases, seen.rows, small)
            found = take_fingerprints(releases, seen.rows, patterns, small)
            search.tally.unlooked |= not found.settled
            if found.settled:
                search_all_classes(search, found)

    def _programs(
        self, releases: Sequence[ObservedRelease], seen: _Seen, shape: SeriesShape, search: EquivalenceSearch
    ) -> None:
        """Everything at once, or what shows one set where that is enough; as far as it is small."""
        rows = seen.rows
        together = np.bincount(rows.shows)[rows.shows] if shape.apart else np.full(len(rows.shows), shape.classes)
        small = np.asarray(together <= _MOST_ROWS, dtype=np.bool_)
        for block in make_blocks(releases, rows, trace_patterns(releases, rows, small), apart=shape.apart):
            search.program(block)
        if not small.all():
            search.too_large()

    def _pieces(self, releases: Sequence[ObservedRelease], seen: _Seen, search: EquivalenceSearch) -> None:
        """Buckets that are merged within parts which share nobody, as in a series in fragments; by such parts.

        See `connect_classes` for why the bound holds. A class that shares nobody with another release cannot be
        attacked alone: its cut is all its rows, and only bounds attacks that combine it.
        """
        rows, pieces, several = seen.rows, seen.pieces, seen.several
        small = self.exact & (np.bincount(rows.shows)[rows.shows] <= _MOST_ROWS)
        for block in (
            make_blocks(releases, rows, trace_patterns(releases, rows, small), apart=True) if small.any() else ()
        ):
            search.program(block)  # all parts of a set at once
        search.tally.others = bool(small.any())
        if small.all():
            return
        sizes = np.concatenate([release.sizes for release in releases])
        alone = np.flatnonzero(~several & ~small & (sizes > 0))
        search.tally.cuts.append((rows.shows[alone], sizes[alone]))
        kept = trace_patterns(releases, rows, np.asarray(several & ~small, dtype=np.bool_))
        where = {number: position for position, number in enumerate(release.number for release in releases)}
        for block in make_blocks(releases, rows, kept, apart=True, buckets=pieces):
            cut = find_smallest_new_cut(block)
            if cut is not None:
                row = int(rows.first[where[int(block.release[0])]] + block.number[0])
                search.tally.cuts.append((rows.shows[row : row + 1], np.array([cut], dtype=np.int64)))
            search.bucket(block)

    # -- what one release adds

    def _added(self, series: Observed, number: int) -> Outcome:
        """Publish must be able to prove that nothing is shown, so what cannot be decided counts as broken."""
        releases = series.releases if number == len(series) else series.releases[:number]
        search, notes = EquivalenceSearch(self, series), []
        open_sets = find_undecided(releases, 2 * (self.e - 1), series.first_new)
        if open_sets is None:
            for pairs in find_class_pairs(releases, involving=number - 1):
                search.pairs(pairs)
            notes.append(_PAIRS_ONLY)
            if search.tally.total == 0 and self.e > 1:  # every attack shows at least one person
                search.write_unproven(((number, 0),), 1)
        else:  # merged buckets
            search.tally.bound(self.e)
            for block in _make_histories(releases, open_sets):
                search.bucket(block, only_last=True)
        return search.tally.outcome(self.name, locate_people(series.releases, union(*search.tally.risky)), notes)


class _Seen:
    """The classes of some releases, and everybody's way through them."""

    def __init__(self, releases: Sequence[ObservedRelease]) -> None:
        self.rows: ClassRows = number_classes(releases)
        self.patterns: Patterns = trace_patterns(releases, self.rows)

    @cached_property
    def pieces(self) -> Int32:
        return connect_classes(self.rows, self.patterns)

    @cached_property
    def several(self) -> Bool:
        """bool[rows]: classes of a piece with others."""
        return np.asarray(np.bincount(self.pieces)[self.pieces] > 1, dtype=np.bool_)

    @cached_property
    def describe_shape(self) -> SeriesShape:
        rows = self.rows
        smallest = int(rows.sets.sizes.min()) if len(rows.sets) else None
        if not is_invariant(rows, self.patterns):
            return SeriesShape(len(rows.shows), smallest, apart=False, merged=False, within=False, buckets=0)
        merged, within = bool(rows.merged.all()), bool(rows.merged_within(self.pieces).all())
        return SeriesShape(
            len(rows.shows),
            smallest,
            True,
            merged,
            within,
            len(sorted_unique(self.pieces[self.several].astype(np.int64))),
        )


def _make_histories(releases: Sequence[ObservedRelease], sets: list[tuple[int, ...]]) -> Iterator[Block]:
    """The buckets that show these sets of values."""
    if sets:
        rows = number_classes(releases)
        yield from make_blocks(releases, rows, trace_patterns(releases, rows, _find_shown_by(rows, sets)), apart=True)


def _find_shown_by(rows: ClassRows, wanted: list[tuple[int, ...]]) -> Bool:
    """bool[rows]: classes that show one of the wanted sets of values."""
    sets = rows.sets
    chosen = {tuple(values) for values in wanted}
    hit = np.array(
        [tuple(sets.values[sets.start[i] : sets.start[i + 1]].tolist()) in chosen for i in range(len(sets))],
        dtype=np.bool_,
    )
    return np.asarray(hit[rows.shows], dtype=np.bool_)


def locate_people(releases: Sequence[ObservedRelease], people: Int64) -> dict[int, Int64]:
    """Of some people (ascending), those in each release; nothing is read if there are none."""
    some = releases if len(people) else ()
    return {release.number: people[np.isin(people, require_members(release).subjects)] for release in some}
