"""Fragments too small for a box of their own share one: every box that readers see keeps row_k and row_l."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import reissue as ri
from reissue.errors import GuaranteeBroken, InfeasiblePolicy
from reissue.methods.standing.sharing import CORNERS, ROWS, SharedBox, count_rows, find_shared_box
from reissue.methods.standing.strategy import Standing
from reissue.model.domain import Domain
from reissue.model.fragment_counts import TableCounts
from tests.support.divided import CHURN, SCHEMA, People
from tests.support.standing_series import Publisher, Town, standing_of

DOMAINS = (Domain("age", 0, 99), Domain("place", -5, 40))


@pytest.mark.parametrize("seed", range(40))
def test_all_fragments_find_the_same_neighbours_and_every_group_is_large_enough(seed: int) -> None:
    """Against groups that are found one by one: who is too small goes to the next who is not."""
    rng = np.random.default_rng(seed)
    row_k, row_l = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    sizes = rng.integers(0, 8, int(rng.integers(2, 7)))
    parts = [
        (np.stack([rng.integers(d.lo, d.hi + 1, n) for d in DOMAINS], axis=1).astype(np.int32), rng.integers(0, 4, n))
        for n in sizes
    ]
    tables = TableCounts.of([count_rows(i, codes, dealt.astype(np.int32)) for i, (codes, dealt) in enumerate(parts)])
    some = [i for i in range(len(parts)) if len(parts[i][1])]
    able = [i for i in some if len(parts[i][1]) >= row_k and len(set(parts[i][1].tolist())) >= row_l]
    groups: dict[int, list[int]] = defaultdict(list)
    for i in some:
        groups[next((j for j in [*range(i, len(parts)), *range(i)] if j in able), some[0])].append(i)
    for i in some:
        everybody = np.concatenate([dealt for _, dealt in parts])
        if not able and (len(everybody) < row_k or len(set(everybody.tolist())) < row_l):
            with pytest.raises(InfeasiblePolicy, match=r"row_[kl] = \d cannot hold"):
                find_shared_box(tables[i], i, row_k, row_l, DOMAINS)
            continue
        found = find_shared_box(tables[i], i, row_k, row_l, DOMAINS)
        group = next(group for group in groups.values() if i in group)
        if len(group) == 1:
            assert found is None
            continue
        assert found is not None
        codes = np.concatenate([parts[j][0] for j in group])
        assert np.array_equal(found.box[0], np.stack([codes.min(axis=0), codes.max(axis=0)], axis=1))
        assert found.guest == (i not in able)
        together = np.concatenate([parts[j][1] for j in group])
        assert len(together) >= row_k
        assert len(set(together.tolist())) >= row_l


@pytest.mark.parametrize(("waits", "seed"), [(True, 1), (False, 1), (True, 2)])
def test_a_fragment_counts_just_what_its_rows_will_show(waits: bool, seed: int) -> None:
    """The fragments beside it make their boxes of these counts: who waits is in none of them."""
    town, publisher = Town(np.random.default_rng(seed)), Publisher(Standing(on_ineligible="wait"), seed=seed)
    town.arrive(60)
    publisher.publish(town.snapshot())
    town.leave(0.3)
    town.arrive(2 if waits else 50)
    for person in list(town.codes)[60:]:
        town.codes[person] = (79, 49)
    snapshot = town.snapshot()
    survey = Standing(on_ineligible="wait").survey(snapshot, publisher.history)
    facts = publisher.publish(snapshot)
    assert (len(facts.subjects) < len(snapshot)) == waits
    rows, corners = (survey.everywhere[name] for name in (ROWS, CORNERS))
    dealt = Counter(standing_of(facts).dealt.tolist())
    assert dict(zip(rows.value.tolist(), rows.count.tolist(), strict=True)) == dealt
    ends = np.stack([facts.codes.min(axis=0), facts.codes.max(axis=0)], axis=1)
    assert corners.count.reshape(-1, 2).tolist() == ends.tolist()


def small_fragment(series: ri.Series, table: pa.Table, keep: int) -> pa.Table:
    """The table in which fragment 1 of the series has only so many rows left."""
    members = series.membership(1)
    first = series._ledger.releases[0].counts["fragments"]
    assert isinstance(first, list)
    numbers = dict(zip(members["subject"].to_pylist(), members["number"].to_pylist(), strict=True))
    inside = [i for i, name in enumerate(table["name"].to_pylist()) if first[1] <= numbers[name] < first[2]]
    return table.filter(pc.invert(pc.is_in(pa.array(np.arange(len(table))), pa.array(inside[keep:]))))


def read_boxes(release: ri.Release) -> dict[tuple[object, object], list[object]]:
    boxes: dict[tuple[object, object], list[object]] = defaultdict(list)
    for row in pq.read_table(release.path / "release.parquet").to_pylist():
        boxes[row["age"], row["zip"]].append(row.get("diagnosis"))
    return boxes


@pytest.mark.parametrize(("keep", "form"), [(3, "flat"), (1, "told"), (0, "flat")])
def test_a_fragment_with_too_few_rows_shares_a_box_instead_of_refusing(keep: int, form: str, tmp_path: Path) -> None:
    (table,) = People(1).months(1, CHURN, first=300)
    strategy = Standing(form=form)  # type: ignore[arg-type]
    with ri.Series.create(tmp_path / "s", SCHEMA, strategy, seed=3, fragments=3) as series:
        series.publish(table)
        second = small_fragment(series, table, keep)
        release = series.publish(second)
        boxes = read_boxes(release)
        assert sum(map(len, boxes.values())) == len(second)
        assert min(map(len, boxes.values())) >= strategy.row_k
        assert form == "told" or min(len(set(values)) for values in boxes.values()) >= strategy.row_l
        assert release.counts["classes"] == len(boxes)
        assert any("shared with other fragments" in step for step in release.steps) == (keep > 0)
        facts = series._ledger.facts(2)
        assert np.bincount(facts.classes).min() >= strategy.row_k
        series.publish(table)  # who left comes back to the class it had
        before, after = (series.membership(number).to_pylist() for number in (1, 3))
        place = {row["subject"]: (row["class"], row["dealt"]) for row in before}
        assert all(place[row["subject"]] == (row["class"], row["dealt"]) for row in after)
        assert series.verify(rebuild=True) == []
        assert not series.audit(attacks=["intersection", "association"]).breaches


def test_a_table_too_small_for_one_box_is_refused_as_a_whole(tmp_path: Path) -> None:
    (table,) = People(1).months(1, CHURN, first=300)
    with ri.Series.create(tmp_path / "s", SCHEMA, Standing(), seed=3, fragments=3) as series:
        series.publish(table)
        with pytest.raises(InfeasiblePolicy, match=r"^row_k = 5 cannot hold: there are only 4 rows to publish"):
            series.publish(table.slice(0, 4))
        release = series.publish(table.slice(0, 40))
        assert min(map(len, read_boxes(release).values())) >= 5


def test_boxes_that_do_not_agree_between_fragments_are_never_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table,) = People(1).months(1, CHURN, first=300)
    with ri.Series.create(tmp_path / "s", SCHEMA, Standing(), seed=3, fragments=3) as series:
        series.publish(table)
        small = small_fragment(series, table, 3)

        def widen(self: SharedBox, *rows: object, apply: Callable[..., object] = SharedBox.apply) -> object:
            box = self.box.copy()
            box[0, 0, 0] -= self.guest
            return apply(replace(self, box=box), *rows)

        monkeypatch.setattr(SharedBox, "apply", widen)
        with pytest.raises(GuaranteeBroken, match="a box has only 3 rows, where row_k is 5"):
            series.publish(small)
        assert len(series.releases) == 1
