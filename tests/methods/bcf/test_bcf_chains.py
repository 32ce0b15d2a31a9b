"""BCF's chain of releases: what continues it, what breaks it, and when a new one is needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reissue.errors import ChangeError, InfeasiblePolicy
from reissue.methods.baselines.static import Static
from reissue.methods.bcf import certification
from reissue.methods.bcf.attack import Correspondence
from reissue.methods.bcf.memory import ChainLog
from reissue.methods.bcf.strategy import BCF
from reissue.model.domain import Domain
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History
from tests.methods.bcf.chains import bare, random_series, with_newcomers
from tests.support.histories import Turnover, generate, observe, run_series, toy_domains, uniform_tree


def test_too_few_newcomers_are_refused_with_what_is_feasible() -> None:
    snapshots = generate(np.random.default_rng(76), releases=1, rows=100, values=3)
    more = with_newcomers(snapshots[0], 4)
    with pytest.raises(InfeasiblePolicy, match=r"FA = CA = \d+ and BA = 4\. The largest feasible k is 4") as refusal:
        run_series(BCF(k=5), [snapshots[0], more])
    assert "start_new_chain" in str(refusal.value)
    facts = run_series(BCF(k=4), [snapshots[0], more])
    assert not Correspondence(k=4).run(observe(facts, more)).breaches


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


def test_releases_that_begin_chains_for_one_reason_are_told_together() -> None:
    snapshots = generate(np.random.default_rng(80), releases=9, rows=200, values=3, turnover=Turnover(leave=0.2))
    told = Correspondence().run(observe(run_series(Static(k=5), snapshots), snapshots[-1])).notes
    (note,) = [note for note in told if "start of a new chain" in note]
    assert note == (
        "Each of release 2, release 3, release 4, release 5, release 6 and 3 more releases lacks people of the release "
        "before; the attack treats it as the start of a new chain of releases."
    )


def test_a_series_begun_another_way_is_continued_by_exact_flows() -> None:
    """Release 1 deals people to overlapping classes; BCF goes on, and the exact attack finds nothing."""
    rng = np.random.default_rng(80)
    continued = 0
    for _ in range(4):
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
    assert continued > 1


def test_beside_a_release_that_is_no_cut_the_second_may_cross_as_much_as_it_likes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshots = generate(np.random.default_rng(84), releases=2, rows=120, values=2, turnover=Turnover(arrive=0.8))
    first = [local_recoding(snapshots[0], 12)]
    free = BCF(k=4).publish(snapshots[1], History(first, {}, 2))
    monkeypatch.setattr(certification, "CROSSINGS", 0)
    again = BCF(k=4).publish(snapshots[1], History(first, {}, 2))
    assert len(again.boxes) == len(free.boxes) > 1


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
    for _ in range(5):
        snapshots, known = [], 0
        for number, snapshot in enumerate(generate(rng, releases=3, rows=200, values=3)):
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
    assert beyond > 3


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


def test_where_the_best_steps_lead_to_no_diverse_values_other_steps_are_tried() -> None:
    """Codes 0-1 beside 2-3 of the second attribute hold alpha; the best first step, on the first one, does not."""
    domains = Domain("a", 0, 1, uniform_tree(2)), Domain("b", 0, 3, uniform_tree(2, 2))
    codes = ["12", "11", "00", "13", "13", "03", "02", "12", "10", "12", "01", "00", "00", "01", "02", "00", "13"]
    values = np.array([2, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 2, 2, 2, 0, 2, 2], dtype=np.int32)
    table = np.array([[int(code) for code in both] for both in codes], dtype=np.int32)
    snapshots = [Coded(np.arange(rows), np.asfortranarray(table[:rows]), values[:rows], domains, 3) for rows in (9, 17)]
    asked = {"k": 3, "alpha": 0.6}
    facts = run_series(BCF(**asked), snapshots)  # type: ignore[arg-type]
    assert not Correspondence(**asked).run(observe(facts, snapshots[-1])).breaches  # type: ignore[arg-type]
