"""The timeline: the same numbers in parts as of the whole, and what the slow definitions say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.audit.description import SeriesView, WholeSeries, Workers
from reissue.audit.spark.fragment import FragmentReader
from reissue.audit.timeline import (
    count_release,
    describe_sizes,
    measure_risks,
    measure_utility,
)
from reissue.coding import CodingWords
from reissue.history.past_releases import read_releases
from reissue.methods.strategy import Strategy
from reissue.model.observed import Observed, ObservedRelease
from reissue.utility.measure import ail, average_class_size, discernibility_share, gcp
from tests.support.churning import churning
from tests.support.divided import CHURN, SCHEMA, People


def view_of(series: Observed) -> SeriesView:
    return SeriesView([WholeSeries(series)], Workers())


def test_sizes_and_utility_as_defined() -> None:
    for seed in range(60):
        series = churning(np.random.default_rng([seed, 31]))
        for release in series.releases:
            missing, found = seed % 3, release.sizes[release.sizes > 0]
            numbers = count_release(release, series.domains)
            told = describe_sizes(numbers)
            if len(found):
                assert told["median"] == np.median(found)
                assert told["mean"] == pytest.approx(found.mean())
                assert (told["smallest"], told["largest"]) == (found.min(), found.max())
            assert sum(bar["rows"] for bar in told["histogram"]) == len(release.classes)  # type: ignore[attr-defined]
            assert sum(bar["classes"] for bar in told["histogram"]) == len(found)  # type: ignore[attr-defined]
            assert measure_utility(numbers, series.domains, missing) == pytest.approx(
                {
                    "ail": ail(release, series.domains, suppressed=missing),
                    "gcp": gcp(release, series.domains, suppressed=missing) / max(1, len(release.classes) + missing),
                    "discernibility": discernibility_share(release, suppressed=missing),
                    "class_size": average_class_size(release),
                }
            )


def test_the_histogram_of_many_sizes_has_few_bars() -> None:
    distinct = np.arange(3, 90)
    numbers = count_release(churning(np.random.default_rng(1)).releases[0], churning(np.random.default_rng(1)).domains)
    told = describe_sizes(replace(numbers, sizes=np.column_stack([distinct, np.full(len(distinct), 2)])))
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
        for entry, release in zip(view_of(series).timeline, series.releases, strict=True):
            chances = _chances(release, list(last.values()))
            told = measure_risks(entry.fits, 0.3)
            journalist, marketer = told["journalist"], told["marketer"]
            assert isinstance(journalist, dict)
            assert isinstance(marketer, dict)
            assert journalist["highest"] == pytest.approx(max(chances, default=0.0))
            assert marketer["success_rate"] == pytest.approx(np.mean(chances) if chances else 0.0)
            assert journalist["records_at_risk"] == pytest.approx(np.mean(np.array(chances) > 0.3) if chances else 0.0)


def _chances(release: ObservedRelease, population: list[tuple[int, ...]]) -> list[float]:
    """Of each row of a person: one by those who fit its class, or by the people of the class if they are more."""
    assert release.members is not None
    if release.anatomized:
        rows = [tuple(row) for row in release.members.codes.tolist()]
        return [1 / max(rows.count(row), population.count(row)) for row in rows]
    homes, found = Counter(release.classes.tolist()), []
    homes -= Counter([] if release.counterfeits is None else release.counterfeits.classes.tolist())
    for number in homes.elements():
        box = release.boxes[number].tolist()
        people = sum(all(lo <= c <= hi for c, (lo, hi) in zip(one, box, strict=True)) for one in population)
        found.append(1 / max(homes[number], people))
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
        list(read_releases(shelf, coding)), coding.domains, len(coding.values), CodingWords(coding, lambda n: str(n))
    )
    here = view_of(whole)
    fragments_here = FragmentReader.every(shelf, coding, shelf.separate)
    assert len(fragments_here) == fragments
    there = SeriesView(fragments_here, Workers())
    assert there.people == here.people
    for told, entry in zip(there.timeline, here.timeline, strict=True):
        for name in ("number", "anatomized", "rows", "classes", "members"):
            assert getattr(told.tally, name) == getattr(entry.tally, name), name
        assert np.array_equal(told.tally.sizes, entry.tally.sizes)
        assert np.array_equal(told.tally.lost, entry.tally.lost)
        assert told.turnover is not None
        assert vars(told.turnover) == vars(entry.turnover)
        assert np.array_equal(told.fits, entry.fits)
    assert here.timeline[2].turnover is not None
    assert here.timeline[2].turnover.changed_quasi_identifiers > 20
    _assert_same_classes(there, here, whole)


def _assert_same_classes(there: SeriesView, here: SeriesView, whole: Observed) -> None:
    wanted = [(release.number, number) for release in whole.releases[1:] for number in range(0, release.class_count, 7)]
    found, right = there.summaries(wanted), here.summaries(wanted)
    assert found.keys() == right.keys() == set(wanted)
    for place, its in right.items():
        assert np.array_equal(found[place].box, its.box)
        assert (found[place].rows, found[place].values, found[place].kinds) == (its.rows, its.values, its.kinds)
