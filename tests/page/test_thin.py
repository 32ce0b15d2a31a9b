"""The page decides nothing: its handlers are short, and what they call is what the command line calls."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "reissue" / "page"
ALLOWED = {"errors", "page", "progress", "report", "series", "schema", "compare", "audit", "ledger"}
"""Packages that pages may call: façades, documents and words; never the making of releases or an attack."""


def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    return [
        (path.name, node)
        for path in sorted(SOURCE.glob("*_pages.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_handlers_are_short() -> None:
    assert functions()
    for file, node in functions():
        assert (node.end_lineno or 0) - node.lineno < 18, f"{file}: {node.name}"


def test_pages_call_the_facade_and_nothing_below_it() -> None:
    for path in sorted(SOURCE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("reissue."):
                assert node.module.split(".")[1] in ALLOWED, f"{path.name} imports {node.module}"
