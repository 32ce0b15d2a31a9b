"""Scripts that are not part of the tests, as far as they can be tried in a second."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from reissue.arrays import compiled

ROOT = Path(__file__).resolve().parents[1]


def test_faults_are_drawn_by_seed_and_leave_a_program() -> None:
    script, target = ROOT / "scripts" / "faults", ROOT / "src" / "reissue" / "publish" / "spark"
    known = runpy.run_path(str(ROOT / "scripts" / "fault_places.py"))
    every = list(known["places"]([target.parent]))
    lists = [known["drawn"](every, 5, seed) for seed in (1, 1, 2)]
    assert lists[0] == lists[1] != lists[2]
    command = [sys.executable, str(script), "5", str(target), "--list", "--spark"]
    assert len(subprocess.check_output(command, text=True).splitlines()) == 5
    some = every[::5]
    assert {fault.what.split(" ")[0] for fault in some} >= {"comparison", "off", "and", "statement", "another"}
    for fault in some:
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


PROGRAM = """
from functools import cache

from reissue.arrays.compiled import njit

class Shop:
    def price(self, of: int, more: int = 1) -> int:
        return of + more

@cache
def remembered(of: int) -> bool:
    return of > 2

@njit(cache=True)
def inner(of):
    return of * 2

@njit(cache=True)
def outer(of):
    return inner(of) - 1
"""


def test_a_fault_is_put_into_what_is_imported_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also into a kernel that another one is made of, and into what remembers its answers."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(compiled._Cache, "save_overload", compiled._Cache.save_overload)
    memory, known = import_module("fault_memory"), import_module("fault_places")
    (file := tmp_path / "program_with_faults.py").write_text(PROGRAM)
    program = import_module("program_with_faults")
    answers = lambda: (program.Shop().price(3), program.remembered(3), program.outer(3))  # noqa: E731
    assert answers() == (4, True, 5)
    living = memory.Living(tmp_path)
    living.remembered.append(program.remembered)
    planted = {(fault.what, fault.line): living.plant(fault, file) for fault in known.places([file])}
    assert not planted.pop(("off by one", 7)), "a default was made by importing"
    assert set(planted.values()) == {True}
    assert answers() == (2, False, 7), "of - more, of > 3, of * 3 and inner(of) - 2: the last of each"


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
