"""The value equivalence attack (He, Barman & Naughton 2011): two sets of people shown to have the same values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.attacks.base import Outcome
from reissue.attacks.tally import Tally
from reissue.core.class_pairs import class_pairs
from reissue.core.domain import Bool
from reissue.core.equivalence import Patterns, Rows, blocks, components, invariant, patterns_of, rows_of
from reissue.core.newcomers import undecided
from reissue.core.observed import Observed, Release
from reissue.core.programs import smallest_new_cut
from reissue.core.settings import check_kinds
from reissue.errors import SettingsError

_PAIRS_ONLY = "The releases are not merged buckets: classes were only set against each other in pairs; no lower bound."
_BY_SIGNATURE = (
    "Searched by signature: this finds the smallest attack if it has at most m people on each side (lemma 3)."
)
_IN_PIECES = (
    "Classes with the same values share nobody in parts of the series, and each part was searched by itself. The lower "
    "bound holds for every attack; attacks that combine such parts count in it, but were not searched for."
)
_MOST_BUCKETS = 10_000
"""Beyond this many buckets that share nobody, classes are only set against each other in pairs."""
_MOST_ROWS = 60
"""Beyond this many classes a block is too large for the integer program."""


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Weigh the classes of all releases so that their values cancel; who remains is shown to be equal.

    e:          two sets of fewer than e people shown to have the same values are a breach
    exact:      close the gap between the bound and the best attack found by an integer program
    time_limit: seconds for all integer programs together
    limit:      the most findings to describe
    """

    e: int = 2
    exact: bool = False
    time_limit: float = 10.0
    limit: int = 100

    name: ClassVar[str] = "equivalence"
    assumes: ClassVar[str] = "The attacker knows who is in which class of every release, and that values do not change."
    needs_members: ClassVar[bool] = True
    persistent: ClassVar[bool] = True
    separable: ClassVar[bool] = False  # classes that show the same values are compared even where they share nobody

    def __post_init__(self) -> None:
        check_kinds(type(self), vars(self))
        object.__setattr__(self, "e", int(self.e))
        if self.e < 1:
            raise SettingsError(f"e is {self.e}; it must be at least 1.")
        if not self.time_limit > 0:
            raise SettingsError(f"time_limit is {self.time_limit}; it must be more than 0 seconds.")
        if self.limit < 1:
            raise SettingsError(f"limit is {self.limit}; it must be at least 1.")

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        until = len(series) if involving is None else involving
        releases = series.releases if until == len(series) else series.releases[:until]
        tally = Tally(self, series)
        if until == 0:
            return tally.outcome()
        decided = self._whole(releases, tally) if involving is None else self._added(releases, tally)
        if not decided:
            for pairs in class_pairs(releases, involving=None if involving is None else involving - 1):
                tally.pairs(pairs)
            tally.notes.append(_PAIRS_ONLY)
            if involving is not None and tally.total == 0 and self.e > 1:  # every attack shows at least one person
                tally.unproven(((involving, 0),), 1)
        return tally.outcome()

    def _added(self, releases: Sequence[Release], tally: Tally) -> bool:
        """What the last release adds, if the releases are merged buckets: those whose new cut is not plainly large."""
        open_sets = undecided(releases, 2 * (self.e - 1), tally.series.first_new)
        if open_sets is None:
            return False
        tally.proved = self.e
        if open_sets:
            rows = rows_of(releases)
            patterns = patterns_of(releases, rows, _shown_by(rows, open_sets))
            for block in blocks(releases, rows, patterns, apart=True):
                tally.bucket(block, only_last=True)
        return True

    def _whole(self, releases: Sequence[Release], tally: Tally) -> bool:
        """The whole series: by signature if it is m-invariant, with the bound by cuts if its buckets are merged."""
        rows = rows_of(releases)
        patterns = patterns_of(releases, rows)
        apart = invariant(rows, patterns)
        merged = apart and bool(rows.merged.all())
        if apart and len(rows.sets):
            tally.decomposes = int(rows.sets.sizes.min())
            tally.notes.append(_BY_SIGNATURE)
        if merged:
            for block in blocks(releases, rows, patterns, apart=True):
                tally.bucket(block)
        elif apart and self._pieces(releases, rows, patterns, tally):
            merged = True
        elif self.exact:
            together = np.bincount(rows.shows)[rows.shows] if apart else np.full(len(rows.shows), len(rows.shows))
            small = np.asarray(together <= _MOST_ROWS, dtype=np.bool_)
            for block in blocks(releases, rows, patterns_of(releases, rows, small), apart=apart):
                tally.program(block)
            if not small.all():
                tally.too_large()
        return merged

    def _pieces(self, releases: Sequence[Release], rows: Rows, patterns: Patterns, tally: Tally) -> bool:
        """Whether buckets are merged within parts that share nobody, as in a series in fragments; then by parts.

        See `components` for why the bound holds. A class that shares nobody with another release cannot be attacked
        alone: its cut is all its rows, and only bounds attacks that combine it.
        """
        pieces = components(rows, patterns)
        several = np.bincount(pieces)[pieces] > 1
        if not rows.merged_within(pieces).all() or len(np.unique(pieces[several])) > _MOST_BUCKETS:
            return False
        small = self.exact & (np.bincount(rows.shows)[rows.shows] <= _MOST_ROWS)
        for block in blocks(releases, rows, patterns_of(releases, rows, small), apart=True) if small.any() else ():
            tally.program(block)  # all parts of a set at once
        if small.all():
            return True
        tally.notes.append(_IN_PIECES)
        sizes = np.concatenate([release.sizes for release in releases])
        alone = np.flatnonzero(~several & ~small & (sizes > 0))
        tally.cuts.append((rows.shows[alone], sizes[alone]))
        kept = patterns_of(releases, rows, np.asarray(several & ~small, dtype=np.bool_))
        where = {number: position for position, number in enumerate(release.number for release in releases)}
        for block in blocks(releases, rows, kept, apart=True, buckets=pieces):
            cut = smallest_new_cut(block)
            if cut is not None:
                row = int(rows.first[where[int(block.release[0])]] + block.number[0])
                tally.cuts.append((rows.shows[row : row + 1], np.array([cut], dtype=np.int64)))
            tally.bucket(block)
        tally.combined(others=bool(small.any()))
        return True


def _shown_by(rows: Rows, wanted: list[tuple[int, ...]]) -> Bool:
    """bool[rows]: classes that show one of the wanted sets of values."""
    sets = rows.sets
    chosen = {tuple(values) for values in wanted}
    hit = np.array(
        [tuple(sets.values[sets.start[i] : sets.start[i + 1]].tolist()) in chosen for i in range(len(sets))],
        dtype=np.bool_,
    )
    return np.asarray(hit[rows.shows], dtype=np.bool_)
