"""Insensitive columns of a release: people's own, and those that people lend to counterfeits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reissue.arrays.types import Bool, Int32, Int64
from reissue.errors import InfeasiblePolicy
from reissue.model.boxes import hilbert_keys
from reissue.model.counterfeit_rows import lend_columns
from reissue.model.dependences import Dependence, find_dependences
from reissue.model.lenders import find_lenders
from reissue.model.release import Coded, Facts


@dataclass(frozen=True, eq=False)
class LentColumns:
    """Whence the published rows have their insensitive columns.

    rows: int64[published], the row of the table that each carries; a counterfeit's, -1 if there is nobody to have them
    from, were added to the table; steps: what `release.steps` says of it
    """

    rows: Int64
    table: pa.Table
    steps: tuple[str, ...] = ()

    @staticmethod
    def join(parts: Sequence[LentColumns], order: Int64 | None) -> LentColumns:
        """Those of all fragments, in this order of their rows one after the other."""
        offset = np.cumsum([0, *(len(part.table) for part in parts)])
        rows = np.concatenate([np.where(one.rows < 0, -1, one.rows + offset[i]) for i, one in enumerate(parts)])
        return LentColumns(rows if order is None else rows[order], pa.concat_tables([part.table for part in parts]))


NOBODY = np.iinfo(np.int64).min
"""In the place of a lender where nobody says the same."""


def lend(
    coded: Coded, facts: Facts, previous: Facts | None, insensitive: pa.Table, seed: int
) -> tuple[LentColumns, Facts]:
    """(whence published rows have their insensitive columns, the facts with what is remembered of that).

    A real row carries its own. Empty cells or copies would give counterfeits away: they have columns from people near
    them, keep them in later releases as people do, and follow when those people's cells change.
    """
    order = np.argsort(coded.subjects, kind="stable")
    real, people = facts.real, len(coded)
    rows = np.full(len(facts.subjects), -1, dtype=np.int64)
    rows[real] = order[np.searchsorted(coded.subjects[order], facts.subjects[real])]
    fakes = int((~real).sum())
    if fakes == 0 or insensitive.num_columns == 0 or people == 0:
        return LentColumns(rows, insensitive), facts
    rows[~real] = np.arange(people, people + fakes)
    kept, cells, lenders = _find_lent(previous, facts.subjects[~real], insensitive.schema)
    table = insensitive if cells is None else pa.concat_tables([insensitive, cells]).unify_dictionaries()
    present = coded.subjects[order]
    at = np.minimum(np.searchsorted(present, lenders), people - 1)
    had = np.where(present[at] == lenders, order[at], np.arange(people, people + len(kept))[:, None])
    codes = np.stack([_number_cells(column) for column in table.columns], axis=1)
    own, said = (np.column_stack([side.codes, side.values]) for side in (coded, facts))
    lent, said = codes[:people], said[~real]
    whole = np.concatenate([own, lent], axis=1)
    depends = find_dependences(whole, own.shape[1], np.random.default_rng([seed, 6]))
    says = np.take_along_axis(codes, had, axis=0)
    stay = ~_contradict(depends, whole, np.concatenate([said[kept], says], axis=1))
    if any(2 * np.isin(cells, known).sum() < len(kept) for cells, known in zip(codes[people:].T, lent.T, strict=True)):
        stay[:] = False  # a column is written in another way now
    anew = _find_fleeting(table, had, people)
    kept, lenders, had, says = kept[stay], np.where(anew, NOBODY, lenders)[stay], had[stay], says[stay]
    new, drawn = np.setdiff1d(np.arange(fakes), kept), np.empty((fakes, insensitive.num_columns), dtype=np.int64)
    keys = hilbert_keys(np.concatenate([coded.codes, said[:, :-1]]), coded.domains)
    near = np.argsort(keys[:people], kind="stable")
    places = np.searchsorted(keys[near], keys[people:])
    rng, bound = np.random.default_rng([seed, 5]), sorted({one.columns for one in depends})
    if anew.any() and len(kept):
        had[:, anew] = _draw_anew(anew, own, lent, near, places[kept], said[kept], says, rng, bound)
        says = np.take_along_axis(codes, had, axis=0)
    known, other = np.concatenate([own, said[kept]]), np.concatenate([lent, says])
    drawn[kept], drawn[new] = had, lend_columns(known, other, near, places[new], said[new], rng, bound)
    says = np.take_along_axis(codes, drawn, axis=0)
    steps = _tell_dependences(depends, whole, np.concatenate([said, says], axis=1), insensitive.column_names, coded)
    more = [column.take(pa.array(drawn[:, a])) for a, column in enumerate(table.columns)]
    added = pa.Table.from_arrays(more, schema=insensitive.schema)
    whence = np.full(drawn.shape, NOBODY, dtype=np.int64)
    whence[kept] = lenders
    finds = find_lenders(own, lent, said, says, ~np.isin(whence, present), rng)
    whence = np.where(finds >= 0, coded.subjects[finds], whence)
    extras = {**facts.extras, _LENDERS: whence, _CELLS: _pack_cells(added)}
    return LentColumns(rows, pa.concat_tables([insensitive, added]), steps), replace(facts, extras=extras)


_FOLLOWED, _ALIKE = 8, 0.7
"""Lenders who are looked at, at least; a column whose new cells are ranked as its old ones at least so well goes on."""


def _find_fleeting(table: pa.Table, had: Int64, people: int) -> Bool:
    """bool[columns]: those of which most lenders show another cell now that does not go on from the last: a number of
    visits this month. There everybody has what the month brings, and what an old cell was says nothing.

    had: int64[kept, columns] the row of each counterfeit's lender; its last cells are the rows after those of people
    """
    found = np.zeros(table.num_columns, dtype=np.bool_)
    for a, column in enumerate(table.columns):
        at = np.flatnonzero(had[:, a] < people)
        now, last = (column.take(pa.array(rows)).to_pylist() for rows in (had[at, a], people + at))
        if len(at) < _FOLLOWED or 2 * sum(x != y for x, y in zip(now, last, strict=True)) < len(at):
            continue
        rank = {cell: place for place, cell in enumerate(sorted({*now, *last} - {None}), start=1)}
        ranks = [[rank.get(cell, 0) for cell in cells] for cells in (now, last)]
        varies = all(min(cells) < max(cells) for cells in ranks)
        found[a] = not varies or float(np.asarray(np.corrcoef(ranks))[0, 1]) < _ALIKE
    return found


def _draw_anew(
    anew: Bool,
    own: Int32,
    lent: Int32,
    near: Int64,
    places: Int64,
    said: Int32,
    says: Int32,
    rng: np.random.Generator,
    bound: Sequence[tuple[int, ...]],
) -> Int64:
    """int64[n, columns anew]: the rows from which counterfeits have these columns; what stays is as their own."""
    width, stays = own.shape[1], np.flatnonzero(~anew)
    order = [*range(width - 1), *(width + stays).tolist(), width - 1, *(width + np.flatnonzero(anew)).tolist()]
    at = {column: place for place, column in enumerate(order)}
    whole = np.concatenate([own, lent], axis=1)[:, order]
    says = np.concatenate([said, says], axis=1)[:, order]
    new = width + len(stays)
    sets = sorted(tuple(sorted(at[column] for column in one)) for one in bound)
    sets = [one for one in sets if one[-1] >= new]
    return lend_columns(whole[:, :new], whole[:, new:], near, places, says[:, :new], rng, sets)


def _contradict(depends: Sequence[Dependence], people: Int32, said: Int32) -> Bool:
    """bool[n]: which rows contradict what follows from several columns together."""
    found = np.zeros(len(said), dtype=np.bool_)
    for one in depends:
        found |= one.find_contradictions(people, said)
    return found


def _tell_dependences(
    depends: Sequence[Dependence], people: Int32, said: Int32, lent: Sequence[str], coded: Coded
) -> tuple[str, ...]:
    """For `release.steps`; raises InfeasiblePolicy where counterfeits would be recognized by them."""
    names = [*(domain.name for domain in coded.domains), "the sensitive value", *lent]
    told = [f"{_name(names, (one.follows,))} follows from {_name(names, one.causes)} together" for one in depends]
    for one, sentence in zip(depends, told, strict=True):
        broken = int(one.find_contradictions(people, said).sum())
        if broken:
            raise InfeasiblePolicy(
                f"Among people {sentence}, and {broken:,} of the {len(said):,} counterfeits that this release needs "
                "cannot keep to it: they would be recognized. Take one of these columns out of the schema's "
                "insensitive columns or make it coarser, or publish without counterfeits (a lower m, or standing)."
            )
    return (f"Counterfeits keep to it that {'; '.join(told)}.",) if told else ()


def _name(names: Sequence[str], columns: Sequence[int]) -> str:
    """Columns of the table as people call them, the last one after "and"."""
    *first, last = [name if name == "the sensitive value" else f"'{name}'" for name in (names[c] for c in columns)]
    return f"{', '.join(first)} and {last}" if first else last


_LENDERS, _CELLS = "lent_by", "lent_cells"
"""In the extras of a release: int64[counterfeits, columns] whose cells they have; uint8[] the cells, as Arrow streams
them. In both counterfeits are in the order of the facts."""


def _pack_cells(table: pa.Table) -> NDArray[np.uint8]:
    plain = [
        column.cast(kind.value_type) if pa.types.is_dictionary(kind := column.type) else column
        for column in table.columns
    ]
    table, sink = pa.table(plain, names=table.column_names), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _find_lent(previous: Facts | None, fakes: Int64, schema: pa.Schema) -> tuple[Int64, pa.Table | None, Int64]:
    """(int64[k] which counterfeits had such columns in the last release; their cells then; int64[k, columns] whose).

    fakes: int64[n] ascending
    """
    nothing = np.empty(0, dtype=np.int64), None, np.empty((0, len(schema)), dtype=np.int64)
    if previous is None or _CELLS not in previous.extras:
        return nothing
    cells = pa.ipc.open_stream(pa.py_buffer(np.ascontiguousarray(previous.extras[_CELLS]))).read_all()
    if set(cells.column_names) != set(schema.names):
        return nothing
    places = [cells.column_names.index(name) for name in schema.names]
    kept, at = np.intersect1d(fakes, previous.subjects[~previous.real], return_indices=True)[1:]
    try:
        cells = cells.select(schema.names).take(pa.array(at)).cast(schema)
    except pa.ArrowException:  # a table of another kind: the cells mean nothing in it
        return nothing
    return kept, cells, np.asarray(previous.extras[_LENDERS], dtype=np.int64)[at][:, places]


def _number_cells(column: pa.ChunkedArray) -> Int32:
    """int32[rows]: equal cells have equal numbers, empty ones have -1."""
    column = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return np.asarray(column.combine_chunks().indices.cast(pa.int64()).fill_null(-1)).astype(np.int32)
