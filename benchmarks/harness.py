"""Time and memory of fresh processes, measured in one run on the same rows, and tables of their ratios."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
DOCS = ROOT / "docs" / "benchmarks"


@dataclass(frozen=True)
class Run:
    """Wall seconds, CPU seconds and peak resident memory (MB) of one process."""

    seconds: float
    cpu: float
    megabytes: float


def fresh(command: Sequence[str], *, times: int = 1) -> Run:
    """Run the command in a process of its own; the fastest of `times` runs."""
    return min((_once(command) for _ in range(times)), key=lambda run: run.seconds)


def _once(command: Sequence[str]) -> Run:
    """Started by a small process: the peak memory that the kernel reports for a child begins at that of its parent."""
    with tempfile.NamedTemporaryFile() as cost:
        launcher = [sys.executable, "-S", str(ROOT / "benchmarks" / "peers" / "timed.py"), "3600", cost.name]
        done = subprocess.run([*launcher, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        told = json.loads(Path(cost.name).read_text())
    if told["code"] != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.decode()}")
    return Run(told["seconds"], told["cpu"], told["megabytes"])


def python(code: str) -> list[str]:
    """The command that runs a piece of Python in this environment."""
    return [sys.executable, "-c", code]


def reissue(*arguments: str) -> list[str]:
    """The command line of this environment."""
    return [str(Path(sys.executable).with_name("reissue")), *arguments]


def machine() -> str:
    """One line about where the numbers come from."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{date.today()}, {os.cpu_count()} cores ({model}), {memory:.0f} GiB, Python {platform.python_version()}"


def report(name: str, title: str, intro: str, headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print the table, and keep it as docs/benchmarks/NAME.md."""
    lines = [
        f"# {title}",
        "",
        intro,
        "",
        f"Measured: {machine()}.",
        "",
        "| " + " | ".join(headings) + " |",
        "|" + "---|" * len(headings),
        *("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows),
        "",
    ]
    text = "\n".join(lines)
    print(text)
    DOCS.mkdir(parents=True, exist_ok=True)
    (DOCS / f"{name}.md").write_text(text)


def _cell(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
