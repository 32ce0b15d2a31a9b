"""The table of totals: what is on record, nobody's value that is not out, fragments added up."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import reissue as ri
from reissue.methods.standing.strategy import Standing
from tests.series.test_standing_series import published, read
from tests.support.divided import CHURN, NOTED, People
from tests.support.standing_series import standing_of


def test_totals_are_those_on_record(tmp_path: Path) -> None:
    with published(tmp_path / "s", Standing(totals=0.5)) as series:
        for release in series.releases:
            totals = read(release.path, "totals")
            kept = standing_of(series._ledger.facts(release.number))
            assert kept.totals is not None
            shown = {row["diagnosis"]: row["count"] for row in totals}
            told = dict(zip(series.coding.values, kept.totals.tolist(), strict=True))
            assert shown == {value: count for value, count in told.items() if count}


def test_totals_are_expected_where_none_are_asked_for_and_do_not_name_what_is_not_out(tmp_path: Path) -> None:
    table = People(1).months(1, CHURN)[0]
    rare = table.slice(0, 2).set_column(0, "name", pa.array(["X1", "X2"]))
    rare = rare.set_column(rare.column_names.index("diagnosis"), "diagnosis", pa.array(["rare"] * 2))
    with ri.Series.create(tmp_path / "s", NOTED, Standing(on_ineligible="wait"), seed=3) as series:
        series.publish(table)
        release = series.publish(pa.concat_tables([table.slice(30), rare]))
        totals = read(release.path, "totals")
        assert len(standing_of(series._ledger.facts(2)).waiting) == 2
    assert sum(int(str(row["count"])) for row in totals) == len(table) - 30
    assert "rare" not in {row["diagnosis"] for row in totals}
    assert "expected" in " ".join(release.steps)


def test_totals_of_fragments_are_added_up_and_each_learns_by_itself(tmp_path: Path) -> None:
    with published(tmp_path / "s", Standing(), fragments=3) as series:
        for release in series.releases:
            facts = series._ledger.facts(release.number)
            shown = [int(str(row["count"])) for row in read(release.path, "totals")]
            assert sum(shown) == len(facts.subjects)
            assert standing_of(facts).leaving is None
