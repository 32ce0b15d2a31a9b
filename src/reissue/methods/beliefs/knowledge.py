"""What the attacker is taken to know: given in files, uniform, or estimated from the publisher's own tables.

Whoever knows these as statistics is the worst case.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.sets import mix_bits, rank_keys
from reissue.arrays.types import Float64, Int32, Int64
from reissue.errors import InputError, SettingsError
from reissue.methods.beliefs.revision import Claims, MoveCounts, Moves, contract
from reissue.model.domain import Domain
from reissue.model.fragment_counts import Counts, FragmentCounts, TableCounts
from reissue.model.observed import Names
from reissue.model.release import Coded
from reissue.model.settings import FINITE, Within, check_settings

ESTIMATE, UNIFORM = "estimate", "uniform"


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """Where an attacker's knowledge comes from: "estimate", "uniform", or the path of a CSV or Parquet file.

    values:      PDsv, shares of the sensitive values by categories of quasi-identifiers
    transitions: PDcor of one step, how a value moves from one release to the next
    second:      PDcor of two steps (used with steps = 2)
    compromised: people whose value the attacker holds to know (subject, value, release, confidence); None: nobody
    unknown:     values in the files that the series has never seen: "refuse" them, or "drop" them and renormalize
    smoothing:   how many rows of the next coarser statistic are added to every estimated one
    """

    values: str = ESTIMATE
    transitions: str = ESTIMATE
    second: str = ESTIMATE
    compromised: str | None = None
    unknown: Literal["refuse", "drop"] = "refuse"
    smoothing: Annotated[float, Within("a number of rows, for example 10", above=0, most=FINITE)] = 10.0

    def __post_init__(self) -> None:
        check_settings(self)
        for name in ("values", "transitions", "second"):
            if not getattr(self, name):
                raise SettingsError(f'{name} is empty; use "estimate", "uniform" or the path of a file.')

    @property
    def files(self) -> tuple[str, ...]:
        """The paths among the settings."""
        given = [name for name in (self.values, self.transitions, self.second) if name not in (ESTIMATE, UNIFORM)]
        return (*given, *([] if self.compromised is None else [self.compromised]))


@dataclass(frozen=True, eq=False)
class Second:
    """PDcor of two steps, sparse: shares[i] of value last[i] after first[i] and between[i]; other pairs back off."""

    first: Int32
    between: Int32
    last: Int32
    shares: Float64


@dataclass(frozen=True, eq=False)
class ReadKnowledge:
    """Knowledge in codes, as read from files (or made by a program).

    boxes:  int32[categories, attributes, 2] and shares: float64[categories, values]: PDsv; a person belongs to the
            smallest box around them
    one:    float64[values, values]; second: two steps; claims: compromised records
    unmatched: claims about people whom the series does not know
    """

    boxes: Int32 | None = None
    shares: Float64 | None = None
    one: Float64 | None = None
    second: Second | None = None
    claims: Claims = field(default_factory=Claims.none)
    unmatched: int = 0


class Informed:
    """`knowledge` in the words of a person, and, once it is prepared, in codes."""

    knowledge: Knowledge
    _given: ClassVar[ReadKnowledge | None] = None  # an instance that was prepared has its own

    def prepare(self, names: Names) -> Self:
        """The same with the knowledge files read, their labels matched to the series' codes."""
        if not self.knowledge.files:
            return self.inform(ReadKnowledge())
        from reissue.methods.beliefs.knowledge_files import load_knowledge  # it imports this module

        return self.inform(load_knowledge(self.knowledge, names))

    def inform(self, given: ReadKnowledge) -> Self:
        """The same with knowledge in codes."""
        prepared = copy(self)
        object.__setattr__(prepared, "_given", given)
        return prepared

    @property
    def given(self) -> ReadKnowledge:
        """The knowledge in codes; a SettingsError if its files were not read."""
        if self._given is None and self.knowledge.files:
            raise SettingsError(
                f"The knowledge in {', '.join(self.knowledge.files)} has not been read. A series does that before it "
                "publishes; in a program call `prepare` first."
            )
        return self._given or ReadKnowledge()


