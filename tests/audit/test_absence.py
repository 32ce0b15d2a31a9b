"""What not being in a release reveals: the ledger knows who was left out, the audit what they have in common."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.publish.fragment import LEFT_OUT
from tests.audit.figures import FIRST, SNAPSHOTS
from tests.support.hospital import FIGURE_1, frame, hospital_schema, population


@pytest.mark.parametrize("fragments", [1, 2])
def test_people_left_out_are_in_the_ledger_and_in_the_audit(tmp_path: Path, fragments: int) -> None:
    table = population(200)
    alike = [(f"new{i}", 40, "Male", "Flu") for i in range(3)]
    strategy = ri.Standing(k=5, l=2, on_ineligible="wait")
    with ri.Series.create(tmp_path / "s", hospital_schema(), strategy, seed=2, fragments=fragments) as series:
        series.publish(table)
        release = series.publish(pa.concat_tables([table, frame(alike)]))
        assert release.counts["suppressed"] == 3
        identifiers, numbers = series._ledger.identities()
        known = dict(zip(numbers.tolist(), identifiers.to_pylist(), strict=True))
        absent = np.asarray(series._ledger.facts(2).extras[LEFT_OUT]).tolist()
        assert sorted(known[number] for number in absent) == ["new0", "new1", "new2"]
        done = series.audit(attacks=["intersection"])
    [absence] = done.absences
    assert (absence.release, absence.people, absence.value, absence.share, absence.reveals) == (2, 3, "Flu", 1.0, True)
    assert "3 people were left out of release 2: 100% of them have Flu" in done.describe()
    document = done.to_dict()
    assert document["verdict"]["subjects_left_out"] == 3  # type: ignore[index]
    assert document["absence"][0]["reveals"] is True  # type: ignore[index]


def test_nobody_left_out_is_no_note(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        assert series.audit().absences == []


def test_rows_that_another_tool_suppressed_are_found_by_the_snapshot() -> None:
    suppressed = FIRST.to_pylist()
    suppressed[0] = dict.fromkeys(suppressed[0], "*")
    done = ri.audit([pa.Table.from_pylist(suppressed)], hospital_schema(), [SNAPSHOTS[0]])
    [absence] = done.absences
    assert (absence.people, absence.share) == (1, 1.0)
    assert absence.sentence.startswith("1 person was left out of release 1: 100% of them have ")
