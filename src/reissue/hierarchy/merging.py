"""The union of two hierarchies that agree, and the check of stored ones."""

from __future__ import annotations

from reissue.errors import SchemaError
from reissue.hierarchy.links import ROOT, Nodes


def merge(old: Nodes, new: Nodes) -> Nodes:
    """Old children first in their order, new ones after them; what contradicts the old is refused. O(nodes)."""
    _agree(old, new)
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


def _agree(old: Nodes, new: Nodes) -> None:
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
