"""BCF: every series it publishes withstands the correspondence attack, and nothing more could be said safely."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.bcf.attack import Correspondence
from reissue.methods.bcf.candidates import ReleaseChain, possible_targets
from reissue.methods.bcf.strategy import BCF
from reissue.methods.strategy import Strategy
from reissue.model.boxes import contain
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.overlap import GroupedRelease
from reissue.model.release import Coded, Facts
from reissue.partition.global_recoding import Cut
from tests.methods.bcf.chains import TAXONOMIES, bare, random_series
from tests.support.histories import Turnover, generate, observe, run_series
from tests.support.refusals import names


def test_it_is_a_strategy() -> None:
    assert isinstance(BCF(k=3), Strategy)


@pytest.mark.parametrize("score", ["discernibility", "information-gain"])
@pytest.mark.parametrize("domains", [None, TAXONOMIES], ids=["mixed", "taxonomies"])
def test_every_pair_and_every_arrival_keep_k(score: str, domains: tuple[Domain, ...] | None) -> None:
    rng = np.random.default_rng(71)
    specialized = 0
    for releases in (2, 3, 3, 4):
        snapshots = random_series(rng, releases, domains)
        k = int(rng.integers(3, 8))
        facts = run_series(BCF(k=k, score=score), snapshots)  # type: ignore[arg-type]
        specialized += sum(release.class_count > 1 for release in facts)
        for series in (observe(facts, snapshots[-1]), bare(observe(facts, snapshots[-1]))):
            outcome = Correspondence(k=k).run(series)
            assert not outcome.breaches
            assert outcome.unfinished == 0
            assert min(outcome.measures[level] for level in ("FA", "CA", "BA", "candidates")) >= k
            assert "flows" not in outcome.measures  # all cuts are nested, numeric ranges too
            for number in range(1, min(3, len(facts)) + 1):
                assert not Correspondence(k=k).run(series, involving=number).breaches
    assert specialized > 8


def test_every_row_is_published_under_one_label_per_value() -> None:
    snapshots = random_series(np.random.default_rng(72), 3)
    for snapshot, facts in zip(snapshots, run_series(BCF(k=4), snapshots), strict=True):
        assert len(facts.subjects) == len(snapshot)
        assert contain(facts.boxes, facts.codes, facts.classes).all()
        cut = Cut.read(facts.extras)
        assert cut is not None
        for a, domain in enumerate(snapshot.domains):
            starts, at = cut.lo[a], np.searchsorted(cut.lo[a], facts.codes[:, a], side="right") - 1
            label = np.stack([np.maximum(starts[at], domain.lo), np.minimum(cut.hi[a][at], domain.hi)], axis=1)
            assert (facts.boxes[facts.classes, a] == label).all()


def test_no_label_could_be_specialized_further() -> None:
    """The result is maximal, so the search refuses nothing that would have been safe."""
    rng = np.random.default_rng(73)
    tried = 0
    for _ in range(25):
        snapshots = random_series(rng, int(rng.integers(2, 5)), TAXONOMIES)
        k = int(rng.integers(3, 8))
        facts = run_series(BCF(k=k), snapshots)
        past = ReleaseChain([GroupedRelease.from_release(ObservedRelease.of(release)) for release in facts[:-1]])
        last = facts[-1]
        cut = Cut.read(last.extras)
        assert cut is not None
        for a, domain in enumerate(TAXONOMIES):
            tree = domain.tree
            assert tree is not None
            start, child = tree.children
            for lo, hi in zip(cut.lo[a].tolist(), cut.hi[a].tolist(), strict=True):
                node = int(tree.cover(np.array([lo]), np.array([hi]))[0])
                kids = child[start[node] : start[node + 1]]
                inside = (last.codes[:, a] >= lo) & (last.codes[:, a] <= hi)
                if len(kids) and inside.any():
                    assert weakest(past.extend(specialize(last, a, tree.hi[kids], inside))) < k
                    tried += 1
    assert tried > 50


def specialize(release: Facts, attribute: int, ends: np.ndarray, inside: np.ndarray) -> GroupedRelease:  # type: ignore[type-arg]
    """The groups of a release after one of its labels is replaced by parts that end at `ends`."""
    part = np.where(inside, np.searchsorted(ends, release.codes[:, attribute]) + 1, 0)
    old = release.classes.astype(np.int64) * (len(ends) + 1) + part
    classes, home = np.unique(old, return_inverse=True)
    boxes = release.boxes[classes // (len(ends) + 1)].copy()
    made = classes % (len(ends) + 1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    low = release.codes[inside, attribute].min() if inside.any() else 0
    starts[0] = boxes[made > 0, attribute, 0].min() if (made > 0).any() else low
    boxes[made > 0, attribute, 0] = starts[made[made > 0] - 1]
    boxes[made > 0, attribute, 1] = ends[made[made > 0] - 1]
    view = ObservedRelease(release.number, boxes, home.astype(np.int32), release.values)
    return GroupedRelease.from_release(view)


def weakest(chain: ReleaseChain) -> int:
    levels = [possible_targets(chain, t, strict=True).totals.min() for t in chain.arrivals()]
    return int(min(levels))


def test_publishing_separately_would_have_broken() -> None:
    """The same data, k-anonymized release by release: the attack finds what BCF prevents."""
    rng = np.random.default_rng(74)
    broken = 0
    for _ in range(15):
        snapshots = random_series(rng, 3)
        alone = [run_series(BCF(k=5), [snapshot])[0] for snapshot in snapshots]
        facts = [replace(release, number=number) for number, release in enumerate(alone, start=1)]
        broken += bool(Correspondence(k=5).run(observe(facts, snapshots[-1])).breaches)
    assert broken >= 10


@cache
def growing_tables() -> list[tuple[list[Coded], list[Facts]]]:
    """Snapshots, and what is published of them where nothing more is asked for."""
    rng = np.random.default_rng(75)
    tables = [generate(rng, releases=3, rows=60, values=3, turnover=Turnover(arrive=0.5)) for _ in range(8)]
    return [(snapshots, run_series(BCF(k=3), snapshots)) for snapshots in tables]


@pytest.mark.parametrize(
    "asked",
    [
        {"confidence": 0.6},
        {"alpha": 0.5},
        {"entropy_l": 1.8},
        {"recursive": (2.0, 2)},
        {"entropy_l": 1.5, "recursive": (3.0, 2)},
    ],
)
def test_further_requirements_hold_for_the_candidates_that_remain(asked: dict[str, object]) -> None:
    strategy = BCF(k=3, **asked)  # type: ignore[arg-type]
    published, plain_breaks = 0, 0
    for snapshots, plain in growing_tables():
        try:
            facts = run_series(strategy, snapshots)
        except InfeasiblePolicy:
            continue
        published += 1
        attack = Correspondence(**strategy.thresholds())  # type: ignore[arg-type]
        assert not attack.run(bare(observe(facts, snapshots[-1]))).breaches
        plain_breaks += bool(attack.run(bare(observe(plain, snapshots[-1]))).breaches)
    assert published > 1
    assert plain_breaks > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 1},
        {"k": 3, "score": "loss"},
        {"k": 3, "confidence": 0.0},
        {"k": 3, "alpha": 1.2},
        {"k": 3, "entropy_l": 0.2},
        {"k": 3, "recursive": (1.0,)},
        {"k": 3, "recursive": (-1.0, 2)},
        {"k": 3, "start_new_chain": 1},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(wrong)):
        BCF(**wrong)  # type: ignore[arg-type]
