"""Who is under whom: collects the paths of a hierarchy and refuses what is not a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reissue.errors import SchemaError

ROOT = "*"
"""The label of the whole attribute."""

MISSING = "(missing)"
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
                f"{label!r} is under {above!r}, but under {known!r}{_at(self._place[label])}",
                "A hierarchy is a tree: give the label one parent everywhere, or two different names",
            )
        self._place.setdefault(label, place)

    def _kind(self, label: str, place: str, *, value: bool) -> None:
        (self._values if value else self._groups).setdefault(label, place)
        if label in self._values and label in self._groups:
            raise self._wrong(
                place,
                f"{label!r} is a value{_at(self._values[label])} and also a group of values{_at(self._groups[label])}",
                f"In a release nobody could tell which is meant: rename the group, for example to {label + ' (all)'!r}",
            )

    def _wrong(self, place: str, problem: str, remedy: str) -> SchemaError:
        where = ", ".join(part for part in (self.source, place) if part)
        return SchemaError(f"{where}: {problem}. {remedy}.")


def _at(place: str) -> str:
    return f" in {place}" if place else ""
