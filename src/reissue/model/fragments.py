"""How a table is divided into fragments: the parts in which a release is made, side by side on several workers.

The division is a tree of cuts made once, from a sample of the first snapshot, and kept for the life of a series. Who is
in which fragment never changes, so no two fragments ever share a person: each is a series of its own, and what holds
for every one of them holds for the whole (see docs/spark.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.sets import UInt64, find_starts, hash_numbers, permute_ids
from reissue.arrays.types import NO_CODES, Bool, Float64, Int32, Int64
from reissue.model.domain import Domain
from reissue.model.release import Facts

if TYPE_CHECKING:
    from reissue.model.requirement import Requirement
    from reissue.model.requirement_kernels import Limits


BY_IDENTIFIER = -1
"""In place of an attribute: rows are told apart by the hash of their identifier."""

LEAF = -2

SAMPLE = 200_000
"""Rows from which the cuts are made, about."""

UNEVEN = 0.2
"""A cut that misses its share of the rows by more than this is not made along an attribute.

Larger fragments than the mean do no harm where there are a few for every core; cuts in bad places cost utility.
"""


@dataclass(frozen=True, eq=False)
class Fragments:
    """A tree of cuts; node 0 is the root.

    attribute: int32[nodes] the attribute cut, BY_IDENTIFIER or LEAF
    cut:       int64[nodes] codes up to this one go left; hashes below this one (of 2**32); a leaf's fragment
    left, right: int32[nodes] children, -1 at leaves
    """

    attribute: Int32
    cut: Int64
    left: Int32
    right: Int32

    @property
    def count(self) -> int:
        return int((self.attribute == LEAF).sum())

    def of(self, codes: Int32, hashes: UInt64 | None = None) -> Int32:
        """int32[rows]: the fragment of each new subject. O(rows log fragments)."""
        block = 1 << 16  # a block at a time: its rows stay in the processor's cache
        if len(codes) > block:
            starts = range(0, len(codes), block)
            cuts = [slice(start, start + block) for start in starts]
            return np.concatenate([self.of(codes[some], None if hashes is None else hashes[some]) for some in cuts])
        found = np.empty(len(codes), dtype=np.int32)
        open_ = [(0, np.arange(len(codes)))]
        while open_:
            node, rows = open_.pop()
            attribute = int(self.attribute[node])
            if attribute == LEAF:
                found[rows] = self.cut[node]
                continue
            if attribute == BY_IDENTIFIER:
                assert hashes is not None
                # by the node, too: else a cut below another one would see only one side of the hashes
                own = hash_numbers(hashes[rows], node)
                low = (own >> np.uint64(32)).astype(np.int64) < self.cut[node]
            else:
                low = codes[rows, attribute] <= self.cut[node]
            open_ += [(int(self.left[node]), rows[low]), (int(self.right[node]), rows[~low])]
        return found

    def recoded(self, recode: Callable[[Int32], Int32]) -> Fragments:
        """The same cuts after codes have shifted; `recode` turns int32[n, attributes] of old codes into new ones."""
        nodes = np.flatnonzero(self.attribute >= 0)
        if len(nodes) == 0:
            return self
        width = int(self.attribute.max()) + 1
        codes = np.zeros((len(nodes), width), dtype=np.int32)
        codes[np.arange(len(nodes)), self.attribute[nodes]] = self.cut[nodes]
        cut = self.cut.copy()
        cut[nodes] = recode(codes)[np.arange(len(nodes)), self.attribute[nodes]]
        return replace(self, cut=cut)

    def to_dict(self) -> dict[str, list[int]]:
        names = ("attribute", "cut", "left", "right")
        return {name: [int(entry) for entry in getattr(self, name)] for name in names}

    @staticmethod
    def from_dict(given: Mapping[str, Sequence[int]]) -> Fragments:
        rows = zip(given["attribute"], given["cut"], given["left"], given["right"], strict=True)
        return Fragments(*_arrays(list(rows)))


def _arrays(nodes: Sequence[tuple[int, int, int, int]]) -> tuple[Int32, Int64, Int32, Int32]:
    attribute, cut, left, right = (list(column) for column in zip(*nodes, strict=True))
    return (
        np.array(attribute, dtype=np.int32),
        np.array(cut, dtype=np.int64),
        np.array(left, dtype=np.int32),
        np.array(right, dtype=np.int32),
    )


def divide_by_identifier(count: int) -> Fragments:
    """So many fragments of about equally many rows, by the hashes of identifiers alone."""
    return divide(np.empty((0, 0), dtype=np.int32), NO_CODES, (), count)


def divide(
    codes: Int32, values: Int32, domains: Sequence[Domain], count: int, requirement: Requirement | None = None
) -> Fragments:
    """Cuts for `count` fragments of about equally many rows, from a sample. O(sample * attributes * log count).

    Among cuts that are not too uneven, each is the best by four measures, all from 0 to 1 and added up: how far it
    misses the middle; how many rows it tears out of groups of their taxonomy, which could then be published on
    neither side; how much it tells about the sensitive value, since a fragment should be as diverse as the table; and
    how narrow the attribute has become, since cutting one alone leaves the others coarse. Where no attribute can be
    cut so that each side, as one class, meets the requirement, the identifiers' hashes are: these leave every value
    its share.
    """
    limits = None if requirement is None else requirement.limits(np.bincount(values).astype(np.int64))
    nodes: list[tuple[int, int, int, int]] = []
    given = 0

    def grow(rows: Int64, parts: int) -> int:
        nonlocal given
        here = len(nodes)
        nodes.append((LEAF, given, -1, -1))
        if parts == 1:
            given += 1
            return here
        share = (parts // 2) / parts
        chosen = _cut(codes[rows], values[rows], domains, share, limits)
        if chosen is None:  # the sample has no hashes: cut any rows alike
            low = hash_numbers(rows.astype(np.uint64), here) < np.uint64(share * 2**64)
            attribute, cut = BY_IDENTIFIER, int(share * 2**32)
        else:
            attribute, cut = chosen
            low = codes[rows, attribute] <= cut
        left, right = grow(rows[low], parts // 2), grow(rows[~low], parts - parts // 2)
        nodes[here] = (attribute, cut, left, right)
        return here

    grow(np.arange(len(codes)), count)
    return Fragments(*_arrays(nodes))


def _cut(
    codes: Int32, values: Int32, domains: Sequence[Domain], share: float, limits: Limits | None
) -> tuple[int, int] | None:
    """(attribute, last code on the left) of the best cut near the share; None if there is none."""
    best: tuple[float, int, int] | None = None
    for attribute, domain in enumerate(domains):
        column = codes[:, attribute]
        code, size = np.unique(column, return_counts=True)
        below = np.cumsum(size)[:-1] / max(1, len(column))
        even = np.flatnonzero(np.abs(below - share) <= UNEVEN)
        if len(even) == 0:
            continue
        costs = np.abs(below[even] - share) + [_measure_torn(domain, int(last), code, size) for last in code[even]]
        last = int(code[even[costs.argmin()]])
        low = column <= last
        if limits is not None and not _both_meet(limits, values, low):
            continue
        width = (int(code[-1]) - int(code[0])) / max(1, domain.hi - domain.lo)
        score = float(costs.min()) + _measure_distance(values, low) + (1 - width)
        if best is None or score < best[0]:
            best = score, attribute, last
    return None if best is None else best[1:]


def _measure_torn(domain: Domain, last: int, code: Int32, size: Int64) -> float:
    """The share of the rows in the largest group of the taxonomy, other than the whole, that the cut goes through."""
    tree = domain.nodes
    if tree is None:
        return 0.0
    through = np.flatnonzero((tree.lo <= last) & (tree.hi > last) & (tree.parent >= 0))
    before = find_starts(size)
    inside = (
        before[np.searchsorted(code, tree.hi[through], side="right")] - before[np.searchsorted(code, tree.lo[through])]
    )
    return float(inside.max(initial=0) / max(1, before[-1]))


def _both_meet(limits: Limits, values: Int32, low: Bool) -> bool:
    from reissue.model.requirement_kernels import classes_meet

    return bool(classes_meet(limits, low.astype(np.int32), values, 2).all())


def _measure_distance(values: Int32, low: Bool) -> float:
    """The distance of the values on the two sides of a cut: total variation."""
    width = int(values.max(initial=0)) + 1
    shares: list[Float64] = []
    for side in (low, ~low):
        shares.append(np.bincount(values[side], minlength=width) / max(1, int(side.sum())))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def draw_sample(rows: Int64, total: int, seed: int) -> Bool:
    """bool[n]: whether each row (its position in a snapshot of `total` rows) is in the sample of about SAMPLE."""
    if total <= SAMPLE:
        return np.ones(len(rows), dtype=np.bool_)
    return np.asarray(hash_numbers(rows.astype(np.uint64), seed) < np.uint64(SAMPLE / total * 2**64), dtype=np.bool_)


def find_owners(starts: Int64, count: int, numbers: Int64) -> Int32:
    """int32[n]: the fragment of known subjects.

    Every release numbers its new subjects fragment by fragment: starts int64[releases * count] are the first numbers.
    """
    return ((np.searchsorted(starts, numbers, side="right") - 1) % count).astype(np.int32)


def number_globally(subjects: Int64, fragment: int, count: int) -> Int64:
    """A fragment's subjects in the whole series: people keep their numbers, its counterfeits -1, -2, ... are spread."""
    if subjects.min(initial=0) >= 0:
        return subjects
    return np.where(subjects < 0, (subjects + 1) * count - fragment - 1, subjects)


