"""Imports only go down, and a light start stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "reissue"

# The layers of the design, top first. A module may import its own layer's package and anything below.
LAYERS = [
    {"cli", "__main__", "demo"},
    {"series", "audit", "compare"},
    {"strategies", "attacks"},
    {"utility", "beliefs", "clinic", "report"},
    {"ledger", "engine"},
    {"coding", "words"},
    {"core"},
    {"schema", "hierarchy", "config"},
    {"errors"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
# What the taxonomies of a schema produce is described in core.domain, which itself imports nothing of ours.
ALLOWED_UP = {("hierarchy", "core.domain"), ("schema", "core.domain")}
APART = [("strategies", "attacks"), ("attacks", "strategies"), ("attacks", "ledger"), ("utility", "beliefs")]


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE or path.name != "__init__.py"]


def imported(path: Path) -> list[str]:
    """The modules of ours that a file imports, anywhere in it, without the leading package name."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name.removeprefix("reissue.") for name in names if name.startswith("reissue.")]


def top(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_go_down(path: Path) -> None:
    here = top(path)
    assert here in RANK, f"{here} is in no layer of the design"
    for name in imported(path):
        there = name.split(".")[0]
        if (here, name) in ALLOWED_UP:
            continue
        assert (here, there) not in APART, f"{here} must not import {name}"
        assert RANK[there] >= RANK[here], f"{here} imports {name}, which lies above it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_engine_imports_a_table_library(path: Path) -> None:
    if top(path) == "engine":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
        assert not any(name.split(".")[0] in {"polars", "pyspark"} for name in names), path


def test_import_reissue_is_light() -> None:
    heavy = ["altair", "jinja2", "numba", "numpy", "polars", "pyarrow", "pydantic", "pyspark", "scipy", "sqlalchemy"]
    code = f"import sys, reissue; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_publishing_does_not_wait_for_scipy() -> None:
    """A fifth of a second in every process that publishes: what needs SciPy imports it when it gets that far."""
    names = [f"strategies.{path.stem}" for path in (SOURCE / "strategies").glob("[a-z]*.py")]
    checks = ["association", "correspondence", "difference", "historical_correlation", "intersection", "record_tracing"]
    names += ["series.publishing", *(f"attacks.{name}" for name in checks)]
    code = f"import sys; {'; '.join(f'import reissue.{name}' for name in names)}; print('scipy.sparse' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
