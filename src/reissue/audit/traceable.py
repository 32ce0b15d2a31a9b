"""Insensitive columns by which the same row can be found again in another release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from reissue.core.domain import Int64
from reissue.engine.text import Text


@dataclass(frozen=True)
class Traceable:
    """linked_rows: rows of the earlier release whose value occurs in fewer than k rows of both releases."""

    column: str
    releases: tuple[int, int]
    linked_rows: int
    share: float
    sentence: str

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "releases": list(self.releases)}


def traceable(columns: Sequence[Mapping[str, Text]], identifier: str, k: int) -> list[Traceable]:
    """Each column, and all of them together, between each release and the next; the most telling first."""
    found = []
    for earlier in range(len(columns) - 1):
        left, right = columns[earlier], columns[earlier + 1]
        shared = [name for name in left if name in right]
        alone = [_between(earlier, name, left[name], right[name], k, name == identifier) for name in shared]
        some = [one for one in alone if one is not None]
        if len(shared) > 1 and identifier not in shared:
            joint = _jointly(earlier, shared, left, right, k)
            if joint is not None and joint.linked_rows > max((one.linked_rows for one in some), default=0):
                some.append(joint)
        found += some
    published = identifier in {name for release in columns for name in release}
    if published and not any(one.column == identifier for one in found):
        says = f"The identifier '{identifier}' itself is in a release: every row is named. Never publish it."
        found.append(Traceable(identifier, (1, 1), 0, 1.0, says))
    return sorted(found, key=lambda one: -one.share)


def _between(position: int, name: str, left: Text, right: Text, k: int, named: bool) -> Traceable | None:
    places = {str(label): place for place, label in enumerate(left.labels)}
    their = np.array([places.get(str(label), -1) for label in right.labels], dtype=np.int64)
    counts = np.zeros(len(left.labels), dtype=np.int64)
    np.add.at(counts, their[their >= 0], right.counts[their >= 0])
    return _told(position, name, left.counts, counts, len(left), k, named)


def _jointly(
    position: int, names: Sequence[str], left: Mapping[str, Text], right: Mapping[str, Text], k: int
) -> Traceable | None:
    """All columns together: the same as one column of their combinations."""
    key = np.zeros(len(left[names[0]]) + len(right[names[0]]), dtype=np.int64)
    for name in names:
        labels = {
            label: place for place, label in enumerate({*map(str, left[name].labels), *map(str, right[name].labels)})
        }
        index = [
            np.append(np.array([labels[str(label)] for label in text.labels], dtype=np.int64), -1)[text.index]
            for text in (left[name], right[name])
        ]
        key = np.unique(key * (len(labels) + 1) + np.concatenate(index) + 1, return_inverse=True)[1].reshape(-1)
    rows = len(left[names[0]])
    width = int(key.max(initial=0)) + 1
    one, other = np.bincount(key[:rows], minlength=width), np.bincount(key[rows:], minlength=width)
    return _told(position, " + ".join(names), one, other, rows, k, False)


def _told(position: int, name: str, left: Int64, right: Int64, rows: int, k: int, named: bool) -> Traceable | None:
    linked = int(left[(left > 0) & (left < k) & (right > 0) & (right < k)].sum())
    if not linked:
        return None
    one, other = position + 1, position + 2
    what = f"The identifier '{name}' itself is published and" if named else f"The insensitive column '{name}'"
    few = "one row each" if k <= 2 else f"fewer than {k} rows each"
    sentence = (
        f"{what} links {linked:,} of the {rows:,} rows of release {one} to {few} of release {other}: whoever "
        "follows it undoes the generalization. Leave it out or make it coarser."
    )
    return Traceable(name, (one, other), linked, linked / max(rows, 1), sentence)
