"""The timeline: the same numbers in parts as of the whole, and what the slow definitions say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.arrays.types import Int64
from reissue.audit.description import Here
from reissue.audit.spark.portion import NamedPortion, Portion, ReadReleases
from reissue.audit.timeline import added, counted, risk, sizes, tally, utility
from reissue.audit.words import AuditWords
from reissue.methods.strategy import Strategy
from reissue.model.observed import Observed, ObservedRelease
from reissue.utility.loss import ail, average_class_size, discernibility_share, gcp
from tests.support.churning import churning
from tests.support.divided import CHURN, SCHEMA, People


def test_sizes_and_utility_as_defined() -> None:
    for seed in range(60):
        series = churning(np.random.default_rng([seed, 31]))
        for release in series.releases:
            missing, found = seed % 3, release.sizes[release.sizes > 0]
            numbers = tally(release, series.domains)
            told = sizes(numbers)
            if len(found):
                assert told["median"] == np.median(found)
                assert told["mean"] == pytest.approx(found.mean())
                assert (told["smallest"], told["largest"]) == (found.min(), found.max())
            assert sum(bar["rows"] for bar in told["histogram"]) == len(release.classes)  # type: ignore[attr-defined]
            assert sum(bar["classes"] for bar in told["histogram"]) == len(found)  # type: ignore[attr-defined]
            assert utility(numbers, series.domains, missing) == pytest.approx(
                {
                    "ail": ail(release, series.domains, suppressed=missing),
                    "gcp": gcp(release, series.domains, suppressed=missing) / max(1, len(release.classes) + missing),
                    "discernibility": discernibility_share(release, suppressed=missing),
                    "class_size": average_class_size(release),
                }
            )


def test_the_histogram_of_many_sizes_has_few_bars() -> None:
    distinct = np.arange(3, 90)
    numbers = tally(churning(np.random.default_rng(1)).releases[0], churning(np.random.default_rng(1)).domains)
    told = sizes(replace(numbers, sizes=np.column_stack([distinct, np.full(len(distinct), 2)])))
    bars = told["histogram"]
    assert isinstance(bars, list)
    assert 5 <= len(bars) <= 12
    assert (bars[0]["from"], bars[-1]["to"]) == (3, 89)
    assert sum(bar["classes"] for bar in bars) == 2 * len(distinct)
    assert told["median"] == 46


def test_risk_by_counting_people_one_by_one() -> None:
    for seed in range(40):
        series = churning(np.random.default_rng([seed, 32]))
        if seed % 3 == 0:
            series = replace(series, releases=[replace(release, anatomized=True) for release in series.releases])
        last: dict[int, tuple[int, ...]] = {}
        for release in series.releases:
            assert release.members is not None
            codes = map(tuple, release.members.codes.tolist())
            last |= dict(zip(release.members.subjects.tolist(), codes, strict=True))
        for entry, release in zip(Here(series).timeline, series.releases, strict=True):
            chances = _chances(release, list(last.values()))
            told = risk(entry.fits, 0.3)
            journalist, marketer = told["journalist"], told["marketer"]
            assert isinstance(journalist, dict)
            assert isinstance(marketer, dict)
            assert journalist["highest"] == pytest.approx(max(chances, default=0.0))
            assert marketer["success_rate"] == pytest.approx(np.mean(chances) if chances else 0.0)
            assert journalist["records_at_risk"] == pytest.approx(np.mean(np.array(chances) > 0.3) if chances else 0.0)


def _chances(release: ObservedRelease, population: list[tuple[int, ...]]) -> list[float]:
    """Of each row: one by the people who fit its class, or by the rows of the class if they are more."""
    assert release.members is not None
    if release.anatomized:
        rows = [tuple(row) for row in release.members.codes.tolist()]
        return [1 / max(rows.count(row), population.count(row)) for row in rows]
    found = []
    for number in release.classes.tolist():
        box = release.boxes[number].tolist()
        people = sum(all(lo <= c <= hi for c, (lo, hi) in zip(one, box, strict=True)) for one in population)
        found.append(1 / max(int(release.sizes[number]), people))
    return found


@pytest.mark.parametrize("strategy", [ri.Static(k=3, c=0.6), ri.MInvariance(m=3, publishing="anatomized")])
@pytest.mark.parametrize("fragments", [1, 4])
def test_what_fragments_count_adds_up(fragments: int, strategy: Strategy, tmp_path: Path) -> None:
    """People who moved fit classes of other fragments, and codes have shifted since the first release."""
    tables = People(7).months(3, CHURN, first=400)
    tables[0] = tables[0].filter(pa.array([int(age) > 24 for age in tables[0]["age"].to_pylist()]))
    rng = np.random.default_rng(8)
    moved = pa.array([int(age) if rng.random() < 0.8 else 100 - int(age) for age in tables[2]["age"].to_pylist()])
    tables[2] = tables[2].set_column(1, "age", moved)
    with ri.Series.create(tmp_path / "s", SCHEMA, strategy, seed=3, fragments=fragments) as series:
        for table in tables:
            series.publish(table.drop_columns(["note"]))
        shelf, coding = series._ledger.shelf, series.coding
    whole = Observed(
        list(ReadReleases(shelf, coding)), coding.domains, len(coding.values), AuditWords(coding, lambda n: str(n))
    )
    here = Here(whole)
    portions = Portion.every(shelf, coding)
    assert len(portions) == fragments
    told = [portion.census() for portion in portions]
    hulls = [[one.tallies[position].hull for one in told] for position in range(3)]
    fits = _added([table for portion in portions for table in portion.fitting(hulls)])
    assert sum(one.people for one in told) == here.people
    for position, entry in enumerate(here.timeline):
        together = added([one.tallies[position] for one in told])
        for name in ("number", "anatomized", "rows", "classes", "members"):
            assert getattr(together, name) == getattr(entry.tally, name), name
        assert np.array_equal(together.sizes, entry.tally.sizes)
        assert np.array_equal(together.lost, entry.tally.lost)
        changes = [one.changes[position] for one in told]
        assert vars(sum(changes[1:], start=changes[0])) == vars(entry.changes)
        assert np.array_equal(fits[position], entry.fits)
    assert here.timeline[2].changes is not None
    assert here.timeline[2].changes.changed_quasi_identifiers > 20
    _assert_cards(portions, here, whole)


def _assert_cards(portions: list[Portion], here: Here, whole: Observed) -> None:
    counts = np.array([[one.classes for one in portion.census().tallies] for portion in portions])
    wanted = {release.number: np.arange(0, release.class_count, 7) for release in whole.releases[1:]}
    found = {}
    for named in NamedPortion.naming(portions, counts):
        found |= named.cards(wanted)
    right = here.cards((number, int(one)) for number, classes in wanted.items() for one in classes)
    assert found.keys() == right.keys()
    for place, card in right.items():
        assert np.array_equal(found[place].box, card.box)
        assert (found[place].rows, found[place].values, found[place].kinds) == (card.rows, card.values, card.kinds)


def _added(tables: list[pa.Table]) -> list[Int64]:
    """What Spark does with the workers' tables."""
    both = pa.concat_tables(tables).group_by(["release", "key"]).aggregate([("sample", "sum"), ("fitting", "sum")])
    release, sample, fitting = (np.asarray(both[name]) for name in ("release", "sample_sum", "fitting_sum"))
    shown = [(release == position) & (sample > 0) for position in range(3)]
    pairs = np.column_stack([sample, np.maximum(sample, fitting)])
    return [counted(pairs[its], np.ones(its.sum(), dtype=np.int64)) for its in shown]