def find_shares(
    knowledge: Knowledge,
    given: ReadKnowledge,
    codes: Int32,
    values: Int32,
    domains: Sequence[Domain],
    value_count: int,
    whole: TableCounts | None = None,
) -> tuple[Int32, Float64]:
    """PDsv for these rows: (int32[rows] category, float64[categories, value_count]). whole: see `count_fragment`."""
    if given.boxes is not None and given.shares is not None:
        category = find_categories(given.boxes, codes, domains)
        check_placed(int((category < 0).sum()))
        return category, _fit_values(given.shares, value_count)
    if knowledge.values == UNIFORM:
        return np.zeros(len(codes), dtype=np.int32), np.full((1, value_count), 1.0 / max(1, value_count))
    if whole is None:
        return estimate_shares(codes, values, domains, value_count, knowledge.smoothing)
    table = whole.values(value_count)
    return estimate_shares(codes, values, domains, value_count, knowledge.smoothing, table, whole.nearby)


def count_fragment(knowledge: Knowledge, snapshot: Coded, moves: MoveCounts, steps: int) -> FragmentCounts:
    """What one fragment counts for the others, so that all estimate the same: that of the whole table."""
    values = np.bincount(snapshot.values, minlength=snapshot.value_count).astype(np.int64)
    everywhere = {"values": Counts.of_values(values), **moves.counts(steps)}
    if knowledge.values != ESTIMATE:
        return FragmentCounts(everywhere)
    return FragmentCounts(everywhere, count_cells(snapshot.codes, snapshot.values, snapshot.domains), SUPPORT)


def find_categories(boxes: Int32, codes: Int32, domains: Sequence[Domain]) -> Int32:
    """int32[rows]: the smallest box (in shares of the domains) around each row, -1: none. O(categories * rows)."""
    span = np.array([domain.span + 1 for domain in domains], dtype=np.float64)
    volume = np.prod((boxes[:, :, 1].astype(np.float64) - boxes[:, :, 0] + 1.0) / span, axis=1)
    category = np.full(len(codes), -1, dtype=np.int32)
    for i in np.argsort(-volume, kind="stable"):  # the smallest last, so that it wins
        inside = ((codes >= boxes[i, :, 0]) & (codes <= boxes[i, :, 1])).all(axis=1)
        category[inside] = i
    return category


def check_placed(outside: int) -> None:
    """Raise an InputError if so many rows belong to no category."""
    if outside:
        raise InputError(
            f"{outside:,} rows belong to no category of the table of value shares. Add a line for "
            "them, or one for everybody (* in every column), which is used where no narrower one fits."
        )


def _fit_values(shares: Float64, values: int) -> Float64:
    """float64[n, values]: given shares with zeros for values learned since the file was read."""
    fitted = np.zeros((len(shares), values))
    fitted[:, : shares.shape[1]] = shares[:, :values]
    return fitted


def find_moves(
    knowledge: Knowledge, given: ReadKnowledge, counts: MoveCounts, table: Float64, steps: int, value_count: int
) -> Moves:
    """PDcor as the revised prior uses it; `counts` of the series so far, `table` float64[values] shares of values."""
    one = _find_one_step(knowledge, given, counts, table, value_count)
    if steps == 1:
        return Moves(one)
    if given.second is not None:
        second = given.second
        backed = np.ones((value_count, value_count))
        backed[second.first, second.between] = 0.0
        return Moves(one, contract(one, second.first, second.between, second.last, second.shares, backed))
    if knowledge.second == UNIFORM:
        return Moves(one, np.full((value_count, value_count), 1.0 / max(1, value_count)))
    if knowledge.transitions == ESTIMATE or counts.times.sum() > 0:
        return Moves(one, counts.two_steps(one, knowledge.smoothing))
    return Moves(one, one @ one)


