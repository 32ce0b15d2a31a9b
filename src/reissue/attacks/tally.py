"""What the value equivalence attack has proven and found so far: bounds, attacks, people at risk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from reissue.attacks.base import Finding, Outcome
from reissue.attacks.shown import Shown
from reissue.core.association import members_of
from reissue.core.class_pairs import Pairs, exposed
from reissue.core.domain import Int32, Int64
from reissue.core.equivalence import Block
from reissue.core.observed import Observed
from reissue.core.programs import Way, found_attacks, smallest_attack, smallest_new_cut, whole_cut
from reissue.core.sets import union

if TYPE_CHECKING:
    from reissue.attacks.equivalence import Equivalence

_NO_ATTACK = 2**62
_MOST_COLUMNS = 1500
"""Beyond this many kinds of people a block is too large for the integer program."""


@dataclass
class Tally:
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
    until: float = field(init=False)
    shown: Shown = field(init=False)

    def __post_init__(self) -> None:
        self.until = monotonic() + self.attack.time_limit
        self.shown = Shown(self.attack.name, self.attack.e, self.series)

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
        self.found += [(way.size, self.shown.by_way(block, way)) for way in described]
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
        self.found += [(int(pairs.size[i]), self.shown.by_pair(pairs, int(i))) for i in chosen_shown]
        self.found = sorted(self.found, key=lambda item: item[0])[: self.attack.limit]

    def unproven(self, classes: tuple[tuple[int, int], ...], bound: int) -> None:
        """Publish must be able to prove its promise: what cannot be decided counts as broken."""
        self.total += 1
        self.found.append((bound, self.shown.unproven(classes, bound)))

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
