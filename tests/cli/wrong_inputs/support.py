"""A tiny clinic, commands on it, and how a wrong input must be refused."""

from __future__ import annotations

import contextlib
from pathlib import Path

from click.testing import CliRunner, Result

from reissue.cli import main

COLUMNS = ["patient", "age", "born", "weight", "zip", "sex", "diagnosis", "ward"]


ROWS = [
    ["p1", "21", "1990-01-01", "70.5", "12040", "f", "flu", "A"],
    ["p2", "24", "1990-02-01", "71.5", "12041", "m", "cold", "A"],
    ["p3", "33", "1985-03-01", "82.0", "12050", "f", "flu", "B"],
    ["p4", "35", "1985-04-01", "83.5", "12040", "m", "cold", "B"],
    ["p5", "36", "1984-05-01", "64.0", "12041", "f", "gastritis", "A"],
    ["p6", "52", "1970-06-01", "65.5", "12050", "m", "flu", "A"],
]


CONFIG = """[schema]
identifier = "patient"
sensitive = "diagnosis"
insensitive = "ward"
[schema.quasi_identifiers]
age = { type = "int" }
born = { type = "date" }
weight = { type = "float", decimals = 1 }
zip = { hierarchy = "zip.csv" }
sex = { type = "categorical" }
[policy]
strategy = "static"
k = 2
"""


ZIP = "12040;1204*;*\n12041;1204*;*\n12050;1205*;*\n"


def text(rows: list[list[str]], columns: list[str] | None = None, mark: str = ",") -> str:
    return "".join(mark.join(row) + "\n" for row in [columns or COLUMNS, *rows])


def run(folder: Path, *arguments: str) -> Result:
    with contextlib.chdir(folder):
        return CliRunner().invoke(main, list(arguments))


def refused(done: Result, *parts: str, codes: tuple[int, ...] = (2, 3)) -> None:
    shown = done.stderr + done.stdout
    assert done.exit_code in codes, shown
    assert "Traceback" not in shown
    assert "fault in Reissue" not in shown
    for part in parts:
        assert part in shown, f"{part!r} is not in: {shown}"
    assert "Error: " in done.stderr
