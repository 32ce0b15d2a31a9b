"""The sets whose difference is tested: what is kept from one level of shares to the next is what the next asks for."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.arrays.types import Bool, Int64
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.difference_regions import ConnectedSets
from reissue.methods.incremental.difference_sets import LatestPart
from tests.support.churning import churning


def test_a_part_that_is_kept_is_of_the_components_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    look, seen = LatestPart.find_obstructions, {"kept": 0, "another": 0}

    def watched(self: LatestPart, component: Bool, value: int, at: tuple[Int64, Int64]) -> ConnectedSets | None:
        before = self._latest
        found = look(self, component, value, at)
        if component.any():
            everywhere = np.unique(self._part.left_component)
            assert np.array_equal(np.unique(self._latest.left_component), everywhere[component[everywhere]])
            seen["kept" if self._latest is before else "another"] += 1
        else:
            assert found is None
        return found

    monkeypatch.setattr(LatestPart, "find_obstructions", watched)
    for seed in range(6):
        Difference(k=3, c=0.5, limit=100).run(churning(np.random.default_rng(seed)))
    assert min(seen.values()) > 20, seen
