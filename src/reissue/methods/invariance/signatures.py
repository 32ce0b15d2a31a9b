"""Signatures: the set of sensitive values a class shows, kept by its subjects for life.

Sets are held in compressed rows: `values[start[i]:start[i + 1]]` are the values of signature i, ascending. One such
position is called an *entry*, a (signature, value) pair; counts per pair are arrays over entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.sets import find_starts, lookup
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Int32, Int64
from reissue.errors import ChangeError, InfeasiblePolicy
from reissue.model.release import Coded, Facts, Table

STOPPED_BY_EXCHANGE = ("intersection", "difference", "possible-worlds")
"""What cannot succeed where every class shows its values equally often and a person's classes show the same ones, with
k <= m and c >= 1/m: any exchange of a signature's values makes a world of a world (docs/strategies/m-invariance.md)."""


@dataclass(frozen=True, eq=False)
class Signatures:
    """Distinct sets of sensitive values.

    start: int64[signatures + 1]; values: int32[entries], ascending within a signature
    """

    start: Int64
    values: Int32

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def sizes(self) -> Int64:
        """int64[signatures]: how many values each has."""
        return np.diff(self.start)

    @cached_property
    def owner(self) -> Int32:
        """int32[entries]: the signature of each entry."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.sizes)

    @cached_property
    def _keys(self) -> Int64:
        return (self.owner.astype(np.int64) << 32) | self.values

    def entries(self, signature: Int32, value: Int32) -> Int64:
        """int64[n]: the entry of each (signature, value), -1 where the signature lacks the value. O(n log entries)."""
        if len(self._keys) == 0:
            return np.full(len(signature), -1, dtype=np.int64)
        wanted = (signature.astype(np.int64) << 32) | value
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[at] == wanted, at, -1)

    def most(self, counts: Int64) -> Int64:
        """int64[signatures]: the largest of counts (int64[entries]) in each signature; no signature is empty."""
        if len(self) == 0:
            return NO_NUMBERS
        return np.asarray(np.maximum.reduceat(counts, self.start[:-1]), dtype=np.int64)

    def fewest(self, counts: Int64) -> Int64:
        """int64[signatures]: the smallest of counts (int64[entries]) in each signature."""
        return -self.most(-counts)

    @staticmethod
    def none() -> Signatures:
        return Signatures(np.zeros(1, dtype=np.int64), NO_CODES)


def _mix_values(values: Int32, salt: int) -> NDArray[np.uint64]:
    """uint64[n]: well spread numbers, one per value (splitmix64)."""
    x = values.astype(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (salt + 1)) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def hash_sets(start: Int64, values: Int32, salt: int = 0) -> NDArray[np.uint64]:
    """uint64[sets]: equal sets have equal numbers, others very likely not. O(entries)."""
    total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(_mix_values(values, salt), dtype=np.uint64)])
    sums: NDArray[np.uint64] = total[start[1:]] - total[start[:-1]] + np.diff(start).astype(np.uint64)
    return sums


def number_sets(start: Int64, values: Int32) -> tuple[Signatures, Int32]:
    """Number equal sets alike, in order of first appearance: (the distinct sets, int32[sets] number of each).

    Sets are compared by a hash, and every set is then compared with the first of its number, so the answer is exact.
    O(entries + sets log sets).
    """
    sizes = np.diff(start)
    for salt in range(8):
        _, first, number = np.unique(hash_sets(start, values, salt), return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int32)
        by_appearance = np.argsort(first)
        rank[by_appearance] = np.arange(len(first), dtype=np.int32)
        numbers = rank[number]
        first = first[by_appearance]
        if _are_same(start, values, first[numbers]):
            kept = Signatures(
                find_starts(sizes[first]),
                values[_positions_of(start[first], sizes[first])],
            )
            return kept, numbers
    raise RuntimeError("Eight independent hashes collided: the sets cannot be told apart.")


def _positions_of(start: Int64, sizes: Int64) -> Int64:
    """The positions start[i]..start[i]+sizes[i]-1 of every i, one after the other."""
    offset = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(start - offset, sizes), dtype=np.int64)


def _are_same(start: Int64, values: Int32, like: Int64) -> bool:
    """Whether every set i equals set like[i]."""
    sizes = np.diff(start)
    if not np.array_equal(sizes, sizes[like]):
        return False
    return bool(np.array_equal(values, values[_positions_of(start[like], sizes)]))


def collect_sets(classes: Int32, values: Int32, count: int) -> tuple[Signatures, Int32]:
    """The distinct value sets of `count` classes and int32[count], the set of each class. O(rows log rows)."""
    width = int(values.max()) + 1 if len(values) else 1
    pairs = np.sort(classes.astype(np.int64) * width + values)  # np.unique hashes first, which is slower here
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    sizes = np.bincount(pairs // width, minlength=count)
    start = find_starts(sizes)
    return number_sets(start, (pairs % width).astype(np.int32))


def join_sets(known: Signatures, more: Signatures) -> tuple[Signatures, Int32]:
    """`known` (whose numbers stay) with the sets of `more` that it lacks; int32[more]: the number of each of `more`."""
    start = np.concatenate([known.start, more.start[1:] + known.start[-1]])
    union, number = number_sets(start, np.concatenate([known.values, more.values]))
    return union, number[len(known) :]


# The caches: what folding `remember` over the releases gives.


@dataclass(frozen=True, eq=False)
class PastSignatures:
    """What m-invariance remembers of a series.

    signatures: every signature ever published
    subjects:   int64[people] ascending, everybody ever published; signature: int32[people], for life
    fakes:      the counterfeits of the last release: subject (int64), signature, value (int32)
    fake_codes: int32[fakes, attributes]
    lowest:     the lowest number a counterfeit ever had, 0 if there was none
    changed:    int64[n] ascending, people of whom releases of another origin showed different sets
    """

    signatures: Signatures
    subjects: Int64
    signature: Int32
    fakes: Table
    fake_codes: Int32
    lowest: int
    changed: Int64


def recall(caches: Mapping[str, Table], attributes: int) -> PastSignatures:
    """The caches as arrays; a series without releases knows nothing."""
    if "signatures" not in caches:
        fakes: Table = {"subject": NO_NUMBERS, "signature": NO_CODES, "value": NO_CODES}
        nobody = np.empty((0, attributes), dtype=np.int32)
        return PastSignatures(Signatures.none(), NO_NUMBERS, NO_CODES, fakes, nobody, 0, NO_NUMBERS)
    sets, people, fakes = caches["signatures"], caches["subjects"], caches["counterfeits"]
    count = int(sets["signature"][-1]) + 1 if len(sets["signature"]) else 0
    start = np.searchsorted(sets["signature"], np.arange(count + 1)).astype(np.int64)
    codes = [fakes[f"code{a}"] for a in range(attributes)]
    return PastSignatures(
        Signatures(start, np.asarray(sets["value"], dtype=np.int32)),
        np.asarray(people["subject"], dtype=np.int64),
        np.asarray(people["signature"], dtype=np.int32),
        fakes,
        np.stack(codes, axis=1).astype(np.int32) if codes else np.empty((len(fakes["subject"]), 0), dtype=np.int32),
        int(np.asarray(caches["numbers"]["lowest"], dtype=np.int64)[0]),
        np.asarray(caches["changed"]["subject"], dtype=np.int64),
    )


def remember(caches: Mapping[str, Table], release: Facts) -> dict[str, Table]:
    """The caches after `release`: a subject's signature is the set of values of its class in its first release.

    O(rows log rows + people ever published).
    """
    attributes = release.codes.shape[1]
    known = recall(caches, attributes)
    used = np.bincount(release.classes, minlength=release.class_count) > 0  # a class without rows has no signature
    row_class = (np.cumsum(used) - 1)[release.classes].astype(np.int32)
    sets, class_set = collect_sets(row_class, release.values, int(used.sum()))
    union, number = join_sets(known.signatures, sets)
    row_signature = number[class_set[row_class]]
    real = release.real
    subjects, signature, changed = _add_people(known, release.subjects[real], row_signature[real])
    fake = ~real
    fakes: dict[str, NDArray[np.generic]] = {
        "subject": release.subjects[fake],
        "signature": row_signature[fake],
        "value": release.values[fake],
    }
    fakes |= {f"code{a}": release.codes[fake, a] for a in range(attributes)}
    lowest = min(known.lowest, int(release.subjects[0])) if fake.any() else known.lowest
    return {
        "signatures": {"signature": union.owner, "value": union.values},
        "subjects": {"subject": subjects, "signature": signature},
        "changed": {"subject": changed},
        "counterfeits": fakes,
        "numbers": {"lowest": np.array([lowest], dtype=np.int64)},
    }


def _add_people(known: PastSignatures, subjects: Int64, signature: Int32) -> tuple[Int64, Int32, Int64]:
    """The table of people with those added who were never published before; and whose class shows another set now."""
    at, there = lookup(known.subjects, subjects)
    fresh, its = subjects[~there], signature[~there]
    differ = signature[there] != known.signature[at[there]]
    changed = np.union1d(known.changed, subjects[there][differ]) if differ.any() else known.changed
    people, all_its = np.concatenate([known.subjects, fresh]), np.concatenate([known.signature, its])
    if len(fresh) and len(known.subjects) and fresh[0] < known.subjects[-1]:
        order = np.argsort(people, kind="stable")
        return people[order], all_its[order], changed
    return people, all_its, changed


# What a snapshot finds in them.


def divide(snapshot: Coded, known: PastSignatures, m: int) -> Int32:
    """Phase 1. int32[rows]: the signature each row has since its first release, -1 for new rows. O(n log people)."""
    _refuse_changed(snapshot, known)
    at, there = lookup(known.subjects, snapshot.subjects)
    bucket = np.full(len(snapshot), -1, dtype=np.int32)
    bucket[there] = known.signature[at[there]]
    old = np.flatnonzero(there)
    sizes = known.signatures.sizes[bucket[old]]
    if len(old) and int(sizes.min()) < m:
        short = int((sizes < m).sum())
        raise InfeasiblePolicy(
            f"m={m} cannot hold: {short} of the {len(snapshot)} subjects were first published in a class of only "
            f"{int(sizes.min())} sensitive values. The largest feasible m is {int(sizes.min())}. "
            f"Lower m, or start a new series."
        )
    strayed = int((known.signatures.entries(bucket[old], snapshot.values[old]) < 0).sum())
    if strayed:
        raise ChangeError(
            f"{strayed} subjects have a sensitive value that is not in the signature they were published with. This "
            f'strategy protects values that persist. Use on_change = "new-subject", or a strategy for changing values.'
        )
    return bucket


def _refuse_changed(snapshot: Coded, known: PastSignatures) -> None:
    """Whoever was shown with two sets has only their intersection left, which no later class can make good."""
    changed = snapshot.subjects[lookup(known.changed, snapshot.subjects)[1]]
    if len(changed) == 0:
        return
    raise InfeasiblePolicy(
        f"{len(changed):,} of the {len(snapshot):,} subjects were already shown with different sets of sensitive "
        f"values in earlier releases, for example {{subject:{int(changed.min())}}}. What is out cannot be taken back, "
        f"and this strategy promises one set for life. Leave them out of the snapshot, or look at what another "
        f"strategy would add to what is out: `reissue publish --dry-run --strategy standing`."
    )


class ValuesLeft:
    """How many rows of each value are still to be assigned, the most frequent first, then by number.

    Counts only fall, so what the heap says of a value that was taken since is an upper bound, put right when it comes
    up. Every value is in it once.
    """

    def __init__(self, rest: Int64) -> None:
        self.left: list[int] = rest.tolist()
        self.rows: int = sum(self.left)
        self._heap = [(-count, value) for value, count in enumerate(self.left) if count]
        heapify(self._heap)

    def take(self, values: Sequence[int], number: int) -> None:
        """Rows of each of these go into `number` sets."""
        for value in values:
            self.left[value] -= number
        self.rows -= number * len(values)

    def take_most_frequent(self, m: int) -> tuple[list[int], int]:
        """The b >= m most frequent values go, in as many sets as leave the others m-eligible. O(b log values).

        b is m, unless more than m values tie at the limit: then the smallest b that lets at least one set go.
        """
        top: list[int] = []
        number, size = 0, m - 1
        while number <= 0:
            size += 1
            while len(top) <= size and self._heap:
                self._pop(top)
            if len(top) < size:
                raise RuntimeError("The rows to assign are not m-eligible.")
            following = self.left[top[size]] if len(top) > size else 0
            number = min(self.left[top[size - 1]], (self.rows - m * following) // size)
            if size > m:
                number = min(number, (self.rows - m * self.left[top[0]]) // (size - m))
        self.take(top[:size], number)
        self._push(top)
        return top[:size], number

    def count_sets(self, values: Sequence[int], m: int) -> int:
        """How many sets of these can go so that the rest stays m-eligible; it only ever falls, too. O(b log values).

        A set takes at least m rows and at most one of the most frequent value outside, so rows - m x that only falls.
        """
        counts, size = [self.left[value] for value in values], len(values)
        number = min(counts)
        if number <= 0:
            return 0
        top: list[int] = []
        while self._heap and (not top or top[-1] in values):
            self._pop(top)
        outside = [self.left[value] for value in top[-1:] if value not in values]  # it limits how many rows may go
        self._push(top)
        number = min(number, (self.rows - m * max(outside, default=0)) // size)
        if size > m:
            number = min(number, (self.rows - m * max(counts)) // (size - m))
        return number

    def _pop(self, top: list[int]) -> None:
        """Move the most frequent value to `top`, if any is left."""
        while self._heap:
            count, value = heappop(self._heap)
            if self.left[value] == -count:
                top.append(value)
                return
            self._push([value])

    def _push(self, values: Iterable[int]) -> None:
        for value in values:
            if self.left[value]:
                heappush(self._heap, (-self.left[value], value))
