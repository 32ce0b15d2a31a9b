"""Searching a series for value equivalence attacks: bucket by bucket, by integer program, or in pairs of classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from reissue.methods.equivalence.attack_findings import FindingWriter
from reissue.methods.equivalence.attack_tally import SearchTotals
from reissue.methods.equivalence.class_pairs import ClassPairs, find_exposed
from reissue.methods.equivalence.person_matrix import Block
from reissue.methods.equivalence.smallest_attack import (
    AttackWeights,
    find_smallest_new_cut,
    find_whole_cut,
    solve_smallest_attack,
    try_attacks,
)
from reissue.model.observed import Observed

if TYPE_CHECKING:
    from reissue.methods.equivalence.attack import Equivalence

_NO_ATTACK = 2**62
_MOST_COLUMNS = 1500
"""Beyond this many kinds of people a block is too large for the integer program."""


@dataclass
class EquivalenceSearch:
    """Collects bounds, attacks and people at risk over the parts of a series."""

    attack: Equivalence
    series: Observed
    tally: SearchTotals = field(init=False)
    until: float = field(init=False)
    shown: FindingWriter = field(init=False)

    def __post_init__(self) -> None:
        self.tally = SearchTotals(self.attack.limit)
        self.until = monotonic() + self.attack.time_limit
        self.shown = FindingWriter(self.attack.name, self.attack.e, self.series)

    def bucket(self, block: Block, *, only_last: bool = False) -> None:
        """A merged bucket: bound by cuts, attacks found, the gap closed if asked for or if publish must know."""
        cut = find_smallest_new_cut(block, only_last=only_last)
        if cut is None:
            return
        bound = -(-cut // 2)
        if not only_last:
            self.tally.cut_of(find_whole_cut(block))
        if only_last and bound >= self.attack.e:
            self.tally.bound(bound)
            return
        ways = try_attacks(block)
        best = ways[0].size if ways else None
        if (self.attack.exact or only_last) and (best is None or bound < best):
            bound, ways = self._programmed(block, bound, ways)
            best = ways[0].size if ways else None
        if bound == _NO_ATTACK:
            return
        self.tally.bound(bound)
        self.tally.closed &= best is not None and bound >= best
        self._ways(block, ways)
        if only_last and bound < self.attack.e and (best is None or best >= self.attack.e):
            self.write_unproven(self.shown.name_classes(block, np.arange(len(block.release))), bound)

    def program(self, block: Block) -> None:
        """A block without a bound by cuts, if it is small enough for the integer program."""
        if len(block.weight) > _MOST_COLUMNS:
            self.too_large()
            return
        bound, ways = self._programmed(block, 1, try_attacks(block))
        if bound == _NO_ATTACK:
            return
        self.tally.closed &= bool(ways) and bound >= ways[0].size
        self.tally.bound(bound)
        self._ways(block, ways)

    def too_large(self) -> None:
        """Part of the series was left to the pairs: nothing is proven."""
        self.tally.closed = False
        self.tally.bound(1)

    def _programmed(self, block: Block, bound: int, ways: list[AttackWeights]) -> tuple[int, list[AttackWeights]]:
        seconds = self.until - monotonic()
        if seconds <= 0:
            return bound, ways
        most = ways[0].size if ways else int(block.weight.sum())
        proof = solve_smallest_attack(block, most, seconds)
        if proof.way is not None and (not ways or proof.way.size < ways[0].size):
            ways = [proof.way, *ways]
        if not ways and proof.proven:
            return _NO_ATTACK, ways
        return max(bound, min(proof.bound, most)), ways

    def _ways(self, block: Block, ways: list[AttackWeights]) -> None:
        if not ways:
            return
        self.tally.attack(ways[0].size)
        breaches = [way for way in ways if way.size < self.attack.e]
        self.tally.total += len(breaches)
        if not breaches and self.tally.beaten(ways[0].size, self.shown.name_classes(block, ways[0].rows)):
            return
        described = sorted(breaches or ways[:1], key=lambda way: (way.size, self.shown.name_classes(block, way.rows)))
        self.tally.describe([self.shown.write_weights(block, way) for way in described[: self.attack.limit]])
        for way in breaches:
            self.tally.risky += [block.who(int(c)) for c in np.flatnonzero(way.shown) if block.real[c]]

    def pairs(self, pairs: ClassPairs) -> None:
        """Two classes against each other."""
        self.tally.closed = False
        if len(pairs.size) == 0:
            return
        self.tally.attack(int(pairs.size.min()))
        chosen = np.flatnonzero(pairs.size < self.attack.e)
        self.tally.total += len(chosen)
        if len(chosen):
            self.tally.risky.append(find_exposed(self.series.releases, pairs, chosen)[0])
        worst = np.lexsort((pairs.right, pairs.left, pairs.size))[: min(max(len(chosen), 1), self.attack.limit)]
        first = int(worst[0])
        if len(chosen) == 0 and self.tally.beaten(int(pairs.size[first]), self.shown.name_pair(pairs, first)):
            return
        self.tally.describe([self.shown.write_pair(pairs, int(i)) for i in worst])

    def write_unproven(self, classes: tuple[tuple[int, int], ...], bound: int) -> None:
        """Publish must be able to prove its promise: what cannot be decided counts as broken."""
        self.tally.total += 1
        self.tally.describe([self.shown.write_unproven(classes, bound)])
