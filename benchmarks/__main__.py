"""Run every benchmark (`make bench`), or those named on the command line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

names = sys.argv[1:] or sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
for name in names:
    importlib.import_module(f"benchmarks.{name}").main()
