"""The second form of correspondence: equal to the attack's own, and what saves us from a fault in what both share."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.methods.bcf import candidates, cracks, joint_candidates, second_check
from reissue.methods.bcf.candidates import ReleaseChain, possible_targets
from reissue.methods.bcf.cracks import Pair
from reissue.methods.bcf.joint_candidates import Knot
from reissue.methods.plain_release import PlainRelease
from reissue.model.observed import Members, ObservedRelease
from reissue.model.overlap import GroupedRelease
from tests.methods.bcf.chains import crossing_rows
from tests.support.planted import Case, Fault, Insertions, assert_noticed
from tests.support.series import random_boxes_chain, random_cut_chain


def plain(chain: ReleaseChain, values: int) -> second_check._Chain:
    releases = []
    for number, release in enumerate(chain.releases, start=1):
        nothing = np.empty((len(release.values), 0), dtype=np.int32)
        members = Members(np.arange(len(release.values)), release.classes, nothing, release.values)
        seen = ObservedRelease(number, release.boxes, release.classes, release.values, members, amounts=release.counts)
        releases.append(PlainRelease(seen, values))
    return second_check._Chain(releases)


@pytest.mark.parametrize("releases", [2, 3])
@pytest.mark.parametrize("maker", [random_cut_chain, random_boxes_chain])
def test_the_second_form_counts_the_same_candidates(maker: object, releases: int) -> None:
    """Those of pairs equal the enumeration of all generators: see test_candidates."""
    rng, targets, beyond_sets = np.random.default_rng(61), 0, 0
    for _ in range(60):
        chain = maker(rng, releases, values=2, people=7)  # type: ignore[operator]
        second = plain(chain, 2)
        for arrival in range(releases):
            found = possible_targets(chain, arrival)
            for classes, total in zip(found.classes.tolist(), found.totals.tolist(), strict=True):
                groups = [(arrival + i, own) for i, own in enumerate(classes)]
                assert second.count_candidates(groups, exactly=True).sum() == total
                targets += 1
                beyond_sets += int(second.count_candidates(groups).sum() > total)
    assert targets > 200
    assert (beyond_sets > 0) == (maker is random_boxes_chain), "on cuts the paper's sets are enough"


BROKEN: dict[str, tuple[list[int], dict[str, float]]] = {
    "fewer than k = 5": ([4], {"k": 5}),
    "3 of them have one value, {value:1}, more than confidence": ([3, 2], {"k": 5, "confidence": 0.5}),
    "3 of them have one value, {value:1}, more than alpha": ([3, 2], {"k": 5, "alpha": 0.5}),
    "less entropy": ([5, 1], {"k": 5, "entropy_l": 2}),
    "{value:1}, is too frequent (4 against 1)": ([4, 2, 1], {"k": 5, "recursive_c": 2, "recursive_l": 3}),
}


@pytest.mark.parametrize("words", BROKEN)
def test_every_promise_is_looked_at(words: str) -> None:
    counts, promised = BROKEN[words]
    assert words in str(second_check._find_broken(np.array([0, *counts]), promised))
    assert second_check._find_broken(np.array([3, 3, 0, 3]), promised) is None


def test_the_second_form_shares_no_code_with_the_attack() -> None:
    own = {"arrays.types", "methods.plain_release", "model.observed"}
    for node in ast.walk(ast.parse(Path(second_check.__file__).read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("reissue."):
            assert str(node.module).removeprefix("reissue.") in own


# Each fault is in what the strategy plans with and the attack measures with.
compare = candidates.compare  # type: ignore[attr-defined]


def see_nobody_as_old(left: GroupedRelease, right: GroupedRelease) -> Pair:
    pair = compare(left, right)
    return replace(pair, old=np.zeros_like(pair.old))


def solve_nothing(*_: object) -> int:
    return 0


def believe_anything(knot: Knot, witness: np.ndarray) -> bool:
    """In place of adding a witness up."""
    knot.least[:] = 1 << 20
    return True


def free_all(chain: ReleaseChain, position: int, _: int) -> np.ndarray:
    return chain.releases[position].counts.copy()


def find_nothing(chain: ReleaseChain) -> list[np.ndarray]:
    """In place of knots."""
    return [np.full(len(release.values), -1) for release in chain.releases]


class CrossingRows(Insertions):
    """The 99 rows of three releases whose cuts cross: see `chains.crossing_rows`."""

    def tables(self) -> Iterator[pa.Table]:
        for release in range(3):
            here = crossing_rows()[crossing_rows()[:, 0] <= release]
            columns = {"person": np.arange(len(here)), "age": here[:, 1], "weight": here[:, 2]}
            yield pa.table({**columns, "illness": [f"illness {value}" for value in here[:, 3]]})


FAULTS = {
    "knots": Fault(joint_candidates, "find_knots", find_nothing, "correspondence"),
    "backward cracks": Fault(candidates, "compare", see_nobody_as_old, "correspondence"),
    "backward cracks, on counts": Fault(candidates, "compare", see_nobody_as_old, "correspondence"),
    "cracks by flows": Fault(cracks, "_solve_odd", solve_nothing, "correspondence"),
    "candidates of one release": Fault(ReleaseChain, "free", free_all, "correspondence"),
    "candidates of several releases": Fault(Knot, "take_note", believe_anything, "correspondence"),
}
CASES = {
    "knots": Case(ri.BCF(k=10), CrossingRows(0, 29, 0, 10, 2, 3)),
    "backward cracks": Case(ri.BCF(k=4), Insertions(7, 115, 26, 4, 11, 4)),
    "backward cracks, on counts": Case(ri.BCF(k=3), Insertions(0, 106, 27, 3, 6, 4), fragments=2),
    "cracks by flows": Case(ri.BCF(k=5), Insertions(20, 110, 14, 2, 7, 3), begun=ri.Static(k=5)),
    "candidates of one release": Case(ri.BCF(k=3), Insertions(2, 105, 14, 2, 6, 3), begun=ri.Static(k=3)),
    "candidates of several releases": Case(ri.BCF(k=10), CrossingRows(0, 29, 0, 10, 2, 3)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_what_is_shared_is_noticed_and_nothing_is_committed(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_noticed(FAULTS[fault], CASES[fault], tmp_path, monkeypatch)
