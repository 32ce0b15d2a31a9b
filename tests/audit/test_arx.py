"""Releases in ARX's style give the same findings as the same classes inside a series."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.audit import audit
from reissue.methods import registry as checks
from reissue.methods.attack import Outcome
from reissue.methods.baselines.static import Static
from reissue.model.boxes import widen_to_nodes
from reissue.model.release import Candidate, Coded, Counterfeits, History
from tests.audit import arx

K = 4
LEVELS = (
    {"age": 2, "sex": 0, "race": 1, "marital-status": 1, "education": 2},
    {"age": 3, "sex": 1, "race": 0, "marital-status": 0, "education": 2},
    {"age": 1, "sex": 1, "race": 1, "marital-status": 2, "education": 1},
)


@pytest.fixture(scope="module")
def files(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[pa.Table], list[Path]]:
    folder = shared_data / "arx_adult"
    whole = arx.adult(folder, 300)
    tables = [whole.slice(0, 180), whole.slice(0, 240), whole.slice(60, 240)]
    target = tmp_path_factory.mktemp("arx")
    paths = [
        arx.write(target / f"r{i}.csv", arx.generalize(folder, table, levels, K))
        for i, (table, levels) in enumerate(zip(tables, LEVELS, strict=True), start=1)
    ]
    return folder, tables, paths


def inside(folder: Path, tables: list[pa.Table], where: Path, monkeypatch: pytest.MonkeyPatch) -> ri.Series:
    """The same classes, published inside a series: Static made to generalize to ARX's levels."""

    def publish(self: Static, snapshot: Coded, history: History) -> Candidate:
        levels = LEVELS[len(history)]
        boxes = np.empty((len(snapshot), len(arx.QUASI), 2), dtype=np.int32)
        names = [domain.name for domain in snapshot.domains]
        hierarchies = {n: arx.schema(folder).quasi_identifiers[n].hierarchy for n in names}  # type: ignore[union-attr]
        for a, name in enumerate(names):
            leaves = hierarchies[name].leaves
            table = [hierarchies[name].parse(arx.levels_of(folder, name)[leaf][levels[name]]) for leaf in leaves]
            boxes[:, a] = np.array(table, dtype=np.int32)[snapshot.codes[:, a]]
        distinct, classes, sizes = np.unique(boxes, axis=0, return_inverse=True, return_counts=True)
        classes = np.where(sizes[classes.reshape(-1)] >= K, classes.reshape(-1), -1)
        kept, classes_dense = np.unique(classes[classes >= 0], return_inverse=True)
        dense = np.full(len(classes), -1, dtype=np.int32)
        dense[classes >= 0] = classes_dense
        assert np.array_equal(widen_to_nodes(distinct[kept], snapshot.domains), distinct[kept])
        return Candidate(distinct[kept], dense, Counterfeits.none(len(names)), ("As ARX does.",))

    monkeypatch.setattr(Static, "publish", publish)
    series = ri.Series.create(where / "s", arx.schema(folder), Static(k=2), seed=3)
    for table in tables:
        series.publish(table)
    return series


def told(outcome: Outcome) -> tuple[object, ...]:
    """What does not depend on the order of classes and the numbers of people."""
    findings = sorted(
        (f.value or "", round(f.level, 9), f.unit, f.breach, f.releases, len(f.subjects), len(f.classes))
        for f in outcome.findings
    )
    return findings, outcome.total, {n: len(ids) for n, ids in outcome.at_risk.items()}, dict(outcome.measures)


def test_files_and_series_tell_the_same(
    files: tuple[Path, list[pa.Table], list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, tables, paths = files
    limits = {"k": K, "c": 0.6, "m": 2, "limit": 5000, "seconds": 60.0}
    names = [name for name in checks.ATTACKS if checks.find_attack(name).name != "background-knowledge"]
    outside = audit(paths, arx.schema(folder), tables, attacks=names, **limits)
    with inside(folder, tables, tmp_path, monkeypatch) as series:
        own = series.audit(attacks=names, **limits)
    assert outside.breaches, "one release at a time does not protect a series"
    assert set(outside.outcomes) == set(own.outcomes)
    assert set(outside.outcomes) >= {"intersection", "difference", "correspondence", "possible-worlds"}
    for name, outcome in own.outcomes.items():
        assert told(outside.outcomes[name]) == told(outcome), name
    assert {f.sentence for f in outside.findings if f.attack == "intersection"} == {
        f.sentence for f in own.findings if f.attack == "intersection"
    }
    suppressed = [entry["suppressed"] for entry in outside.to_dict()["releases"]]  # type: ignore[attr-defined]
    assert suppressed == [entry["suppressed"] for entry in own.to_dict()["releases"]]  # type: ignore[attr-defined]
    assert max(suppressed) > 0


def test_matching_by_content_finds_classes_of_shuffled_rows(
    files: tuple[Path, list[pa.Table], list[Path]], tmp_path: Path
) -> None:
    folder, tables, _ = files
    rng = np.random.default_rng(1)
    shuffled = []
    for i, (table, levels) in enumerate(zip(tables, LEVELS, strict=True)):
        rows = arx.generalize(folder, table, levels, K)
        shuffled.append(arx.write(tmp_path / f"{i}.csv", [rows[j] for j in rng.permutation(len(rows))]))
    by_order = audit(files[2], arx.schema(folder), tables, attacks=["intersection"], c=0.6)
    by_content = audit(shuffled, arx.schema(folder), tables, match="content", attacks=["intersection"], c=0.6)
    # full-domain classes do not overlap, so content tells everybody's class
    assert told(by_order.outcomes["intersection"]) == told(by_content.outcomes["intersection"])
    with pytest.raises(
        ri.errors.ReleaseError, match=r"0\.csv: row \d+ says .* in '.*', which holds .*, but row \d+ of the snapshot"
    ):
        audit(shuffled, arx.schema(folder), tables)


def test_without_snapshots_only_what_needs_no_members(files: tuple[Path, list[pa.Table], list[Path]]) -> None:
    folder, _, paths = files
    outside = audit(paths, arx.schema(folder))
    assert set(outside.outcomes) == {"correspondence"}
    assert all("give the snapshots" in reason for reason in outside.skipped.values())
    assert any("No snapshots" in note for note in outside.notes)
    document = outside.to_dict()
    assert document["verdict"]["subjects"] is None  # type: ignore[index]
