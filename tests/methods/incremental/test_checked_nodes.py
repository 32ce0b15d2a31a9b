"""Checked Incognito publishes the best node of the lattice that is safe."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy
from reissue.methods.incremental.checked import SnapshotHistory
from reissue.methods.incremental.checked_incognito import CheckedIncognito
from reissue.methods.incremental.whole_check import WholeCheck
from reissue.model.release import Facts, History, Table
from reissue.partition.incognito import LatticeSearch, Metric, apply_levels, best
from tests.methods.incremental.insertions import history


@pytest.mark.parametrize("metric", ["loss", "discernibility", "classes", "height"])
def test_checked_incognito_publishes_the_best_of_all_safe_nodes(metric: Metric) -> None:
    """Though few are checked: against checking every node of the lattice, where what is safe stays so higher up."""
    refused = 0
    for seed in range(6):
        snapshots, k, c = history(seed + 300, values=6)
        strategy = CheckedIncognito(k=k, c=c, metric=metric, hold_back=False)
        releases: list[Facts] = []
        caches: Mapping[str, Table] = {}
        for number, snapshot in enumerate(snapshots, start=1):
            past = SnapshotHistory.of(snapshot, History(releases, caches, 1))
            every = np.arange(len(snapshot))
            try:
                facts = strategy.publish(snapshot, History(releases, caches, 1)).facts(number, snapshot)
            except InfeasiblePolicy:
                break  # the new rows cannot stand alone
            counts = np.bincount(snapshot.values, minlength=snapshot.value_count)
            search = LatticeSearch(
                snapshot.codes, snapshot.values, snapshot.domains, strategy.requirement.limits(counts)
            )
            nodes = [tuple(node) for node in np.argwhere(search.find_satisfied()).tolist()]
            check = WholeCheck.of(strategy, past, History(releases, caches, 1), every)
            made = {node: apply_levels(search.ladders, snapshot.codes, node) for node in nodes}
            safe = [node for node, own in made.items() if number == 1 or not check.breach(own.classes, own.boxes)]
            np.testing.assert_array_equal(facts.boxes, made[best(search, safe, metric)].boxes)
            refused += len(safe) < len(nodes)
            releases.append(facts)
            caches = strategy.remember(caches, facts)
    assert refused, "no node was unsafe: nothing was tested"
