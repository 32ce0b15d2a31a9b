"""A release put together from its fragments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.types import Int32, Int64
from reissue.model.fragments import number_globally, permute_ids
from reissue.model.release import Facts


def join_facts(parts: Sequence[Facts], seed: int, common: bool = False) -> Facts:
    """A release from the facts of its fragments: its classes, people and counterfeits under the names outsiders see.

    Classes are renamed by `permute_ids` over the whole release; unless they are `common` to all fragments, which then
    have the same boxes and the names of the release already. O(rows log rows).
    """
    if len(parts) == 1:
        return parts[0]
    counts = [0 if common else part.class_count for part in parts]
    offset = np.cumsum([0, *counts]).astype(np.int64)
    if common:
        names, shapes = np.arange(parts[0].class_count, dtype=np.int32), parts[:1]
    else:
        names, shapes = permute_ids(np.arange(offset[-1]), int(offset[-1]), seed).astype(np.int32), parts
    subjects = _numbers([part.subjects for part in parts])
    order = np.argsort(subjects, kind="stable")
    codes = np.empty((len(subjects), parts[0].codes.shape[1]), dtype=parts[0].codes.dtype, order="F")
    for a in range(codes.shape[1]):
        codes[:, a] = np.concatenate([part.codes[:, a] for part in parts])[order]
    classes = np.concatenate([names[offset[i] + part.classes] for i, part in enumerate(parts)])
    boxes = np.empty((len(names), *parts[0].boxes.shape[1:]), dtype=np.int32)
    boxes[names] = np.concatenate([part.boxes for part in shapes])
    extras = {name: _extra(name, parts, shapes, names, order) for name in _common_names(parts)}
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


def _common_names(parts: Sequence[Facts]) -> list[str]:
    return [name for name in parts[0].extras if all(name in part.extras for part in parts)]


def _extra(
    name: str, parts: Sequence[Facts], shapes: Sequence[Facts], names: Int32, order: Int64
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
    return parts[0] if len(parts) == 1 else np.sort(_numbers(parts))


def _numbers(parts: Sequence[Int64]) -> Int64:
    """int64[rows]: the subjects of all fragments, one after the other, by their numbers in the whole series."""
    return np.concatenate([number_globally(subjects, i, len(parts)) for i, subjects in enumerate(parts)])
