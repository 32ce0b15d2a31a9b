"""BCF: every series it publishes withstands the correspondence attack, and nothing more could be said safely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reissue.attacks.correspondence import Correspondence
from reissue.core.boxes import contain
from reissue.core.candidates import Chain, possible_targets
from reissue.core.chainlog import ChainLog
from reissue.core.cracks import Grouped
from reissue.core.domain import Domain
from reissue.core.observed import Observed, Release
from reissue.core.recoding import Cut
from reissue.core.snapshot import Candidate, Coded, Counterfeits, Facts, History
from reissue.errors import ChangeError, InfeasiblePolicy, SettingsError
from reissue.strategies.base import Strategy
from reissue.strategies.bcf import BCF
from tests.support.histories import Turnover, generate, observe, run_series, toy_domains, uniform_tree

TAXONOMIES = (Domain("place", 0, 11, uniform_tree(3, 4)), Domain("job", 0, 7, uniform_tree(2, 2, 2)))


def bare(series: Observed) -> Observed:
    """The series without members: every combination of classes counts that anyone could be in."""
    releases = [Release(r.number, r.boxes, r.classes, r.values) for r in series.releases]
    return Observed(releases, series.domains, series.value_count, series.words)


def random_series(rng: np.random.Generator, releases: int, domains: tuple[Domain, ...] | None = None) -> list[Coded]:
    return generate(
        rng,
        releases=releases,
        rows=int(rng.integers(60, 400)),
        values=int(rng.integers(2, 6)),
        skew=float(rng.choice([0.0, 1.0])),
        turnover=Turnover(arrive=float(rng.choice([0.2, 0.5]))),
        domains=domains,
    )


def test_it_is_a_strategy() -> None:
    assert isinstance(BCF(k=3), Strategy)


@pytest.mark.parametrize("score", ["discernibility", "information-gain"])
@pytest.mark.parametrize("domains", [None, TAXONOMIES], ids=["mixed", "taxonomies"])
def test_every_pair_and_every_arrival_keep_k(score: str, domains: tuple[Domain, ...] | None) -> None:
    rng = np.random.default_rng(71)
    specialized = 0
    for _ in range(30):
        snapshots = random_series(rng, int(rng.integers(2, 7)), domains)
        k = int(rng.integers(3, 8))
        facts = run_series(BCF(k=k, score=score), snapshots)  # type: ignore[arg-type]
        specialized += sum(release.class_count > 1 for release in facts)
        for series in (observe(facts, snapshots[-1]), bare(observe(facts, snapshots[-1]))):
            outcome = Correspondence(k=k).run(series)
            assert not outcome.breaches
            assert min(outcome.measures[level] for level in ("FA", "CA", "BA", "candidates")) >= k
            assert "flows" not in outcome.measures  # all cuts are nested, numeric ranges too
            for number in range(1, len(facts) + 1):
                assert not Correspondence(k=k).run(series, involving=number).breaches
    assert specialized > 60


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
        past = Chain([Grouped.published(Release.of(release)) for release in facts[:-1]])
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
                    assert weakest(past.extended(specialize(last, a, tree.hi[kids], inside))) < k
                    tried += 1
    assert tried > 50


def specialize(release: Facts, attribute: int, ends: np.ndarray, inside: np.ndarray) -> Grouped:  # type: ignore[type-arg]
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
    view = Release(release.number, boxes, home.astype(np.int32), release.values)
    return Grouped.published(view)


def weakest(chain: Chain) -> int:
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
    rng = np.random.default_rng(75)
    strategy = BCF(k=3, **asked)  # type: ignore[arg-type]
    published, plain_breaks = 0, 0
    for _ in range(20):
        snapshots = random_series(rng, 3)
        try:
            facts = run_series(strategy, snapshots)
        except InfeasiblePolicy:
            continue
        published += 1
        attack = Correspondence(**strategy.thresholds())  # type: ignore[arg-type]
        assert not attack.run(bare(observe(facts, snapshots[-1]))).breaches
        plain = run_series(BCF(k=3), snapshots)
        plain_breaks += bool(attack.run(bare(observe(plain, snapshots[-1]))).breaches)
    assert published > 5
    assert plain_breaks > 3


def test_too_few_newcomers_are_refused_with_what_is_feasible() -> None:
    snapshots = generate(np.random.default_rng(76), releases=1, rows=100, values=3)
    more = with_newcomers(snapshots[0], 4)
    with pytest.raises(InfeasiblePolicy, match=r"FA = CA = \d+ and BA = 4\. The largest feasible k is 4") as refusal:
        run_series(BCF(k=5), [snapshots[0], more])
    assert "start_new_chain" in str(refusal.value)
    facts = run_series(BCF(k=4), [snapshots[0], more])
    assert not Correspondence(k=4).run(observe(facts, more)).breaches


def with_newcomers(snapshot: Coded, count: int, seed: int = 1) -> Coded:
    extra = generate(np.random.default_rng(seed), releases=1, rows=count, values=snapshot.value_count)[0]
    return Coded(
        np.concatenate([snapshot.subjects, extra.subjects + 100_000]),
        np.asfortranarray(np.concatenate([snapshot.codes, extra.codes])),
        np.concatenate([snapshot.values, extra.values]),
        snapshot.domains,
        snapshot.value_count,
    )


def test_nobody_new_is_multi_purpose_publishing() -> None:
    snapshot = generate(np.random.default_rng(77), releases=1, rows=300, values=3)[0]
    strategies = [BCF(k=5), BCF(k=5, score="information-gain")]
    releases: list[Facts] = []
    caches: dict[str, object] = {}
    for number, strategy in enumerate(strategies, start=1):
        facts = strategy.publish(snapshot, History(releases, caches, 1)).facts(number, snapshot)  # type: ignore[arg-type]
        caches = dict(strategy.remember(caches, facts))  # type: ignore[arg-type]
        releases.append(facts)
    outcome = Correspondence(k=5).run(observe(releases, snapshot))
    assert not outcome.breaches
    assert "BA" not in outcome.measures
    assert outcome.measures["FA"] >= 5


def test_a_raised_k_needs_a_new_chain() -> None:
    snapshots = generate(np.random.default_rng(78), releases=4, rows=200, values=3)
    first = run_series(BCF(k=3), snapshots[:1])
    with pytest.raises(InfeasiblePolicy, match="start_new_chain"):
        BCF(k=12).publish(snapshots[1], History(first, {}, 1))
    strategy = BCF(k=12, start_new_chain=True)
    facts = list(first)
    for number, snapshot in enumerate(snapshots[1:], start=2):
        facts.append(strategy.publish(snapshot, History(facts, {}, number)).facts(number, snapshot))
    assert not np.isin(facts[1].subjects, facts[0].subjects).any()
    assert np.isin(facts[1].subjects, facts[2].subjects).all()  # the new chain goes on
    assert not np.isin(facts[3].subjects, facts[0].subjects).any()
    outcome = Correspondence(k=12).run(observe(facts, snapshots[-1]), involving=4)
    assert not outcome.breaches
    assert outcome.measures["FA"] >= 12


def test_a_new_chain_can_be_asked_for_at_a_release() -> None:
    snapshots = generate(np.random.default_rng(79), releases=4, rows=200, values=3)
    facts = run_series(BCF(k=4, start_new_chain=3), snapshots)
    assert [len(release.subjects) for release in facts[:2]] == [len(s) for s in snapshots[:2]]
    assert len(facts[2].subjects) == len(snapshots[2]) - len(snapshots[1])
    assert len(facts[3].subjects) == len(snapshots[3]) - len(snapshots[1])
    outcome = Correspondence(k=4).run(observe(facts, snapshots[-1]))
    assert not outcome.breaches
    assert any("only new people" in note for note in outcome.notes)


def test_a_series_begun_another_way_is_continued_by_exact_flows() -> None:
    """Release 1 deals people to overlapping classes; BCF goes on, and the exact attack finds nothing."""
    rng = np.random.default_rng(80)
    continued = 0
    for _ in range(6):
        snapshots = generate(rng, releases=3, rows=80, values=2, turnover=Turnover(arrive=0.6))
        facts = [local_recoding(snapshots[0], 12)]
        strategy = BCF(k=4)
        try:
            for number, snapshot in enumerate(snapshots[1:], start=2):
                facts.append(strategy.publish(snapshot, History(facts, {}, number)).facts(number, snapshot))
        except InfeasiblePolicy:
            continue
        continued += facts[-1].class_count > 1
        outcome = Correspondence(k=4).run(bare(observe(facts, snapshots[-1])))
        assert not outcome.breaches
        assert outcome.measures["flows"] > 0
    assert continued > 2


def local_recoding(snapshot: Coded, size: int) -> Facts:
    order = np.argsort(snapshot.codes[:, 0], kind="stable")
    classes = np.empty(len(snapshot), dtype=np.int32)
    classes[order] = np.minimum(np.arange(len(snapshot)) // size, len(snapshot) // size - 1)
    boxes = np.empty((int(classes.max()) + 1, snapshot.codes.shape[1], 2), dtype=np.int32)
    for c in range(len(boxes)):
        rows = snapshot.codes[classes == c]
        boxes[c, :, 0], boxes[c, :, 1] = rows.min(axis=0), rows.max(axis=0)
    return Candidate(boxes, classes, Counterfeits.none(boxes.shape[1]), ()).facts(1, snapshot)


def test_ranges_stay_nested_when_the_domain_widens() -> None:
    """Older and older people arrive: later snapshots know higher ages than the first release could."""
    rng = np.random.default_rng(81)
    beyond = 0
    for _ in range(15):
        snapshots, known = [], 0
        for number, snapshot in enumerate(generate(rng, releases=4, rows=200, values=3)):
            codes = snapshot.codes.copy(order="F")
            joined = snapshot.subjects // 150  # subjects are numbered as they come
            codes[:, 0] = np.minimum(codes[:, 0] + 10 * joined, 79 + 10 * number)
            known = max(known, int(codes[:, 0].max()))
            snapshots.append(replace(snapshot, codes=codes, domains=(Domain("age", 0, known), *toy_domains()[1:])))
        ages: dict[int, int] = {}
        for snapshot in reversed(snapshots):
            ages.update(zip(snapshot.subjects.tolist(), snapshot.codes[:, 0].tolist(), strict=True))
        for snapshot in snapshots:
            snapshot.codes[:, 0] = [ages[int(s)] for s in snapshot.subjects]  # as they were when they came
        beyond += known > 79
        facts = run_series(BCF(k=4), snapshots)
        outcome = Correspondence(k=4).run(bare(observe(facts, snapshots[-1])))
        assert not outcome.breaches
        assert "flows" not in outcome.measures
    assert beyond > 10


def test_caches_are_what_the_facts_say() -> None:
    snapshots = random_series(np.random.default_rng(82), 3)
    facts = run_series(BCF(k=4), snapshots)
    log = ChainLog.empty()
    for release in facts:
        log = log.after(release)
    again = ChainLog.read(log.tables())
    assert again.start == log.start
    assert again.arrival.tolist() == log.arrival.tolist()
    for one, other in zip(again.releases, log.releases, strict=True):
        assert (one.boxes == other.boxes).all()
        assert one.counts.tolist() == other.counts.tolist()
        assert one.start.tolist() == other.start.tolist()
    more = with_newcomers(snapshots[-1], 60)
    cached = BCF(k=4).publish(more, History(facts, log.tables(), 9))
    rebuilt = BCF(k=4).publish(more, History(facts, {}, 9))
    assert (cached.classes == rebuilt.classes).all()
    for table in (*log.tables().values(), cached.extras):
        assert len({len(column) for column in table.values()}) == 1


def test_people_who_are_gone_are_refused() -> None:
    snapshot = generate(np.random.default_rng(83), releases=1, rows=100, values=3)[0]
    fewer = Coded(
        snapshot.subjects[:90], np.asfortranarray(snapshot.codes[:90]), snapshot.values[:90], snapshot.domains, 3
    )
    with pytest.raises(ChangeError, match="10 subjects"):
        run_series(BCF(k=4), [snapshot, fewer])


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
    with pytest.raises(SettingsError):
        BCF(**wrong)  # type: ignore[arg-type]