def _find_one_step(
    knowledge: Knowledge, given: ReadKnowledge, counts: MoveCounts, table: Float64, value_count: int
) -> Float64:
    if given.one is not None:
        one = _fit_values(given.one, value_count)
        fresh = np.full((value_count - len(one), value_count), 1.0 / max(1, value_count))
        return np.concatenate([one, fresh])
    if knowledge.transitions == UNIFORM:
        return np.full((value_count, value_count), 1.0 / max(1, value_count))
    return counts.one_step(table, knowledge.smoothing)


SUPPORT = 50
"""Rows that a category of quasi-identifiers needs: with fewer it would describe people, not a statistic."""
DEPTH = 6
"""Refinements of the quasi-identifiers at most, each halving numeric ranges and descending one level of taxonomies."""


def estimate_shares(
    codes: Int32,
    values: Int32,
    domains: Sequence[Domain],
    value_count: int,
    smoothing: float,
    table: Int64 | None = None,
    cells: Counts | None = None,
) -> tuple[Int32, Float64]:
    """PDsv: (int32[rows] category, float64[categories, value_count] shares). O(DEPTH n log n).

    Categories are refined from "everybody" down; one with fewer than SUPPORT rows is not made, its rows stay in the
    category above. A category's shares are smoothed by those above: (count + smoothing * above) / (rows + smoothing);
    "everybody" is smoothed by the uniform distribution. Where the rows are a fragment, `table` int64[value_count] and
    `cells` are counts of the whole table: then the shares are those of the whole table's categories.
    """
    category = np.zeros(len(codes), dtype=np.int32)
    counts = np.bincount(values, minlength=value_count) if table is None else table
    shares: Float64 = ((counts + smoothing / max(1, value_count)) / (counts.sum() + smoothing))[None, :]
    rows = np.arange(len(codes))  # those whose cell is a category so far
    for depth in range(1, DEPTH + 1):
        keys = hash_cells(codes, rows, domains, depth)
        first, cell = rank_keys(keys)
        key = keys[first]
        size = np.bincount(cell, minlength=len(key)) if cells is None else cells.sizes(key)
        kept = np.flatnonzero(size >= SUPPORT)
        if len(kept) == 0:
            break
        number = np.full(len(key), -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        inside = number[cell] >= 0
        rows, own = rows[inside], number[cell[inside]]
        if cells is None:
            flat = np.bincount(own * value_count + values[rows], minlength=len(kept) * value_count)
            found = flat.reshape(len(kept), value_count)
        else:
            found = cells.matrix(key[kept], value_count)
        above = np.empty(len(kept), dtype=np.int64)
        above[own] = category[rows]  # all rows of a cell come from one category
        category[rows] = (len(shares) + own).astype(np.int32)
        fresh = (found + smoothing * shares[above]) / (size[kept] + smoothing)[:, None]
        shares = np.concatenate([shares, fresh])
    return category, shares


def count_cells(codes: Int32, values: Int32, domains: Sequence[Domain]) -> Counts:
    """How often each value occurs in every cell of every depth: what fragments count for `estimate_shares`."""
    rows = np.arange(len(codes))
    keys = [hash_cells(codes, rows, domains, depth) for depth in range(1, DEPTH + 1)]
    return Counts.of(np.concatenate(keys), np.tile(values, DEPTH))


def hash_cells(codes: Int32, rows: Int64, domains: Sequence[Domain], depth: int) -> Int64:
    """int64[rows]: a hash of the cell of each row, the same in every fragment. Cells of one depth nest in the next.

    64 bits: among a million cells, two are taken for one with a chance of 1 in 30 million.
    """
    key = mix_bits(np.full(len(rows), depth, dtype=np.uint64))
    for a, domain in enumerate(domains):
        own = codes[rows, a] if len(rows) < len(codes) else codes[:, a]
        part: NDArray[np.int64]
        if domain.tree is None:
            offset = np.clip(own.astype(np.int64) - domain.lo, 0, domain.span)
            part = (offset << depth) // (domain.span + 1)
        else:
            part = domain.tree.at_level(max(0, domain.tree.height - depth))[own].astype(np.int64)
        key = mix_bits(key ^ part.astype(np.uint64))
    return key.view(np.int64)
