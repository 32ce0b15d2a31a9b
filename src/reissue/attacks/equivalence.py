"""The value equivalence attack (He, Barman & Naughton 2011): two sets of people shown to have the same values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import ClassVar

import numpy as np

from reissue.attacks.base import Finding, Outcome
from reissue.core.association import members_of
from reissue.core.class_pairs import Pairs, class_pairs, exposed
from reissue.core.domain import Bool, Int32, Int64
from reissue.core.equivalence import Block, Patterns, Rows, blocks, components, invariant, patterns_of, rows_of
from reissue.core.newcomers import undecided
from reissue.core.observed import Observed, Release
from reissue.core.programs import Way, found_attacks, smallest_attack, smallest_new_cut, whole_cut
from reissue.core.sets import union
from reissue.core.settings import check_kinds
from reissue.errors import SettingsError

_NOBODY = "a row of nobody"
_NO_ATTACK = 2**62
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
_MOST_ROWS, _MOST_COLUMNS = 60, 1500
"""Beyond this many classes or kinds of people a block is too large for the integer program."""


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
        tally = _Tally(self, series)
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

    def _added(self, releases: Sequence[Release], tally: _Tally) -> bool:
        """What the last release adds, if the releases are merged buckets: those whose new cut is not plainly large."""
        open_sets = undecided(releases, 2 * (self.e - 1))
        if open_sets is None:
            return False
        tally.proved = self.e
        if open_sets:
            rows = rows_of(releases)
            patterns = patterns_of(releases, rows, _shown_by(rows, open_sets))
            for block in blocks(releases, rows, patterns, apart=True):
                tally.bucket(block, only_last=True)
        return True

    def _whole(self, releases: Sequence[Release], tally: _Tally) -> bool:
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

    def _pieces(self, releases: Sequence[Release], rows: Rows, patterns: Patterns, tally: _Tally) -> bool:
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


@dataclass
class _Tally:
    """Collects bounds, attacks and people at risk over the parts of a series."""

    attack: Equivalence
    series: Observed
    proved: int | None = None  # no attack is smaller
    smallest: int | None = None  # the smallest attack found
    cut: int | None = None
    cuts: list[tuple[Int32, Int64]] = field(default_factory=list)  # sets and cuts of buckets that share nobody
    across: int | None = None  # no attack that combines such buckets is smaller
    decomposes: int | None = None  # searching by signature is exact up to this size
    closed: bool = True  # whether bound and attack meet everywhere
    found: list[tuple[int, Finding]] = field(default_factory=list)
    total: int = 0
    risky: list[Int64] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    until: float = 0.0

    def __post_init__(self) -> None:
        self.until = monotonic() + self.attack.time_limit

    def bucket(self, block: Block, *, only_last: bool = False) -> None:
        """A merged bucket: bound by cuts, attacks found, the gap closed if asked for or if publish must know."""
        cut = smallest_new_cut(block, only_last=only_last)
        if cut is None:
            return
        bound = -(-cut // 2)
        if not only_last:
            whole = whole_cut(block)
            self.cut = whole if self.cut is None else min(self.cut, whole)
        if only_last and bound >= self.attack.e:
            self._bound(bound)
            return
        ways = found_attacks(block)
        best = ways[0].size if ways else None
        if (self.attack.exact or only_last) and (best is None or bound < best):
            bound, ways = self._programmed(block, bound, ways)
            best = ways[0].size if ways else None
        if bound == _NO_ATTACK:
            return
        self._bound(bound)
        self.closed &= best is not None and bound >= best
        self._ways(block, ways)
        if only_last and bound < self.attack.e and (best is None or best >= self.attack.e):
            self.unproven(tuple(zip(block.release.tolist(), block.number.tolist(), strict=True)), bound)

    def combined(self, *, others: bool) -> None:
        """Bound the attacks that combine buckets: people of two of them are shown, or more (see `components`).

        others: there are sets whose cuts are not known here
        """
        shows, cuts = (np.concatenate(column) for column in zip(*self.cuts, strict=True))
        order = np.lexsort((cuts, shows))
        shows, cuts = shows[order], cuts[order]
        same = np.flatnonzero(shows[1:] == shows[:-1])  # next to each other: the smallest two of a set among them
        bounds = [int((cuts[same] + cuts[same + 1]).min() + 1) // 2] if len(same) else []
        if (others or len(np.unique(shows)) > 1) and self.decomposes is not None:
            two = 0 if others else int(np.sort(cuts)[:2].sum() + 1) // 2
            bounds.append(max(self.decomposes + 1, two))
        if bounds:
            self.across = min(bounds)
            self._bound(self.across)
        least = int(cuts.min(initial=_NO_ATTACK))
        self.cut = least if self.cut is None else min(self.cut, least)

    def program(self, block: Block) -> None:
        """A block without a bound by cuts, if it is small enough for the integer program."""
        if len(block.weight) > _MOST_COLUMNS:
            self.too_large()
            return
        bound, ways = self._programmed(block, 1, found_attacks(block))
        if bound == _NO_ATTACK:
            return
        self.closed &= bool(ways) and bound >= ways[0].size
        self._bound(bound)
        self._ways(block, ways)

    def too_large(self) -> None:
        """Part of the series was left to the pairs: nothing is proven."""
        self.closed = False
        self._bound(1)

    def _programmed(self, block: Block, bound: int, ways: list[Way]) -> tuple[int, list[Way]]:
        seconds = self.until - monotonic()
        if seconds <= 0:
            return bound, ways
        most = ways[0].size if ways else int(block.weight.sum())
        proof = smallest_attack(block, most, seconds)
        if proof.way is not None and (not ways or proof.way.size < ways[0].size):
            ways = [proof.way, *ways]
        if not ways and proof.proven:
            return _NO_ATTACK, ways
        return max(bound, min(proof.bound, most)), ways

    def _bound(self, bound: int) -> None:
        self.proved = bound if self.proved is None else min(self.proved, bound)

    def _ways(self, block: Block, ways: list[Way]) -> None:
        if not ways:
            return
        self.smallest = ways[0].size if self.smallest is None else min(self.smallest, ways[0].size)
        breaches = [way for way in ways if way.size < self.attack.e]
        self.total += len(breaches)
        described = sorted(breaches or ways[:1], key=lambda way: way.size)[: self.attack.limit]
        self.found += [(way.size, self._described(block, way)) for way in described]
        for way in breaches:
            self.risky += [block.who(int(c)) for c in np.flatnonzero(way.shown) if block.real[c]]

    def pairs(self, pairs: Pairs) -> None:
        """Two classes against each other."""
        self.closed = False
        if len(pairs.size) == 0:
            return
        least = int(pairs.size.min())
        self.smallest = least if self.smallest is None else min(self.smallest, least)
        chosen = np.flatnonzero(pairs.size < self.attack.e)
        self.total += len(chosen)
        if len(chosen) == 0:
            chosen_shown = np.array([int(pairs.size.argmin())])
        else:
            self.risky.append(exposed(self.series.releases, pairs, chosen)[0])
            chosen_shown = chosen[np.argsort(pairs.size[chosen], kind="stable")[: self.attack.limit]]
        self.found += [(int(pairs.size[i]), self._pair(pairs, int(i))) for i in chosen_shown]
        self.found = sorted(self.found, key=lambda item: item[0])[: self.attack.limit]

    def _described(self, block: Block, way: Way) -> Finding:
        sides: list[list[str]] = [[], []]
        for c in np.flatnonzero(way.shown):
            nobody = [_NOBODY] * int(block.weight[c])
            names = [self.series.words.subject(int(s)) for s in block.who(int(c))] if block.real[c] else nobody
            sides[0 if way.shown[c] > 0 else 1] += [name for name in names for _ in range(abs(int(way.shown[c])))]
        classes = tuple((int(block.release[r]), int(block.number[r])) for r in way.rows)
        return self._finding(way.size, sides, classes)

    def _pair(self, pairs: Pairs, i: int) -> Finding:
        releases = self.series.releases
        earlier, later = releases[pairs.earlier], releases[pairs.later]
        inside = []
        for release, number in ((earlier, pairs.left[i]), (later, pairs.right[i])):
            members = members_of(release)
            inside.append(members.subjects[members.classes == number])
        sides: list[list[str]] = [[], []]
        for side in (0, 1):
            own, other = (int(times) for times in (pairs.times[i, side], pairs.times[i, 1 - side]))
            for subject in inside[side]:
                shown = own - (other if subject in inside[1 - side] else 0)
                sides[side] += [self.series.words.subject(int(subject))] * max(shown, 0)
            sides[side] += [_NOBODY] * (int(pairs.size[i]) - len(sides[side]))
        classes = ((earlier.number, int(pairs.left[i])), (later.number, int(pairs.right[i])))
        return self._finding(int(pairs.size[i]), sides, classes)

    def _finding(self, size: int, sides: list[list[str]], classes: tuple[tuple[int, int], ...]) -> Finding:
        words, e = self.series.words, self.attack.e
        numbers = tuple(sorted({number for number, _ in classes}))
        side_by_side = ", ".join(words.release(number) for number in numbers)
        left, right = (_listed(side) for side in sides)
        verb, value = ("has", "value") if size == 1 else ("have, together,", "values")
        return Finding(
            attack=self.attack.name,
            releases=numbers,
            subjects=tuple(dict.fromkeys(name for side in sides for name in side if name != _NOBODY)),
            classes=classes,
            value=None,
            level=float(size),
            unit="people on each side",
            threshold=float(e),
            breach=size < e,
            sentence=f"From {side_by_side}: {left} {verb} the same sensitive {value} as {right}.",
            details={"left": tuple(sides[0]), "right": tuple(sides[1])},
        )

    def unproven(self, classes: tuple[tuple[int, int], ...], bound: int) -> None:
        """Publish must be able to prove its promise: what cannot be decided counts as broken."""
        finding = self._finding(bound, [[], []], classes)
        sentence = (
            f"It could not be proven that no attack of fewer than {self.attack.e} people exists on the class "
            f"{classes[-1][1]} of {self.series.words.release(classes[-1][0])}: the bound is {bound}."
        )
        self.total += 1
        self.found.append((bound, Finding(**{**vars(finding), "breach": True, "sentence": sentence})))

    def outcome(self) -> Outcome:
        self.found.sort(key=lambda item: item[0])
        once = {(tuple(sorted(f.subjects)), f.level, f.classes): f for _, f in reversed(self.found)}
        ordered = sorted(once.values(), key=lambda finding: finding.level)
        findings = [finding for finding in ordered if finding.breach] or ordered[:1]
        measures: dict[str, float] = {}
        for name, value in (
            ("lower_bound", self.proved),
            ("smallest_attack", self.smallest),
            ("smallest_cut", self.cut),
        ):
            if value is not None:
                measures[name] = float(value)
        if self.across is not None:
            self.closed &= self.smallest is not None and self.smallest <= self.across
        if self.proved is not None and self.smallest is not None:
            within = self.decomposes is None or self.smallest <= self.decomposes
            measures["exact"] = float(within and (self.closed or self.proved >= self.smallest))
        return Outcome(
            attack=self.attack.name,
            findings=tuple(findings[: self.attack.limit]),
            total=max(self.total, len(findings)),
            at_risk=dict(self._at_risk()),
            measures=measures,
            notes=tuple(self.notes),
        )

    def _at_risk(self) -> Iterator[tuple[int, Int64]]:
        people = union(*self.risky)
        for release in self.series.releases if len(people) else ():
            yield release.number, people[np.isin(people, members_of(release).subjects)]


def _listed(names: list[str]) -> str:
    if len(names) > 12:
        return f"{', '.join(names[:11])} and {len(names) - 11} more"
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)
