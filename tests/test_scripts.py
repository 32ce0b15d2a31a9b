"""Scripts that are not part of the tests, as far as they can be tried in a second."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_faults_are_drawn_by_seed_and_leave_a_program() -> None:
    script, target = ROOT / "scripts" / "faults", ROOT / "src" / "reissue" / "publish" / "spark"
    known = runpy.run_path(str(ROOT / "scripts" / "fault_places.py"))
    every = list(known["places"]([target.parent]))
    lists = [known["drawn"](every, 5, seed) for seed in (1, 1, 2)]
    assert lists[0] == lists[1] != lists[2]
    command = [sys.executable, str(script), "5", str(target), "--list", "--spark"]
    assert len(subprocess.check_output(command, text=True).splitlines()) == 5
    assert {fault.what.split(" ")[0] for fault in every} >= {"comparison", "off", "and", "statement", "another"}
    for fault in every:
        planted = fault.planted(fault.file.read_bytes())
        assert planted != fault.file.read_bytes()
        ast.parse(planted)


def test_faults_are_drawn_from_every_package() -> None:
    known = runpy.run_path(str(ROOT / "scripts" / "fault_places.py"))
    source = ROOT / "src" / "reissue"
    every = list(known["places"]([source / name for name in ("history", "schema", "suggest", "documents.py")]))
    drawn = known["drawn"](every, 40, 3, source)
    assert len(drawn) == len(set(drawn)) == 40
    rooms = Counter(fault.file.relative_to(source).parts[0] for fault in drawn)
    assert set(rooms) == {"history", "schema", "suggest", "documents.py"}
    assert min(rooms.values()) >= 4
    assert rooms["suggest"] > rooms["history"]


def test_one_publish_and_one_audit_cross_few_modules() -> None:
    """So that who follows one publish, or one audit with every attack, from its call to its end keeps the thread."""
    walks = subprocess.check_output([sys.executable, str(ROOT / "scripts" / "walk")], text=True).split("\n\n")
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name, walk, most, middle in zip(
        ("publish", "audit"), walks, (50, 65), ("publish.publishing", "audit.auditing"), strict=True
    ):
        title, *lines = walk.splitlines()
        modules = [line.split()[0] for line in lines]
        assert title == f"{name} (m-invariance): {len(modules)} modules"
        assert title in page
        for passed in ("series.series", middle, "methods.invariance.strategy", "ledger.store"):
            assert passed in modules
        assert len(modules) <= most, walk


def test_every_module_is_reached_and_every_feature_has_its_price() -> None:
    table = subprocess.check_output([sys.executable, str(ROOT / "scripts" / "feature-lines")], text=True)
    rows = [line for line in table.splitlines() if line.startswith("| ") and "lines" not in line]
    assert len(rows) > 20
    assert all(int(row.split("|")[2].replace(",", "")) > 0 for row in rows)