def join_facts(parts: Sequence[Facts], seed: int, common: bool = False, *, coded: bool = True) -> Facts:
    """A release from the facts of its fragments: its classes, people and counterfeits under the names outsiders see.

    Classes are renamed by `permute_ids` over the whole release; unless they are `common` to all fragments, which then
    have the same boxes and the names of the release already. coded: whether the codes of rows are wanted; there are
    none otherwise. O(rows log rows).
    """
    if len(parts) == 1:
        return parts[0]
    counts = [0 if common else part.class_count for part in parts]
    offset = np.cumsum([0, *counts]).astype(np.int64)
    if common:
        names, shapes = np.arange(parts[0].class_count, dtype=np.int32), parts[:1]
    else:
        names, shapes = permute_ids(np.arange(offset[-1]), int(offset[-1]), seed).astype(np.int32), parts
    subjects = _join_numbers([part.subjects for part in parts])
    order: Int64 | slice = slice(None)  # everybody is new: numbered fragment after fragment
    if (subjects[1:] < subjects[:-1]).any():
        order = np.argsort(subjects, kind="stable")
    codes = np.empty((len(subjects), parts[0].codes.shape[1] * coded), dtype=parts[0].codes.dtype, order="F")
    for a in range(codes.shape[1]):
        codes[:, a] = np.concatenate([part.codes[:, a] for part in parts])[order]
    classes = np.concatenate([names[offset[i] + part.classes] for i, part in enumerate(parts)])
    boxes = np.empty((len(names), *parts[0].boxes.shape[1:]), dtype=np.int32)
    boxes[names] = np.concatenate([part.boxes for part in shapes])
    extras = {name: _join_extra(name, parts, shapes, names, order) for name in _common_names(parts)}
    boxes, classes = _merge_shared(boxes, classes, extras)
    return Facts(
        number=parts[0].number,
        boxes=boxes,
        subjects=subjects[order],
        classes=classes[order],
        values=np.concatenate([part.values for part in parts])[order],
        codes=codes,
        anatomized=parts[0].anatomized,
        extras={name: extra for name, extra in extras.items() if extra is not None},
    )


