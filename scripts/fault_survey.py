"""Which tests are near a fault, and which reach it: what `scripts/faults` runs of them, and in which order."""

from __future__ import annotations

import ast
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

from fault_places import Fault, holds

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "reissue"
NEAR = {
    "publish": ["publish", "series"],
    "history": ["history", "publish", "series"],
    "series": ["series", "cli"],
    "audit": ["audit"],
    "model": ["model", "partition", "methods"],
    "arrays": ["arrays", "model", "methods"],
}
"""Rooms whose tests are in other folders, too; of all others the folder of the same name, then series and audit."""
MOST = 15.0
"""Seconds of tests that a fault is given, nearest and quickest first: who survives these is given more, if asked."""

LATER = 0.05
"""Seconds of a test that the survey has not seen, as long as nobody knows better."""


def near(file: Path, tests: Path) -> list[str]:
    """The test files to run, nearest first: named like the file, importing it, of its room, of rooms that use it."""
    parts = file.relative_to(SOURCE).with_suffix("").parts
    module, stem = ".".join(("reissue", *parts)), parts[-1].strip("_")
    room = tests.joinpath(*parts[:-1]) if parts[:-1] else tests / "series"
    while not room.is_dir():
        room = room.parent
    others = [tests / name for name in NEAR.get(parts[0], ["series", "audit", "publish"])]
    ranked: list[tuple[int, int, str]] = []
    for test in tests.rglob("test_*.py"):
        text = test.read_text()
        rank = 0 if test.stem.startswith(f"test_{stem}") else 1 if module in text else 2 if room in test.parents else 3
        if rank < 3 or any(other in test.parents for other in others):
            ranked.append((rank, len(text), str(test.relative_to(tests.parent))))
    return [name for _, _, name in sorted(ranked)]


@cache
def kernels(source: Path) -> dict[str, str]:
    """The text of every compiled function, by name."""
    found: dict[str, str] = {}
    for file in source.rglob("*.py"):
        text = file.read_text()
        for node in ast.walk(ast.parse(text)) if "@njit" in text else ():
            if isinstance(node, ast.FunctionDef) and is_kernel(node):
                found[node.name] = found.get(node.name, "") + ast.unparse(node)
    return found


def is_kernel(node: ast.FunctionDef) -> bool:
    return any("njit" in ast.unparse(one) for one in node.decorator_list)


@cache
def older_lines(old: Path, new: Path) -> dict[int, int]:
    """Where each line that is the same was, when the survey was taken."""
    before, now = old.read_text().splitlines(), new.read_text().splitlines()
    blocks = SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
    return {block.b + i + 1: block.a + i + 1 for block in blocks for i in range(block.size)}


