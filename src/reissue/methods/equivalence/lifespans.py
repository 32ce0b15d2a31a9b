"""The graph of a bucket's history: what e-equivalence keeps of the past.

The bucket's snapshots are nodes, numbered by release; node 0 stands for "still there". Everybody who entered with
release i and left with release j is an edge i-j, so a bucket is a table of weighted lifespans, not of people. An
attack gives every node a number x; it shows entered - left = x[i] - x[j] of each person, and its size is at least a
cut of the graph (theorem 2 of He, Barman & Naughton 2011).

Release n changes only what lies between n and 0. If x[n] = x[0], the attack was possible before release n with the
same result. Otherwise its size is at least the minimum cut *between n and 0*. So it is enough that this one cut is
large enough whenever a release is made, or that n and 0 are not connected at all (then x can be shifted until
x[n] = x[0]). Somebody who left and came back has two lifespans whose numbers may cancel: such people never count as
edges, and where there are any the shift is not allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.flow.mincut import cut_between
from reissue.arrays.sets import lookup
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.invariance.signatures import PastSignatures, recall, remember
from reissue.model.release import Facts, Table

TWICE = -1
"""Entry of somebody who left and came back."""


@dataclass(frozen=True, eq=False)
class Spans:
    """The history of all buckets.

    known:    signatures, people, counterfeits
    entered:  int32[people] release of entry, or TWICE; left: int32[people] release of leaving, 0 = there
    fake_entered: int32[fakes]
    closed:   columns signature, entered, left (int32), count (int64): lifespans that have ended
    promised: the smallest e that all releases so far were made with; 1 if one was made without
    """

    known: PastSignatures
    entered: Int32
    left: Int32
    fake_entered: Int32
    closed: Table
    promised: int


def recall_spans(caches: Mapping[str, Table], attributes: int) -> Spans:
    known = recall(caches, attributes)
    none = np.empty(0, dtype=np.int32)
    if "lifespans" not in caches:
        closed: Table = {"signature": none, "entered": none, "left": none, "count": np.empty(0, dtype=np.int64)}
        return Spans(known, none, none, none, closed, np.iinfo(np.int32).max)
    people = caches["subjects"]
    return Spans(
        known,
        np.asarray(people["entered"], dtype=np.int32),
        np.asarray(people["left"], dtype=np.int32),
        np.asarray(caches["counterfeits"]["entered"], dtype=np.int32),
        caches["lifespans"],
        int(np.asarray(caches["numbers"]["promised"], dtype=np.int64)[0]),
    )


def remember_spans(caches: Mapping[str, Table], release: Facts) -> dict[str, Table]:
    """The caches after `release`. O(rows log rows + people ever published + lifespans)."""
    before = recall_spans(caches, release.codes.shape[1])
    after = remember(caches, release)
    now = release.number
    people, real = after["subjects"], release.subjects[release.real]
    subjects = np.asarray(people["subject"], dtype=np.int64)
    signature = np.asarray(people["signature"], dtype=np.int32)
    at, _ = lookup(subjects, before.known.subjects)
    entered, left = np.full(len(subjects), now, dtype=np.int32), np.zeros(len(subjects), dtype=np.int32)
    entered[at], left[at] = before.entered, before.left
    here = np.zeros(len(subjects), dtype=np.bool_)
    here[lookup(subjects, real)[0]] = True
    gone, back = (left == 0) & ~here, (left > 0) & here
    once = entered != TWICE
    ended = _make_table(
        signature[gone & once], entered[gone & once], np.full(int((gone & once).sum()), now, np.int32), 1
    )
    undone = _make_table(signature[back & once], entered[back & once], left[back & once], -1)
    left[gone], left[back], entered[back] = now, 0, TWICE
    fake_entered, retired = _follow_fakes(before, after["counterfeits"], now)
    promised = min(before.promised, int(np.asarray(release.extras["e"])[0]) if "e" in release.extras else 1)
    return {
        **after,
        "subjects": {**people, "entered": entered, "left": left},
        "counterfeits": {**after["counterfeits"], "entered": fake_entered},
        "lifespans": _sum_spans(before.closed, ended, undone, retired),
        "numbers": {**after["numbers"], "promised": np.array([promised], dtype=np.int64)},
    }


def _follow_fakes(before: Spans, fakes: Table, now: int) -> tuple[Int32, Table]:
    """(int32[fakes] entry of each counterfeit of this release, the lifespans of those that were retired)."""
    old = np.asarray(before.known.fakes["subject"], dtype=np.int64)
    numbers = np.asarray(fakes["subject"], dtype=np.int64)
    order = np.argsort(old)
    at, there = lookup(old[order], numbers)
    entered = np.full(len(numbers), now, dtype=np.int32)
    entered[there] = before.fake_entered[order][at[there]]
    out = ~np.isin(old, numbers)
    signature = np.asarray(before.known.fakes["signature"], dtype=np.int32)
    return entered, _make_table(signature[out], before.fake_entered[out], np.full(int(out.sum()), now, np.int32), 1)


def _make_table(signature: Int32, entered: Int32, left: Int32, count: int) -> Table:
    columns: dict[str, NDArray[np.generic]] = {"signature": signature, "entered": entered, "left": left}
    return {**columns, "count": np.full(len(signature), count, dtype=np.int64)}


def remove_spans(closed: Table, signature: Int32, entered: Int32, left: Int32) -> Table:
    """`closed` without the lifespans of these people, who come back now."""
    return _sum_spans(closed, _make_table(signature, entered, left, -1)) if len(signature) else closed


def _sum_spans(*tables: Table) -> Table:
    """The tables together, one row per lifespan, those without people left out."""
    columns = [np.concatenate([table[name] for table in tables]) for name in ("signature", "entered", "left", "count")]
    signature, entered, left, count = columns
    order = np.lexsort((left, entered, signature))
    keys = np.stack([signature, entered, left])[:, order]
    first = np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)))[: len(order)]
    total = np.add.reduceat(count[order], first) if len(order) else count
    kept = np.flatnonzero(total != 0)
    signature, entered, left = keys[:, first[kept]] if len(order) else keys
    return {"signature": signature, "entered": entered, "left": left, "count": total[kept]}


@dataclass(frozen=True, eq=False)
class Events:
    """What release `now` does to the buckets, as lifespans of people and counterfeits together.

    stay, gone: (signature int32[n], entered int32[n], count int64[n]) of those who stay and those who leave
    direct:     int64[signatures] rows that enter for the first time
    other:      bool[signatures] somebody who was there twice enters or leaves
    odd:        bool[signatures] somebody of the bucket was ever there twice
    """

    now: int
    stay: tuple[Int32, Int32, Int64]
    gone: tuple[Int32, Int32, Int64]
    direct: Int64
    other: Bool
    odd: Bool

    @property
    def touched(self) -> Bool:
        """bool[signatures]: the bucket differs from its last snapshot."""
        touched = (self.direct > 0) | self.other
        touched[self.gone[0]] = True
        return touched


def find_new_cuts(events: Events, closed: Table, enough: int) -> Int64:
    """int64[signatures]: the minimum cut between the new snapshot and node 0; -1 where nothing changed.

    Values above `enough` are only known to be above it: rows that enter now, and for every release of entry the
    smaller of those who leave and those who stay, are disjoint paths, which settles nearly all buckets without a flow.
    O(lifespans log lifespans) plus a small flow for each undecided bucket.
    """
    cuts = events.direct.copy()
    width = events.now + 1
    stay, gone = (_pack_spans(part, width) for part in (events.stay, events.gone))
    _, a, b = np.intersect1d(stay[0], gone[0], assume_unique=True, return_indices=True)
    np.add.at(cuts, stay[0][a] // width, np.minimum(stay[1][a], gone[1][b]))
    touched = events.touched
    cuts[~touched] = -1
    for signature in np.flatnonzero(touched & (cuts <= enough)):
        cuts[signature] = cut_between(*_build_graph(int(signature), events, closed))[0]
    return cuts


def _pack_spans(part: tuple[Int32, Int32, Int64], width: int) -> tuple[Int64, Int64]:
    """(int64[] distinct signature * width + entered, int64[] their counts)."""
    keys, inverse = np.unique(part[0].astype(np.int64) * width + part[1], return_inverse=True)
    return keys, np.bincount(inverse, weights=part[2], minlength=len(keys)).astype(np.int64)


def _build_graph(signature: int, events: Events, closed: Table) -> tuple[Int64, int, int]:
    """(weights of the bucket's graph, its node of this release, its node 0); nodes without edges are left out."""
    rows = slice(*np.searchsorted(closed["signature"], [signature, signature + 1]))
    edges = [(np.asarray(closed["entered"])[rows], np.asarray(closed["left"])[rows], np.asarray(closed["count"])[rows])]
    for part, end in ((events.stay, 0), (events.gone, events.now)):
        own = part[0] == signature
        edges.append((part[1][own], np.full(int(own.sum()), end), part[2][own]))
    edges.append((np.array([events.now]), np.array([0]), events.direct[signature : signature + 1]))
    tail, head, count = (np.concatenate(column).astype(np.int64) for column in zip(*edges, strict=True))
    return (*weigh_graph(tail, head, count, events.now),)


def weigh_graph(tail: Int64, head: Int64, count: Int64, now: int) -> tuple[Int64, int, int]:
    """(symmetric int64[nodes, nodes], position of node `now`, position of node 0) of weighted lifespans."""
    nodes = np.unique(np.concatenate([tail, head, [0, now]]))
    weights = np.zeros((len(nodes), len(nodes)), dtype=np.int64)
    i, j = np.searchsorted(nodes, tail), np.searchsorted(nodes, head)
    np.add.at(weights, (i, j), count)
    np.add.at(weights, (j, i), count)
    np.fill_diagonal(weights, 0)
    return weights, int(np.searchsorted(nodes, now)), 0
