"""Transports against networkx's max-flow and against enumeration of all flows."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import coo_array, csgraph

from reissue.arrays.flow.transport import Transport, edges_by_node
from reissue.arrays.sets import bipartite_components, connected_components, strong_components


def all_flows(supply: list[int], demand: list[int], left: list[int], right: list[int]) -> list[tuple[int, ...]]:
    """Every integer flow of the largest total."""
    ranges = [range(min(supply[u], demand[v]) + 1) for u, v in zip(left, right, strict=True)]
    flows = []
    for flow in product(*ranges):
        out, into = [0] * len(supply), [0] * len(demand)
        for units, u, v in zip(flow, left, right, strict=True):
            out[u] += units
            into[v] += units
        if all(a <= b for a, b in zip(out, supply, strict=True)) and all(
            a <= b for a, b in zip(into, demand, strict=True)
        ):
            flows.append(flow)
    best = max(map(sum, flows))
    return [flow for flow in flows if sum(flow) == best]


def tiny(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    lefts, rights = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    edges = np.argwhere(rng.random((lefts, rights)) < 0.75)
    return rng.integers(0, 3, lefts), rng.integers(0, 4, rights), edges[:, 0], edges[:, 1]


@pytest.mark.parametrize("seed", range(300))
def test_least_most_possible_and_obstruction_equal_enumeration(seed: int) -> None:
    supply, demand, left, right = tiny(np.random.default_rng(seed))
    flows = all_flows(supply.tolist(), demand.tolist(), left.tolist(), right.tolist())
    edges = np.arange(len(left))
    each = np.array(flows).reshape(len(flows), len(left))
    transport = Transport.of(supply, demand, left, right)
    assert transport.saturate() == supply.sum() - each[0].sum()
    assert np.array_equal(transport.possible(), each.max(axis=0) > 0)
    lefts, rights = transport.obstruction()
    assert supply[lefts].sum() - demand[rights].sum() == supply.sum() - each[0].sum()
    assert all(rights[v] for u, v in zip(left, right, strict=True) if lefts[u])
    if transport.graph.unsent.any():
        return  # bending is for flows that place everything
    assert np.array_equal(transport.least(edges), each.min(axis=0))
    assert np.array_equal(transport.most(edges), each.max(axis=0))
    into = np.array([[flow[right == v].sum() for v in range(len(demand))] for flow in each])
    assert np.array_equal(transport.least_into(np.arange(len(demand))), into.min(axis=0))
    assert tuple(transport.flow.tolist()) in flows, "bending must leave a flow of the same total"
    assert (transport.search.came == -1).all()


@pytest.mark.parametrize("seed", range(20))
def test_saturate_equals_networkx_on_larger_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lefts, rights = 30, 25
    supply, demand = rng.integers(0, 9, lefts), rng.integers(0, 11, rights)
    edges = np.argwhere(rng.random((lefts, rights)) < 0.1)
    graph = nx.DiGraph()
    graph.add_nodes_from(["s", "t"])
    graph.add_edges_from(("s", ("l", u), {"capacity": int(supply[u])}) for u in range(lefts))
    graph.add_edges_from((("r", v), "t", {"capacity": int(demand[v])}) for v in range(rights))
    graph.add_edges_from((("l", u), ("r", v)) for u, v in edges.tolist())
    transport = Transport.of(supply, demand, edges[:, 0], edges[:, 1])
    assert transport.saturate() == supply.sum() - nx.maximum_flow_value(graph, "s", "t")


def test_a_given_flow_is_the_start() -> None:
    flow = np.array([1, 1])
    transport = Transport.of(np.array([2]), np.array([1, 3]), np.array([0, 0]), np.array([0, 1]), flow)
    assert transport.saturate() == 0
    assert transport.graph.room.tolist() == [0, 2], "the second has room for two more"


def test_small_helpers() -> None:
    start, edges = edges_by_node(np.array([1, 0, 1]), 3)
    assert start.tolist() == [0, 1, 3, 3]
    assert edges.tolist() == [1, 0, 2]
    label = strong_components(np.array([0, 1, 2]), np.array([1, 0, 0]), 3)
    assert label[0] == label[1] != label[2]
    lefts, rights = bipartite_components(np.array([0, 1]), np.array([0, 0]), 3, 1)
    assert lefts[0] == lefts[1] == rights[0] != lefts[2]


def test_components_equal_those_of_scipy_and_are_numbered_alike() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        lefts, rights, edges = (int(n) for n in rng.integers(1, 12, 3))
        left, right = rng.integers(0, lefts, edges), rng.integers(0, rights, edges)
        arcs = coo_array((np.ones(edges), (left, right + lefts)), shape=(lefts + rights, lefts + rights))
        expected = csgraph.connected_components(arcs.tocsr(), directed=False)[1]
        assert np.array_equal(np.concatenate(bipartite_components(left, right, lefts, rights)), expected)
        assert np.array_equal(connected_components(right + lefts, left, lefts + rights), expected)
        tail, head = rng.integers(0, lefts, (2, edges))
        arcs = coo_array((np.ones(edges), (tail, head)), shape=(lefts, lefts))
        assert np.array_equal(
            connected_components(tail, head, lefts), csgraph.connected_components(arcs.tocsr(), directed=False)[1]
        )
    assert len(connected_components(tail[:0], head[:0], 0)) == 0