def _merge_shared(boxes: Int32, classes: Int32, extras: dict[str, NDArray[np.generic] | None]) -> tuple[Int32, Int32]:
    """A box that several fragments show is one class. extras: `class_shared` says which are such; it is taken out."""
    shared = extras.pop("class_shared", None)
    if shared is None or not shared.any():
        return boxes, classes
    which = np.flatnonzero(shared)
    alike = np.unique(boxes[which].reshape(len(which), -1), axis=0, return_inverse=True)[1].reshape(-1)
    number = np.arange(len(boxes))
    number[which] = np.array([which[alike == one][0] for one in range(int(alike.max()) + 1)])[alike]
    kept, renamed = np.unique(number, return_inverse=True)
    return boxes[kept], renamed[classes].astype(np.int32)


def _common_names(parts: Sequence[Facts]) -> list[str]:
    return [name for name in parts[0].extras if all(name in part.extras for part in parts)]


def _join_extra(
    name: str, parts: Sequence[Facts], shapes: Sequence[Facts], names: Int32, order: Int64 | slice
) -> NDArray[np.generic] | None:
    """What the whole has under a name: by class, by row, one part after the other, added up, or what all have alike."""
    own = [part.extras[name] for part in parts]
    if name.endswith("_standing"):  # fragments number their classes for life each from 0
        own = [numbers.astype(np.int64) + (fragment << 32) for fragment, numbers in enumerate(own)]
    if name.startswith("class_"):
        both = np.concatenate([part.extras[name] for part in shapes])
        found = np.empty_like(both)
        found[names] = both
        return found
    if name.startswith("row_"):
        return np.concatenate(own)[order]
    if name.startswith("part_"):
        return np.concatenate(own)
    if name.startswith("sum_"):
        return np.asarray(np.sum(own, axis=0))
    same = all(np.array_equal(one, own[0], equal_nan=one.dtype.kind == "f") for one in own)
    return own[0] if same else None


def join_subjects(parts: Sequence[Int64]) -> Int64:
    """The subjects of a release from those of its fragments, as `join_facts` has them. O(rows log rows)."""
    return parts[0] if len(parts) == 1 else np.sort(_join_numbers(parts))


def _join_numbers(parts: Sequence[Int64]) -> Int64:
    """int64[rows]: the subjects of all fragments, one after the other, by their numbers in the whole series."""
    return np.concatenate([number_globally(subjects, i, len(parts)) for i, subjects in enumerate(parts)])
