"""Whoever reads of a release reads its label, wherever it has one: on the terminal, in pages, errors and gates."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import reissue as ri
from reissue.clinic import clinic_months, config
from reissue.errors import GateStopped, LedgerDamaged, SeriesError, SettingsError
from reissue.report.text import call_releases, list_in_order
from tests.cli.support import reissue
from tests.report.elements import Elements

LABELS = ["Jan", "Feb", "Mar"]
BY_NUMBER = re.compile(r"[Rr]eleases? \(?\d+")


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four months of a small clinic as files, and a series of three of them, made carelessly."""
    import pyarrow.csv

    folder = tmp_path_factory.mktemp("months")
    (folder / "clinic.toml").write_text(config())
    tables = [month.slice(0, 300) for month in clinic_months(months=4)]
    for name, table in zip([*LABELS, "Apr"], tables, strict=True):
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    schema = ri.Schema.from_toml(folder / "clinic.toml")
    with ri.Series.create(folder / "s", schema, ri.Static(k=4), seed=1) as series:
        for name in LABELS:
            series.publish(folder / f"{name}.csv")
    return folder


def find_numbered(text: str) -> list[str]:
    return [line for line in text.splitlines() if BY_NUMBER.search(line)]


def test_the_terminal_says_labels(months: Path) -> None:
    for command in (["audit", "s"], ["log", "s"], ["publish", "s", "Apr.csv", "--dry-run"], ["verify", "s"]):
        done = reissue(*command, cwd=months)
        assert done.returncode in (0, 1), done.stderr
        assert find_numbered(done.stdout + done.stderr) == [], command
    assert "release Jan" in reissue("audit", "s", cwd=months).stdout


def test_a_damaged_release_is_named(months: Path) -> None:
    with ri.Series.open(months / "s") as series:
        file = series.releases[1].path / "release.json"
        kept = file.read_bytes()
        file.unlink()
        try:
            (damage,) = series.verify()
        finally:
            file.write_bytes(kept)
    assert str(damage).startswith("releases/0002/release.json (release Feb): ")


@pytest.mark.parametrize("role", ["facts", "shape"])
def test_a_damaged_private_file_is_named_where_it_is_read(months: Path, role: str) -> None:
    with ri.Series.open(months / "s") as series:
        [file] = [one for one in series._ledger._state.of_role(role) if one.release == 3]
        path = months / "s" / "private" / "files" / file.path
        kept = path.read_bytes()
        path.write_bytes(kept[:-1])
        try:
            with pytest.raises(LedgerDamaged, match=r"\(release Mar\): ") as raised:
                series.audit()
        finally:
            path.write_bytes(kept)
    assert find_numbered(str(raised.value)) == []


def test_the_report_says_labels(months: Path) -> None:
    with ri.Series.open(months / "s") as series:
        page = series.audit().to_html()
    text = Elements(page).text
    assert find_numbered(text) == []
    told = " ".join(str(value) for _, attributes in Elements(page).tags for value in attributes.values() if value)
    assert find_numbered(told) == []
    found = re.search(r'<script[^>]*id="charts"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found
    drawn = json.loads(found[1])
    rows = [row for chart in drawn.values() for row in chart.get("data", {}).get("values", [])]
    named = [row["release"] for row in rows if "release" in row]
    assert named
    assert set(named) == set(LABELS)
    axes = re.findall(r'"sort":(\[[^]]*\])', found[1])
    assert axes
    assert {tuple(json.loads(axis)) for axis in axes} == {tuple(LABELS)}, "in the order of the series, not of letters"


@pytest.mark.gates
def test_gates_and_refusals_say_labels(months: Path) -> None:
    with ri.Series.open(months / "s") as series:
        with pytest.raises(GateStopped) as stopped:
            series.publish(months / "Mar.csv")
        with pytest.raises(SeriesError) as kept:
            series.withdraw()
        with pytest.raises(SeriesError) as lacking:
            series.membership(9)
        with pytest.raises(SettingsError) as other:
            series.publish(months / "Apr.csv", label="Jan")
    said = [str(stopped.value), str(kept.value), str(other.value)]
    assert "as release Mar on" in said[0]
    assert "Release Mar may have been handed out" in said[1]
    assert not any(find_numbered(sentence) for sentence in said)
    assert str(lacking.value) == "There is no release 9; the series has 1 (Jan), 2 (Feb), 3 (Mar)."


def test_runs_are_told_by_their_ends_and_names_that_are_alike_by_their_number() -> None:
    assert list_in_order([1, 2, 4, 5, 6, 9], {n: str(n) for n in range(1, 10)}) == "1, 2, 4 to 6, 9"
    assert list_in_order([], {}) == ""
    names = call_releases([{"number": n, "label": label} for n, label in ((1, "Jan"), (2, "3"), (3, None), (5, "May"))])
    assert names == {1: "Jan", 2: "3 (number 2)", 3: "3 (number 3)", 5: "May"}
    assert list_in_order([1, 2, 3, 5], names) == "Jan to May", "numbers of withdrawn releases are no gaps"
