"""BCF with outliers left out: they arrive with the release that first shows them, and everyone shown keeps k."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.arrays.types import Int64
from reissue.errors import InfeasiblePolicy
from reissue.methods.bcf.attack import Correspondence
from reissue.methods.bcf.candidates import ReleaseChain, possible_targets
from reissue.methods.bcf.strategy import BCF, OUTLIERS
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.overlap import GroupedRelease
from reissue.model.release import Candidate, Coded, Counterfeits, Facts
from reissue.publish.fragment import LEFT_OUT
from reissue.publish.spark.fragment import plan_from_table, plan_to_table
from reissue.utility import measure
from tests.methods.bcf.chains import TAXONOMIES, bare, random_series
from tests.support.histories import observe, run_series


def outlying(rng: np.random.Generator, snapshots: list[Coded], most: int) -> list[Coded]:
    """The same people, crowded in six places but for at most a few of each arrival, who stay where they were."""
    last = snapshots[-1]
    place = dict(zip(last.subjects.tolist(), last.codes[rng.integers(0, 6, len(last))], strict=True))
    own = dict(zip(last.subjects.tolist(), last.codes, strict=True))
    known: set[int] = set()
    for snapshot in snapshots:
        came = sorted(set(snapshot.subjects.tolist()) - known)
        place |= {came[i]: own[came[i]] for i in rng.integers(0, len(came), most if came else 0).tolist()}
        known |= set(came)
    return [replace(one, codes=np.asfortranarray([place[s] for s in one.subjects.tolist()])) for one in snapshots]


def series(seed: int, domains: tuple[Domain, ...] | None) -> tuple[list[Coded], int]:
    rng = np.random.default_rng(seed)
    snapshots = random_series(rng, int(rng.integers(2, 5)), domains)
    return outlying(rng, snapshots, 3), int(rng.integers(3, 8))


def find_arrivals(releases: list[Facts]) -> dict[int, int]:
    """By subject, the position of the first release that shows it."""
    shown: dict[int, int] = {}
    for position, facts in enumerate(releases):
        for subject in facts.subjects.tolist():
            shown.setdefault(subject, position)
    return shown


def count_candidates(chain: ReleaseChain, arrival: int, codes: Int64) -> list[int]:
    """The candidates of whoever has these codes and is taken to have arrived then, wherever that leaves any."""
    targets = possible_targets(chain, arrival)
    fits = np.ones(len(targets), dtype=np.bool_)
    for position in range(arrival, len(chain)):
        boxes = chain.releases[position].boxes[targets.classes[:, position - arrival]]
        fits &= ((boxes[..., 0] <= codes) & (boxes[..., 1] >= codes)).all(axis=1)
    return [int(total) for total in targets.totals[fits] if total > 0]


@pytest.mark.parametrize("domains", [None, TAXONOMIES], ids=["mixed", "taxonomies"])
def test_everyone_who_is_shown_keeps_k_and_stays(domains: tuple[Domain, ...] | None) -> None:
    left = late = finer = coarser = 0
    for seed in range(12):
        snapshots, k = series(seed, domains)
        releases = run_series(BCF(k=k, suppress=0.1), snapshots)
        for seen in (observe(releases, snapshots[-1]), bare(observe(releases, snapshots[-1]))):
            outcome = Correspondence(k=k).run(seen)
            assert not outcome.breaches
            assert outcome.unfinished == 0
            assert not [note for note in outcome.notes if "new chain" in note], "somebody who was shown is gone"
        for facts, snapshot in zip(releases, snapshots, strict=True):
            assert len(snapshot) - len(facts.subjects) <= 0.1 * len(snapshot)
            left += len(snapshot) - len(facts.subjects)
        shown = find_arrivals(releases)
        late += sum(shown[s] > 0 for s in snapshots[0].subjects.tolist() if s in shown)
        plain = run_series(BCF(k=k), snapshots[:1])[0]
        one, two = (measure(facts, snapshots[0]).ail for facts in (releases[0], plain))
        finer, coarser = finer + (one < two), coarser + (one > two)
    assert left > 30
    assert late > 0, "nobody who was left out was shown later: nothing was tested"
    assert finer > 3
    assert coarser == 0, "outliers were left out where that does not pay"


@pytest.mark.parametrize("domains", [None, TAXONOMIES], ids=["mixed", "taxonomies"])
def test_who_believes_a_late_one_to_be_there_already_is_left_with_k_records_of_others_or_none(
    domains: tuple[Domain, ...] | None,
) -> None:
    """An attacker who knows when people came to the table, and not that some were left out."""
    looked = 0
    for seed in range(30):
        snapshots, k = series(seed, domains)
        releases = run_series(BCF(k=k, suppress=0.1), snapshots)
        shown = find_arrivals(releases)
        groups = [GroupedRelease.from_release(ObservedRelease.of(facts)) for facts in releases]
        for position, snapshot in enumerate(snapshots):
            came = np.setdiff1d(snapshot.subjects, snapshots[position - 1].subjects if position else [])
            for subject in came.tolist():
                if shown.get(subject, len(releases)) > position:
                    codes = snapshot.codes[np.flatnonzero(snapshot.subjects == subject)[0]]
                    assert all(n >= k for n in count_candidates(ReleaseChain(groups), position, codes))
                    looked += 1
    assert looked > 20


def test_few_newcomers_are_all_shown_where_they_could_not_be_without_an_outlier() -> None:
    """k newcomers, one of them far from everybody: without it nothing could be published."""
    first = outlying(np.random.default_rng(2), random_series(np.random.default_rng(2), 1, TAXONOMIES), 0)[0]
    codes = np.repeat(first.codes[:1], 5, axis=0)
    codes[4] = [domain.hi for domain in first.domains]
    second = Coded(
        np.concatenate([first.subjects, 10_000 + np.arange(5)]),
        np.asfortranarray(np.concatenate([first.codes, codes])),
        np.concatenate([first.values, first.values[:5]]),
        first.domains,
        first.value_count,
    )
    releases = run_series(BCF(k=5, suppress=0.1), [first, second])
    assert len(releases[1].subjects) == len(second)
    with pytest.raises(InfeasiblePolicy):
        run_series(BCF(k=6, suppress=0.1), [first, second])


PLACES = ri.Schema(
    identifier="name", quasi_identifiers={"zip": {"prefix": [2, 1]}, "age": ri.Numeric()}, sensitive="diagnosis"
)


def crowd(rows: int, places: tuple[str, ...], first: int = 0) -> pa.Table:
    """People of four places, and one in each of some others."""
    rng = np.random.default_rng(rows)
    everybody = rows + len(places)
    return pa.table(
        {
            "name": [f"P{first + i}" for i in range(everybody)],
            "zip": [*rng.choice(["101", "102", "201", "202"], rows), *places],
            "age": rng.choice([30, 60], everybody),
            "diagnosis": [f"D{value}" for value in rng.integers(0, 3, everybody)],
        }
    )


@pytest.mark.parametrize("fragments", [1, 3])
def test_outliers_are_counted_in_the_ledger_and_new_when_they_are_shown(tmp_path: Path, fragments: int) -> None:
    first = crowd(200, ("109", "999"))
    second = pa.concat_tables([first, crowd(40, ("999",) * 12, 300)])
    with ri.Series.create(tmp_path / "s", PLACES, ri.BCF(k=5, suppress=0.02), seed=1, fragments=fragments) as made:
        one, two = made.publish(first), made.publish(second)
        assert [release.counts["suppressed"] for release in (one, two)] == [2, 0]
        identifiers, numbers = made._ledger.identities()
        known = dict(zip(numbers.tolist(), identifiers.to_pylist(), strict=True))
        absent = [known[number] for number in np.asarray(made._ledger.facts(1).extras[LEFT_OUT]).tolist()]
        assert sorted(absent) == ["P200", "P201"]
        assert two.counts["new"] == 54, "52 who came, and two who were left out before"
        assert "like fewer than 5" in " ".join(one.steps)
        done = made.audit(attacks=["correspondence"], k=5)
        assert not done.breaches
        assert [(absence.release, absence.people) for absence in done.absences] == [(1, 2)]
        assert made.verify(rebuild=True) == []


def test_in_fragments_the_release_is_that_of_an_undivided_table(tmp_path: Path) -> None:
    tables = [crowd(200, ("109", "999"))]
    tables.append(pa.concat_tables([tables[0], crowd(40, ("307",), 300)]))
    shown = []
    for fragments in (1, 2, 5):
        folder = tmp_path / str(fragments)
        with ri.Series.create(folder, PLACES, ri.BCF(k=5, suppress=0.02), seed=1, fragments=fragments) as made:
            releases = [made.publish(table) for table in tables]
            assert [release.counts["suppressed"] for release in releases] == [2, 2]
            shown.append([sorted(map(str, release.to_arrow().to_pylist())) for release in releases])
    assert shown[0] == shown[1] == shown[2]


def test_a_plan_keeps_its_outliers_on_the_way_to_workers() -> None:
    for codes in (np.empty((0, 2), dtype=np.int32), np.array([[3, 9], [7, 1]], dtype=np.int32)):
        plan = Candidate(
            np.zeros((1, 2, 2), dtype=np.int32),
            np.empty(0, dtype=np.int32),
            Counterfeits.none(2),
            ("made",),
            extras={OUTLIERS: codes},
        )
        np.testing.assert_array_equal(plan_from_table(plan_to_table(plan)).extras[OUTLIERS], codes)


def test_who_was_left_out_may_change_or_go_before_being_shown(tmp_path: Path) -> None:
    """Nothing was said about them."""
    first = crowd(200, ("109", "999"))
    changed = first.slice(0, 201).to_pydict()
    changed["zip"][200] = "102"
    with ri.Series.create(tmp_path / "s", PLACES, ri.BCF(k=5, suppress=0.02), seed=1) as made:
        assert made.publish(first).counts["suppressed"] == 2
        second = made.publish(pa.concat_tables([pa.table(changed), crowd(40, (), 300)]))
        assert second.counts["published"] == 241
        assert not made.audit(attacks=["correspondence"], k=5).breaches