class Survey:
    """Which tests reach which lines, and how long each takes: from one run of the tests without any fault.

    It serves later code, too: lines that are the same are found again; a new one is reached by what its function is.
    """

    def __init__(self, folder: Path) -> None:
        from coverage import CoverageData

        self.source = folder / "source"
        self.seen = [CoverageData(basename=str(folder / f"cov.{file.stem}")) for file in sorted(folder.glob("*.xml"))]
        for one in self.seen:
            one.read()
        self.seconds: dict[str, float] = {}
        self.unused: set[str] = set()
        """Tests that failed or were skipped without any fault."""
        self.later: list[str] = []
        """Tests that were written since: those that are near are thought to reach every fault."""
        for file in folder.glob("*.xml"):
            for case in ElementTree.parse(file).iter("testcase"):
                name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
                if any(part.tag in ("failure", "error", "skipped") for part in case):
                    self.unused.add(name)
                else:
                    self.seconds[name] = float(case.get("time", 0))

    def meet(self, collected: Iterable[str]) -> None:
        """Learn what tests there are now."""
        self.later = [test for test in collected if test not in self.seconds and test not in self.unused]

    def reaching(self, fault: Fault, most: float = MOST) -> list[str]:
        """The tests that reach the fault, quick ones first, as many as take `most` seconds together.

        None where it is reached by importing, or not at all.
        """
        tree = ast.parse(fault.file.read_bytes())
        around = [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and holds(one, fault.line)]
        within = [one for one in around if isinstance(one, ast.FunctionDef)]
        compiled = [one.name for one in within if is_kernel(one)]
        if compiled:
            return self._sort(self._naming(compiled[-1]), fault.file, most)
        inner = min(around, key=lambda one: ((one.end_lineno or 0) - one.lineno, -one.lineno))
        body = getattr(inner, "body", None)
        end = body[0].lineno - 1 if body else inner.end_lineno or inner.lineno
        found = self._on(fault.file, set(range(inner.lineno, max(end, inner.lineno) + 1)))
        if not found and within:
            found = self._on(fault.file, set(range(within[-1].body[0].lineno, (within[-1].end_lineno or 0) + 1)))
        return self._sort(found or set().union(*(self._naming(name) for name in defined(inner))), fault.file, most)

    def runs_on_import(self, fault: Fault) -> bool:
        """Whether the line runs where no test has begun yet: then it is no use to change what is imported already."""
        line = self._older(fault.file, {fault.line})
        return any("" in contexts.get(one, ()) for contexts in self._contexts(fault.file) for one in line)

    def _older(self, file: Path, lines: set[int]) -> set[int]:
        old = self.source / file.relative_to(SOURCE)
        if not old.exists():
            return lines
        known = older_lines(old, file)
        return {known[line] for line in lines if line in known}

    @cache  # noqa: B019
    def _contexts(self, file: Path) -> list[dict[int, list[str]]]:
        name = "/" + str(file.relative_to(ROOT))
        paths = [(data, path) for data in self.seen for path in data.measured_files() if path.endswith(name)]
        return [data.contexts_by_lineno(path) for data, path in paths]

    def _naming(self, kernel: str) -> set[str]:
        names, known = {kernel}, 0
        while known < len(names):
            known = len(names)
            word = re.compile(rf"\b({'|'.join(names)})\b")
            names |= {name for name, text in kernels(SOURCE).items() if word.search(text)}
        found = set()
        for file in SOURCE.rglob("*.py"):
            numbered = enumerate(file.read_text().splitlines(), start=1)
            lines = {number for number, line in numbered if word.search(line) and "import" not in line}
            found |= self._on(file, lines) if lines else set()
        return found

    def _on(self, file: Path, lines: set[int]) -> set[str]:
        older = self._older(file, lines)
        known = self._contexts(file)
        return {context for contexts in known for line in older for context in contexts.get(line, ()) if context}

    def _sort(self, contexts: set[str], file: Path, most: float) -> list[str]:
        """What a fixture reaches may be noticed by every test of its file.

        The ten nearest files come first, and what is kept of small series: it says nearly everything that they do.
        """
        tests = {one.rsplit("|", 1)[0] for one in contexts}
        files = {one.split("::")[0] for one in contexts if not one.endswith("|run")}
        tests |= {test for test in self.seconds if test.split("::")[0] in files}
        nearest = {*near(file, ROOT / "tests")[:10], *(test.split("::")[0] for test in tests if "/kept/" in test)}
        times = {test: self.seconds[test] for test in tests if test in self.seconds}
        same = {test.split("[")[0] for test in tests}  # whose cases may be called otherwise since
        later = [test for test in self.later if test.split("::")[0] in nearest or test.split("[")[0] in same]
        times |= dict.fromkeys(later if times else (), LATER)
        known = sorted((test.split("::")[0] not in nearest, seconds, test) for test, seconds in times.items())
        taken: list[str] = []
        total = 0.0
        for _, seconds, test in known:
            total += seconds
            if total < most or not taken:
                taken.append(test)
        return in_files(taken if most > MOST else taken[:300], times)


def in_files(tests: list[str], seconds: Mapping[str, float]) -> list[str]:
    """Those of a file together, since what is made for all of them takes long; quick files first."""
    whole: dict[str, float] = {}
    for test in tests:
        file = test.split("::")[0]
        whole[file] = whole.get(file, 0.0) + seconds[test]
    return sorted(tests, key=lambda test: (whole[test.split("::")[0]], test.split("::")[0]))


def defined(node: ast.stmt) -> list[str]:
    """The names that a statement gives something: what is reached by importing is noticed where it is used."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
