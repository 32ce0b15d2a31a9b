"""Forgetting keeps the promise: the identifier is gone everywhere, and who comes back is protected as before."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import reissue as ri
from reissue.errors import SeriesError, SnapshotError
from reissue.ledger import Marks, count_erased
from reissue.methods.strategy import Strategy
from tests.support.hospital import hospital_schema, population
from tests.support.private import read_private

KEY = bytes(range(32))
LATER = population(40, seed=3, first=500)


@pytest.mark.parametrize("key", [None, KEY], ids=["clear", "encrypted"])
def test_a_returner_has_one_signature_for_life_and_no_name_is_left(key: bytes | None, tmp_path: Path) -> None:
    first, names = population(200), [f"IDENT-{i:06d}-Q" for i in range(40)]
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.MInvariance(m=4), key=key) as series:
        series.publish(first)
        numbers = {row["subject"]: row["number"] for row in series.membership(1).to_pylist()}
        receipt = series.forget(*names)
        assert (receipt.people, receipt.before, receipt.erased) == (40, 0, False)
        series.publish(first.slice(40))
        series.publish(pa.concat_tables([first, LATER]))
        kept = read_private(tmp_path / "s")
        assert not any(name.encode() in kept for name in names)
        assert (b"IDENT-000100-Q" in kept) == (key is None), "the others are there, where they can be read"
        back = {row["number"]: row for row in series.membership(3).to_pylist()}
        assert all(back[numbers[name]]["subject"] is None for name in names), "known by number, not by name"
        assert series.releases[2].counts["new"] == 40
        assert series.releases[2].counts["back"] == 40
        found = series.audit(attacks=["association"])
        assert not found.breaches
        assert not any("erased" in note for note in found.notes)
        assert series.forget(names[0]).before == 1, "once is enough"


@pytest.mark.parametrize("left", [0, 1])
def test_who_was_in_which_class_is_told_when_nearly_everybody_is_forgotten(left: int, tmp_path: Path) -> None:
    first = population(30)
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=3)) as series:
        series.publish(first)
        before = series.membership(1).to_pylist()
        kept = [row["subject"] for row in before if row["number"] < left]
        series.forget(*(name for name in first["name"].to_pylist() if name not in kept))
        after = [row["subject"] if row["subject"] in kept else None for row in before]
        assert series.membership(1)["subject"].to_pylist() == after
        assert sum(name is not None for name in after) == left


@pytest.mark.parametrize(
    "strategy",
    [
        ri.Standing(k=4, c=0.6, l=2, row_k=2, row_l=1),
        ri.JSReduce(k=3, t=0.9, J=1.0),
        ri.BCF(k=3),
        ri.CorSplit(m=3, n=2),
    ],
    ids=lambda one: one.name,
)
def test_every_memory_of_a_returner_goes_on(strategy: Strategy, tmp_path: Path) -> None:
    """Publishing after `forget` gives what publishing without it gives: class, token, beliefs and signature stay."""
    first = population(120)
    told = []
    for forgotten in (False, True):
        with ri.Series.create(tmp_path / f"s{forgotten}", hospital_schema(), strategy, seed=5) as series:
            series.publish(first)
            if forgotten:
                series.forget(*first["name"].to_pylist()[:30])
            if strategy.supports.gone:
                series.publish(first.slice(20))
            last = series.publish(pa.concat_tables([first, LATER]))
            told.append([(last.path / name).read_bytes() for name in sorted(file.name for file in last.path.iterdir())])
    assert told[0] == told[1]


def test_erasing_makes_a_returner_new_and_the_audit_counts_who_may_be_affected(tmp_path: Path) -> None:
    first = population(100)
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=3)) as series:
        series.publish(first)
        series.forget("IDENT-000001-Q", "IDENT-000002-Q")
        assert series.forget("IDENT-000002-Q", erase=True).people == 1, "a mark can be erased later"
        assert series.forget("IDENT-000003-Q", erase=True).people == 1
        again = series.publish(first)
        assert (again.counts["new"], again.counts["gone"]) == (2, 2)
        [note] = [note for note in series.audit(attacks=["intersection"]).notes if "erased" in note]
        assert note.startswith("2 people were erased")


def test_a_list_is_forgotten_in_one_step_with_a_receipt(tmp_path: Path) -> None:
    first, ids = population(300), tmp_path / "ids.csv"
    pa.csv.write_csv(first.select(["name"]).slice(0, 100), ids)
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=3)) as series:
        series.publish(first)
        before = read_private(tmp_path / "s")
        (tmp_path / "wrong.csv").write_text("name\nIDENT-000000-Q\nIDENT-999999-Q\n")
        with pytest.raises(SeriesError, match=r"'IDENT-999999-Q' is not known.*Nobody was forgotten"):
            series.forget(file=tmp_path / "wrong.csv")
        (tmp_path / "other.csv").write_text("patient\nIDENT-000000-Q\n")
        with pytest.raises(SnapshotError, match="no column 'name'"):
            series.forget(file=tmp_path / "other.csv")
        assert series.membership(1)["subject"].null_count == 0
        receipt = series.forget(file=ids)
        assert receipt.to_dict() == {
            "created": receipt.created,
            "people": 100,
            "before": 0,
            "erased": False,
            "sha256": hashlib.sha256(ids.read_bytes()).hexdigest(),
        }
        assert series.membership(1)["subject"].null_count == 100
        assert before.count(b"IDENT-0000") == 100
        assert read_private(tmp_path / "s").count(b"IDENT-0000") == 0
        kept = series._ledger.shelf.document("receipts", "receipts")
        assert kept == {"erased": 0, "receipts": [receipt.to_dict()]}
        assert series.verify() == []


def test_marks_say_nothing_without_the_ledgers_secret(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "a", hospital_schema(), ri.Static(k=3), key=KEY, seed=1) as one:
        one.publish(population(30))
        one.forget("IDENT-000001-Q")
        with ri.Series.create(tmp_path / "b", hospital_schema(), ri.Static(k=3), seed=1) as other:
            other.publish(population(30))
            other.forget("IDENT-000001-Q")
            marks = [Marks.read(series._ledger.shelf) for series in (one, other)]
    assert marks[0].known.tolist() == marks[1].known.tolist() == [1]
    assert marks[0].marks != marks[1].marks, "the key makes the mark"
    plain = {hashlib.new(name, b"IDENT-000001-Q").digest()[:16] for name in ("md5", "sha1", "sha256")}
    assert not plain & {mark.as_py() for some in marks for mark in some.marks}
    assert np.array_equal(marks[0].find(["IDENT-000001-Q", "IDENT-000002-Q"]), [1, -1])


def test_numbers_are_unmarked_only_where_people_were_erased(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.MInvariance(m=2), on_change="new-subject") as series:
        table = population(60)
        series.publish(table)
        changed = table.set_column(3, "diagnosis", pa.array(table["diagnosis"].to_pylist()[::-1]))
        series.publish(changed)
        assert count_erased(series._ledger.shelf) == 0
        series.forget("IDENT-000000-Q")
        assert count_erased(series._ledger.shelf) == 0
        document = json.loads(json.dumps(series.forget("IDENT-000000-Q", erase=True).to_dict()))
        assert document["people"] == 1
        assert count_erased(series._ledger.shelf) == 2, "of whom one number each was published"
