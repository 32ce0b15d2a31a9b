"""Candidates over n releases: against the enumeration of all joint generators, and against the paper's compositions."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.bcf.candidates import ReleaseChain, count_composed, known_targets, possible_targets
from reissue.model.overlap import GroupedRelease
from tests.support.generators import exact_candidates
from tests.support.series import random_boxes_chain, random_cut_chain


def candidates(chain: ReleaseChain) -> dict[tuple[int, tuple[int, ...]], tuple[int, int]]:
    """(arrival, classes) -> (candidates, what the paper's compositions leave)."""
    found = {}
    for arrival in range(len(chain)):
        targets = possible_targets(chain, arrival)
        levels = zip(targets.totals.tolist(), count_composed(chain, targets).tolist(), strict=True)
        for classes, level in zip(targets.classes.tolist(), levels, strict=True):
            found[arrival, tuple(classes)] = level
    return found


@pytest.mark.parametrize("kind", ["cuts", "boxes"])
def test_candidates_of_triples_are_never_below_the_exact_number_and_nearly_always_equal(kind: str) -> None:
    rng = np.random.default_rng(51 if kind == "cuts" else 52)
    maker = random_cut_chain if kind == "cuts" else random_boxes_chain
    targets, equal, beyond_paper = 0, 0, 0
    for _ in range(400):
        chain = maker(rng, 3, values=1, people=6)
        found = candidates(chain)
        for kind_of_person, exact in exact_candidates(chain, [0]).items():
            level, paper = found.get(kind_of_person, (0, 0))
            assert exact <= level <= paper
            targets, equal, beyond_paper = targets + 1, equal + (exact == level), beyond_paper + (level < paper)
    assert targets > 1500
    assert equal >= (0.995 if kind == "cuts" else 0.97) * targets
    assert beyond_paper > 0


@pytest.mark.parametrize("maker", [random_cut_chain, random_boxes_chain])
def test_candidates_of_pairs_are_exact(maker: object) -> None:
    rng = np.random.default_rng(53)
    for _ in range(400):
        chain = maker(rng, 2, values=2, people=7)  # type: ignore[operator]
        found = candidates(chain)
        for person, exact in exact_candidates(chain, [0, 1]).items():
            assert found.get(person, (0, 0))[0] == exact


def test_a_target_that_the_papers_compositions_overestimate() -> None:
    """Someone who came second: in release 3 their group holds three records, two of which must be from release 1.

    Release 1: two records on the left. Release 2: all in one class, four records. Release 3: cut into left (2 + 1)
    and right (1). The paper takes the B crack of release 2 only: min(4 - 2, 3) = 2 candidates. But of the three
    records on the left of release 3 two must be old, so a single one can be the target's.
    """
    left, right, both = [[0, 0]], [[1, 1]], [[0, 1]]

    def release(boxes: list[list[list[int]]], counts: list[int]) -> GroupedRelease:
        here = np.arange(len(boxes))
        return GroupedRelease.of(np.array(boxes, np.int32), here, np.zeros(len(boxes), np.int32), np.array(counts))

    chain = ReleaseChain([release([left], [2]), release([both], [4]), release([left, right], [3, 1])])
    found = candidates(chain)
    assert found[1, (0, 0)] == (1, 2)
    assert exact_candidates(chain, [0])[1, (0, 0)] == 1


def test_known_people_get_the_candidates_of_their_combination() -> None:
    rng = np.random.default_rng(54)
    for maker in (random_cut_chain, random_boxes_chain):
        for _ in range(100):
            chain = maker(rng, 3, values=2, people=12)
            for arrival in range(3):
                possible = possible_targets(chain, arrival)
                known = known_targets(chain, arrival, possible.classes)
                assert known.totals.tolist() == possible.totals.tolist()


def test_a_release_without_newcomers_has_no_arrivals() -> None:
    rng = np.random.default_rng(55)
    chain = random_cut_chain(rng, 2, people=9)
    again = chain.extend(chain.releases[-1])
    assert again.arrivals() == [t for t in chain.arrivals() if t < 2]
    assert again.pair(1, 2).newcomers == 0
    compared = again.pair(0, 1)
    assert again.until(1).pair(0, 1) is compared
