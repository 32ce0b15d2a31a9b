"""BCF in fragments: no box ever meets one of another fragment, so no record can be mistaken for one over there."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.attacks.base import Outcome
from reissue.attacks.correspondence import Correspondence
from reissue.core.fragments import BY_IDENTIFIER, Fragments
from reissue.core.observed import Observed, Release
from reissue.errors import GuaranteeBroken, SettingsError
from reissue.series import dividing
from reissue.series.past import PastReleases
from reissue.series.work import Work
from tests.support.divided import INSERTS, SCHEMA, VALUES, People
from tests.support.words import PlainWords

K = 6
FRAGMENTS = 3


def created(path: Path, schema: ri.Schema = SCHEMA, fragments: int | None = FRAGMENTS, **settings: object) -> ri.Series:
    strategy = ri.BCF(k=K, **settings)  # type: ignore[arg-type]
    return ri.Series.create(path, schema, strategy, seed=4, fragments=fragments, formats=["parquet"])


def boxes_of(series: ri.Series) -> list[np.ndarray]:
    """The boxes of each fragment, of all releases, in the codes of today."""
    shelf = series._ledger.shelf
    return [
        np.concatenate([facts.boxes for facts in PastReleases(shelf, series.coding, fragment)])
        for fragment in shelf.fragments
    ]


def meet(some: np.ndarray, others: np.ndarray) -> bool:
    low = np.maximum(some[:, None, :, 0], others[None, :, :, 0])
    high = np.minimum(some[:, None, :, 1], others[None, :, :, 1])
    return bool((low <= high).all(axis=2).any())


def with_younger(table: pa.Table) -> pa.Table:
    """With people younger, older and in between the ages of all before."""
    ages = [*range(20), *range(80, 100), *range(20, 80)] * 3
    more = {
        "name": [f"more{i}" for i in range(len(ages))],
        "age": ages,
        "zip": [f"1{i % 6}{i % 10}" for i in range(len(ages))],
        "diagnosis": table["diagnosis"].to_pylist()[: len(ages)],
        "note": [""] * len(ages),
    }
    return pa.concat_tables([table, pa.table(more).cast(table.schema)])


def test_boxes_of_fragments_never_meet_and_everyone_keeps_k_candidates(tmp_path: Path) -> None:
    with created(tmp_path / "s") as series:
        first, second, third = People(6).months(3, INSERTS)
        names = set(third["name"].to_pylist())
        fourth = with_younger(third)
        assert names <= set(fourth["name"].to_pylist())
        for table in (first, second, third, fourth):
            series.publish(table)
        boxes = boxes_of(series)
        assert len(boxes) == FRAGMENTS
        for one, other in product(range(FRAGMENTS), repeat=2):
            assert meet(boxes[one], boxes[other]) == (one == other)
        assert not series.audit(attacks=["correspondence"]).breaches
        outsider = stranger(series)
        assert not outsider.breaches
        assert outsider.notes == (), "it was read as one chain"
        assert series.verify(rebuild=True) == []


def test_boxes_that_reach_into_another_fragment_are_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coded = Work._coded
    monkeypatch.setattr(Work, "_coded", lambda self, *given: replace(coded(self, *given), domains=self.coding.domains))
    with created(tmp_path / "s") as series, pytest.raises(GuaranteeBroken, match="into another fragment"):
        series.publish(People(6).months(1, INSERTS)[0])


def test_fragments_that_are_not_apart_give_people_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why hashes do not do: where boxes meet, somebody could be in a class of one fragment first, then of another."""

    def by_hash(*_: object) -> Fragments:
        kind, cut = np.array([BY_IDENTIFIER, -2, -2], dtype=np.int32), np.array([2**31, 0, 1], dtype=np.int64)
        left, right = np.array([1, -1, -1], dtype=np.int32), np.array([2, -1, -1], dtype=np.int32)
        return Fragments(kind, cut, left, right)

    monkeypatch.setattr(dividing, "divide", by_hash)
    monkeypatch.setattr(ri.BCF, "apart", False)
    found = 0
    for seed in range(4):
        with created(tmp_path / f"s{seed}", fragments=2) as series:
            for table in growing(seed):
                series.publish(table)
            found += len(stranger(series).breaches)
            assert not series.audit(attacks=["correspondence"]).breaches, "who knows the fragments finds nobody there"
    assert found


def stranger(series: ri.Series) -> Outcome:
    """What somebody finds who knows nothing but the releases: everybody who could exist must be safe."""
    releases = [replace(Release.of(facts), members=None) for facts in PastReleases(series._ledger, series.coding)]
    seen = Observed(releases, series.coding.domains, len(series.coding.values), PlainWords())
    return Correspondence(k=K).run(seen)


def growing(seed: int) -> list[pa.Table]:
    """Three snapshots, each with more rows than the one before; some values are rare."""
    rng = np.random.default_rng(seed)
    rows = pa.table(
        {
            "name": [f"P{i}" for i in range(400)],
            "age": rng.integers(20, 80, 400),
            "zip": [str(place) for place in rng.integers(100, 130, 400)],
            "diagnosis": [VALUES[v] for v in rng.choice(8, 400, p=[0.4, 0.2, 0.15, 0.1, 0.05, 0.05, 0.03, 0.02])],
        }
    )
    return [rows.slice(0, end) for end in (200, 280, 400)]


def test_without_numbers_there_is_one_fragment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = ri.Schema(identifier="name", quasi_identifiers={"zip": {"prefix": [2, 1]}}, sensitive="diagnosis")
    table = People(1).months(1, INSERTS)[0]
    with created(tmp_path / "asked", schema) as series, pytest.raises(SettingsError, match="cut into 1 only"):
        series.publish(table)
    monkeypatch.setattr(dividing, "ROWS", 300)
    with created(tmp_path / "left", schema, None) as series:
        series.publish(table)
        assert series._ledger.fragments is None


def test_it_follows_only_itself(tmp_path: Path) -> None:
    first, second = People(1).months(2, INSERTS)
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.Static(k=5), fragments=2) as series:
        series.publish(first)
        with pytest.raises(SettingsError, match="can only follow bcf"):
            series.publish(second, strategy=ri.BCF(k=5))


def test_a_new_chain_starts_in_all_fragments_at_once(tmp_path: Path) -> None:
    first, second = People(1).months(2, INSERTS)
    with created(tmp_path / "s", start_new_chain=2) as series:
        series.publish(first)
        release = series.publish(second)
        assert release.counts["published"] == len(second) - len(first)
    with pytest.raises(SettingsError, match="whole table"):
        created(tmp_path / "t", start_new_chain=True)
