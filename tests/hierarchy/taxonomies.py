"""Random taxonomies, and the contract that every tree of codes keeps."""

from __future__ import annotations

from hypothesis import strategies as st

from reissue.model.domain import Tree

Nested = dict[str, "Nested"]


@st.composite
def taxonomies(draw: st.DrawFn) -> Nested:
    """A random tree as nested dicts (a leaf is {}), with chains and unequal depths; labels are unique."""
    count = draw(st.integers(1, 25))
    nodes: list[Nested] = [{}]
    depth = [0]
    for i in range(count):
        above = draw(st.integers(0, len(nodes) - 1))
        nodes.append({})
        depth.append(depth[above] + 1)
        nodes[above][f"n{i}"] = nodes[-1]
    return nodes[0]


def values_of(tree: Nested) -> set[str]:
    return {leaf for name, below in tree.items() for leaf in (values_of(below) if below else {name})}


def groups_of(tree: Nested) -> dict[str, set[str]]:
    found = {}
    for name, below in tree.items():
        found[name] = values_of(below) if below else {name}
        found |= groups_of(below)
    return found


def check_tree(tree: Tree) -> None:
    """The contract of core.domain.Tree, and one node per interval."""
    assert tree.parent[0] == -1
    assert tree.lo[0] == 0
    nodes = range(len(tree.lo))
    assert len({(int(tree.lo[i]), int(tree.hi[i])) for i in nodes}) == len(tree.lo)
    start, child = tree.children
    for i in nodes:
        kids = child[start[i] : start[i + 1]].tolist()
        assert all(k > i for k in kids)
        if kids:
            assert len(kids) > 1
            assert kids == list(range(kids[0], kids[0] + len(kids)))
            edges = [int(tree.lo[i]), *(int(tree.hi[k]) + 1 for k in kids)]
            assert edges[:-1] == tree.lo[kids].tolist()
            assert edges[-1] == tree.hi[i] + 1
            assert all(tree.level[k] < tree.level[i] for k in kids)
        else:
            assert tree.lo[i] == tree.hi[i]
            assert tree.level[i] == 0
