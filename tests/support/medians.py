"""The paper's own way to part a bucket: halve the rows of each value at their own median, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reissue.methods.invariance.signatures import collect_sets
from reissue.model.boxes import bounding_boxes, hilbert_keys, losses, widen_to_nodes
from reissue.model.domain import Domain
from reissue.model.observed import Observed, ObservedRelease

Group = list[list[int]]
"""Per value, the rows of it."""


def cut_by_medians(series: Observed) -> Observed:
    """The same people with the same signatures, in classes as the paper cuts them."""
    return replace(series, releases=[_cut_release(release, series.domains) for release in series.releases])


def _cut_release(release: ObservedRelease, domains: Sequence[Domain]) -> ObservedRelease:
    """Of a release without counterfeits: its rows are its members."""
    members = release.members
    assert members is not None
    keys = hilbert_keys(np.asfortranarray(members.codes), domains)
    _, bucket = collect_sets(release.classes, release.values, release.class_count)
    classes, count = np.empty(len(keys), dtype=np.int32), 0
    for one in range(int(bucket.max()) + 1):
        rows = np.flatnonzero(bucket[members.classes] == one)
        group = [rows[members.values[rows] == value].tolist() for value in np.unique(members.values[rows])]
        for made in halve(group, members.codes, keys.tolist(), domains):
            classes[made] = count
            count += 1
    boxes = widen_to_nodes(bounding_boxes(members.codes, classes, count), domains)
    known = replace(members, classes=classes)
    return ObservedRelease(release.number, boxes, classes, members.values, known)


def halve(group: Group, codes: np.ndarray, keys: list[int], domains: Sequence[Domain]) -> list[list[int]]:
    """The classes of a bucket: along the best attribute, every value at its own median."""
    height = len(group[0])
    if height == 1:
        return [[rows[0] for rows in group]]
    ways = []
    for a in range(codes.shape[1]):
        if len({int(codes[row, a]) for rows in group for row in rows}) > 1:
            ordered = [sorted(rows, key=lambda row, a=a: (codes[row, a], keys[row])) for rows in group]  # type: ignore[misc]
            parts = [rows[: height // 2] for rows in ordered], [rows[height // 2 :] for rows in ordered]
            ways.append((sum(_measure(part, codes, domains) for part in parts), parts))
    halves = min(ways, key=lambda way: way[0])[1] if ways else (
        [rows[: height // 2] for rows in group], [rows[height // 2 :] for rows in group])  # fmt: skip
    return [made for part in halves for made in halve(part, codes, keys, domains)]


def _measure(group: Group, codes: np.ndarray, domains: Sequence[Domain]) -> float:
    own = codes[[row for rows in group for row in rows]]
    box = np.stack([own.min(axis=0), own.max(axis=0)], axis=1)[None].astype(np.int32)
    return float(losses(widen_to_nodes(box, domains), domains).sum())
