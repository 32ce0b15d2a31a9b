"""Who is under whom: paths are collected, what is not a tree is refused, the rest becomes the kernels' Tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.errors import SchemaError
from reissue.model.domain import Tree

ROOT = "*"
"""The label of the whole attribute."""

MISSING = "(missing)"

RANGE = ".."
"""Between the first and the last value of a range."""
"""The label of a null where the schema says that missing is a value of its own."""


@dataclass(frozen=True)
class Nodes:
    """All nodes of a hierarchy in depth-first order, the root first; every label names one node.

    levels: the column of an ARX file (leaf 0), or 0 where only the height above the leaves counts.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    levels: tuple[int, ...]


class Links:
    """The links from label to parent label, in order of first appearance.

    Since a published label must mean one set of values, a label has one parent, and is a value or a group, not both.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._parent: dict[str, str] = {}
        self._place: dict[str, str] = {ROOT: ""}
        self._level: dict[str, int] = {}
        self._values: dict[str, str] = {}
        self._groups: dict[str, str] = {ROOT: ""}

    def add(self, path: Sequence[str], place: str = "", levels: Sequence[int] | None = None) -> None:
        """Add one value by its path from the value up (with or without the root); repeated labels are one node."""
        labels = list(path)
        while labels and labels[-1] == ROOT:
            labels.pop()
        if not labels:
            raise self._wrong(place, f"{ROOT!r} is the root and no value", "Delete the line or rename the value")
        steps = [i for i, label in enumerate(labels) if i == 0 or label != labels[i - 1]]
        for i, step in enumerate(steps):
            label = labels[step]
            above = labels[steps[i + 1]] if i + 1 < len(steps) else ROOT
            self._link(label, above, place)
            self._kind(label, place, value=i == 0)
            if levels is not None:
                self._level[label] = max(self._level.get(label, 0), levels[step])

    def add_root_level(self, level: int) -> None:
        self._level[ROOT] = level

    def build(self) -> Nodes:
        """Depth-first order; children in order of first appearance. O(nodes)."""
        children: dict[str, list[str]] = {}
        for label, above in self._parent.items():
            children.setdefault(above, []).append(label)
        names: list[str] = []
        parents: list[int] = []
        stack: list[tuple[str, int]] = [(ROOT, -1)]
        while stack:
            label, parent = stack.pop()
            stack.extend((child, len(names)) for child in reversed(children.get(label, ())))
            names.append(label)
            parents.append(parent)
        return Nodes(tuple(names), tuple(parents), tuple(self._level.get(name, 0) for name in names))

    def _link(self, label: str, above: str, place: str) -> None:
        if label == ROOT:
            raise self._wrong(place, f"{label!r} is the root and stands below {above!r}", "Use it only at the top")
        known = self._parent.setdefault(label, above)
        if known != above:
            raise self._wrong(
                place,
                f"{label!r} is under {above!r}, but under {known!r}{_say_where(self._place[label])}",
                "A hierarchy is a tree: give the label one parent everywhere, or two different names",
            )
        self._place.setdefault(label, place)

    def _kind(self, label: str, place: str, *, value: bool) -> None:
        (self._values if value else self._groups).setdefault(label, place)
        if label in self._values and label in self._groups:
            raise self._wrong(
                place,
                f"{label!r} is a value{_say_where(self._values[label])} and also a group of values"
                f"{_say_where(self._groups[label])}",
                f"In a release nobody could tell which is meant: rename the group, for example to {label + ' (all)'!r}",
            )

    def _wrong(self, place: str, problem: str, remedy: str) -> SchemaError:
        where = ", ".join(part for part in (self.source, place) if part)
        return SchemaError(f"{where}: {problem}. {remedy}.")


def _say_where(place: str) -> str:
    return f" in {place}" if place else ""


@dataclass(frozen=True, eq=False)
class Shape:
    """A hierarchy in codes.

    tree, labels: nodes with different intervals only; of a chain of single members the lowest one stands for all
    by_label:     the interval of every label, also of those that the tree leaves out
    """

    tree: Tree
    labels: tuple[str, ...]
    leaves: tuple[str, ...]
    by_interval: dict[tuple[int, int], str]
    by_label: dict[str, tuple[int, int]]


def shape_of(nodes: Nodes) -> Shape:
    """Number the leaves, give every node its interval, merge chains, order breadth first. O(nodes log nodes)."""
    count = len(nodes.names)
    members = np.bincount(np.array(nodes.parents[1:], dtype=np.int64), minlength=count).tolist()
    lo, hi = _intervals(nodes, members)
    kept, parent, depth = _drop_chains(nodes, members)
    order = sorted(range(len(kept)), key=lambda i: (depth[i], lo[kept[i]]))
    rank = [0] * len(kept)
    for new, old in enumerate(order):
        rank[old] = new
    ids = [kept[i] for i in order]
    above = [rank[parent[i]] if parent[i] >= 0 else -1 for i in order]
    levels = [0 if members[node] == 0 else nodes.levels[node] for node in ids]
    for i in range(len(ids) - 1, 0, -1):  # children come after parents, so one backward pass lifts all
        levels[above[i]] = max(levels[above[i]], levels[i] + 1)
    columns = ([lo[n] for n in ids], [hi[n] for n in ids], above, levels)
    return Shape(
        tree=Tree(*(np.array(column, dtype=np.int32) for column in columns)),
        labels=tuple(nodes.names[n] for n in ids),
        leaves=tuple(name for name, inside in zip(nodes.names[1:], members[1:], strict=True) if not inside),
        by_interval={(lo[n], hi[n]): nodes.names[n] for n in ids},
        by_label={name: (lo[n], hi[n]) for n, name in enumerate(nodes.names)},
    )


def _intervals(nodes: Nodes, members: list[int]) -> tuple[list[int], list[int]]:
    """Closed code intervals; nodes come depth first. A root without leaves gets 0..-1."""
    count = len(nodes.names)
    lo = [0] * count
    hi = [-1] * count
    code = 0
    for i in range(count):
        lo[i] = code
        if members[i] == 0 and i:
            hi[i] = code
            code += 1
    for i in range(count - 1, 0, -1):
        hi[nodes.parents[i]] = max(hi[nodes.parents[i]], hi[i])
    return lo, hi


def _drop_chains(nodes: Nodes, members: list[int]) -> tuple[list[int], list[int], list[int]]:
    """(node, parent, depth) of the nodes without exactly one member; parent is a position in this list."""
    kept: list[int] = []
    parent: list[int] = []
    depth: list[int] = []
    nearest = [-1] * len(nodes.names)  # position of the nearest kept node at or above
    for i, above in enumerate(nodes.parents):
        up = nearest[above] if above >= 0 else -1
        nearest[i] = up
        if members[i] != 1:
            nearest[i] = len(kept)
            kept.append(i)
            parent.append(up)
            depth.append(depth[up] + 1 if up >= 0 else 0)
    return kept, parent, depth


def merge(old: Nodes, new: Nodes) -> Nodes:
    """Old children first in their order, new ones after them; what contradicts the old is refused. O(nodes)."""
    _refuse_moved(old, new)
    children: dict[str, dict[str, None]] = {}
    level: dict[str, int] = {}
    for nodes in (old, new):
        for i, name in enumerate(nodes.names):
            level[name] = max(level.get(name, 0), nodes.levels[i])
            if i:
                children.setdefault(nodes.names[nodes.parents[i]], {}).setdefault(name)
    names: list[str] = []
    parents: list[int] = []
    stack: list[tuple[str, int]] = [(ROOT, -1)]
    while stack:
        name, parent = stack.pop()
        stack.extend((child, len(names)) for child in reversed(children.get(name, {})))
        names.append(name)
        parents.append(parent)
    return Nodes(tuple(names), tuple(parents), tuple(level[name] for name in names))


def _refuse_moved(old: Nodes, new: Nodes) -> None:
    """Refuse a label of the new hierarchy that stands elsewhere, or is another kind of thing, in the old one."""
    place = {name: i for i, name in enumerate(old.names)}
    groups_old, groups_new = set(old.parents), set(new.parents)
    for i, name in enumerate(new.names[1:], start=1):
        at = place.get(name)
        if at is None:
            continue
        if (at in groups_old) != (i in groups_new):
            was, now = ("a group", "a value") if at in groups_old else ("a value", "a group")
            raise SchemaError(
                f"{name!r} is {was} so far and {now} in the new hierarchy. Releases that use it are out: "
                "keep it as it was, and give the new one another name."
            )
        before, above = old.names[old.parents[at]], new.names[new.parents[i]]
        if before != above:
            raise SchemaError(
                f"{name!r} is under {before!r} so far and under {above!r} in the new hierarchy. Releases that use "
                f"these labels are out: keep {name!r} under {before!r}, and add new labels only."
            )


def check_stored(nodes: Nodes) -> None:
    """Refuse stored nodes that are no tree in depth-first order (a damaged or hand-edited file)."""
    count = len(nodes.names)
    shape = nodes.names[:1] == (ROOT,) and len(nodes.parents) == count == len(nodes.levels)
    shape = shape and len({name for name in nodes.names if isinstance(name, str)}) == count
    path: list[int] = []
    for i, parent in enumerate(nodes.parents if shape else ()):
        while path and path[-1] != parent:
            path.pop()
        if not path and (i or parent != -1):
            shape = False
            break
        path.append(i)
    if not shape:
        raise SchemaError("The stored hierarchy is not a tree in depth-first order: the file was altered.")
