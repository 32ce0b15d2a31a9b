"""The BCF experiment: its taxonomies are taxonomies, and one of its cases has the paper's shape."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
sys.path.insert(0, str(ROOT / "experiments"))
pytest.importorskip("altair")
bcf_adult = pytest.importorskip("bcf_adult")


@pytest.mark.parametrize("column", list(bcf_adult.DEEP))
def test_deep_taxonomies_nest_and_cover_every_leaf(column: str) -> None:
    leaves = [leaf for leaf, _ in bcf_adult.walk(bcf_adult.DEEP[column], ("*",))]
    tree, codes = bcf_adult.plant(bcf_adult.read_paths(None, column, leaves))
    assert sorted(codes.values()) == list(range(tree.leaves)) == list(range(len(leaves)))
    for node in range(1, len(tree.lo)):
        above = tree.parent[node]
        assert above < node
        assert tree.lo[above] <= tree.lo[node] <= tree.hi[node] <= tree.hi[above]
    start, child = tree.children
    for node in range(len(tree.lo)):
        kids = child[start[node] : start[node + 1]]
        assert len(kids) == 0 or (tree.hi[kids] - tree.lo[kids] + 1).sum() == tree.hi[node] - tree.lo[node] + 1


@pytest.mark.skipif(not (DATA / "adult").exists(), reason="the Adult data is not beside the project")
def test_few_newcomers_are_open_to_b_and_bcf_protects_them() -> None:
    setting, old = bcf_adult.load(DATA, bcf_adult.SENSITIVE["Sen1"])
    assert old == 15_060
    assert len(setting.values) == 45_222
    assert setting.codes.shape == (45_222, 7)
    assert np.unique(setting.values).size == 41
    levels = bcf_adult.measure(setting, old, 80, 200)
    assert levels["unsafe_BA"] < 80 <= min(levels["safe_FA"], levels["safe_BA"])
    assert levels["unsafe_FA"] == levels["unsafe_CA"]
    assert levels["k_r2"] < levels["bcf"] < levels["k_d2"]
