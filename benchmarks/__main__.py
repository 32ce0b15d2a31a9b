"""Run every benchmark (`make bench`), or those named on the command line."""

from __future__ import annotations

import compileall
import importlib
import sys
from pathlib import Path

# As an installed package has it; otherwise every fresh process would compile what changed last.
compileall.compile_dir(Path(__file__).resolve().parents[1] / "src", quiet=2)
names = sys.argv[1:] or sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
for name in names:
    importlib.import_module(f"benchmarks.{name}").main()
