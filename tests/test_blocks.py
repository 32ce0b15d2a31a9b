"""Every command and every Python block of README and docs runs, in order, in one fresh folder per page.

A page finds the files that it speaks of: a small clinic's months under the names it uses. `compare` tries two
strategies, and the clinic has few patients; what sets up a machine, or serves until it is ended, is only looked at.
"""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner

import reissue as ri
from reissue import clinic
from reissue.cli import init, main
from reissue.compare import comparing, planning
from reissue.model.domain import Domain
from reissue.model.observed import Observed
from tests.methods.worlds.tiny_worlds import release
from tests.support.words import PlainWords
from tests.utility.support import random_facts, random_snapshot, small_domains

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", flags=re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"\s*(reissue|make|pip|pipx|uvx|python3?|openssl|docker) [a-z./'-]")
SETTING_UP = re.compile(r"python3 -m venv|pip install|pipx install|uvx |docker ")
OWN_DATA = {"README.md", "docs/quickstart.md"}  # they make what they use
MAY_FIND = {"audit", "adopt"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page.name != "cli.md" and any(kind in ("sh", "python") for kind, _ in blocks(page))
]


@pytest.fixture(scope="module")
def props(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Months of a small clinic, a config, a series of one release, two releases of another tool, a saved audit."""
    folder = tmp_path_factory.mktemp("props")
    months = clinic.write(folder / "clinic", format="both", months=5, patients=200)
    months = [path for path in months if path.suffix == ".csv"]
    lines = (folder / "clinic" / "hierarchies" / "zip.csv").read_text(encoding="utf-8")
    (folder / "zip.csv").write_text(lines, encoding="utf-8")
    (folder / "zip2.csv").write_text(lines + "99999;9999*;999**;*\n", encoding="utf-8")
    config = re.sub(r"(?m)^zip = .*$", 'zip = { hierarchy = "zip.csv" }', clinic.config())
    for name in ("clinic.toml", "c.toml", "audit.toml"):
        (folder / name).write_text(config, encoding="utf-8")
    for name, source in zip(("2025-11", "2025-12", "2026-01", "2026-02", "2026-03"), months, strict=True):
        for ending in (".csv", ".parquet"):
            shutil.copy(source.with_suffix(ending), folder / f"{name}{ending}")
    schema = ri.Schema.from_toml(folder / "clinic.toml")
    for number, name in enumerate(("2025-11", "2025-12"), start=1):
        for copy in (f"r{number}.csv", f"{name}-arx.csv", f"out-2026-0{number}.csv"):
            pyarrow.csv.write_csv(generalize(pyarrow.csv.read_csv(folder / f"{name}.csv")), folder / copy)
        for copy in (f"s{number}.csv", f"in-2026-0{number}.csv"):
            shutil.copy(folder / f"{name}.csv", folder / copy)
    with ri.Series.create(folder / "clinic.reissue", schema, ri.Standing(), formats=["csv"]) as series:
        series.publish(folder / "2025-12.csv")
        series.audit(attacks=["association"]).to_json(folder / "audit.json")
    release = pd.read_csv(folder / "clinic.reissue" / "releases" / "0001" / "release.csv")
    release.drop(columns="weight").rename(columns={"exam": "diagnosis"}).to_csv(folder / "release.csv", index=False)
    weights = ri.weights(folder / "clinic.reissue" / "releases" / "0001").to_pandas()
    weights.rename(columns={"exam": "diagnosis"}).to_csv(folder / "weights.csv", index=False)
    return folder


def generalize(table: pa.Table) -> pa.Table:
    """As another tool might that gives hardly anything away: rows in their order, women and men."""
    columns = {name: ["*"] * len(table) for name in ("birth_year", "weight", "zip")}
    return pa.table(columns | {name: table[name] for name in ("sex", "exam", "ward")})


def prepare(page: Path, props: Path, folder: Path) -> None:
    name = page.relative_to(ROOT).as_posix()
    if name in OWN_DATA:
        shutil.copy(props / "2026-01.csv", folder / "people.csv")
        for one in ("clinic.toml", "zip.csv", "r1.csv", "r2.csv", "s1.csv", "s2.csv"):
            shutil.copy(props / one, folder / one)
        return
    shutil.copytree(props, folder, dirs_exist_ok=True)
    if re.search(r"(init|adopt|create\()\W*clinic\.reissue", page.read_text(encoding="utf-8")):
        shutil.rmtree(folder / "clinic.reissue")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = planning.make_plans
    monkeypatch.setitem(vars(clinic), "write", partial(clinic.write, patients=200))
    monkeypatch.setattr(comparing, "make_plans", lambda names, *more: whole(names or ("standing", "static"), *more))
    monkeypatch.setattr(init, "_is_terminal", lambda: True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_runs_from_top_to_bottom(page: Path, props: Path, tmp_path: Path) -> None:
    prepare(page, props, tmp_path)
    known: dict[str, Any] = {}
    with contextlib.chdir(tmp_path):
        for kind, text in blocks(page):
            if kind == "sh":
                run_shell(text)
            elif kind == "python":
                known = known or names_for(page)
                exec(compile(text, str(page), "exec"), known)


def run_shell(text: str) -> None:
    if "$" in text and not SETTING_UP.search(text):
        run_bash(text)
        return
    for line in text.replace("\\\n", " ").splitlines():
        words = [name for word in shlex.split(line, comments=True) for name in (sorted(glob.glob(word)) or [word])]
        if not words:
            continue
        if words[0] == "reissue":
            run_reissue(words[1:])
        elif words[0] == "make":
            subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True)
        elif SETTING_UP.search(line):
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            assert set(re.findall(r"\[(\w+)\]", line)) <= set(extras), line
        elif words[:2] == ["python", "-m"]:
            assert importlib.util.find_spec(words[2]), line
        else:
            run_bash(line)


def run_reissue(arguments: list[str]) -> None:
    looked_at = [*arguments, "--help"] if arguments[0] == "serve" else arguments  # it serves until it is ended
    done = CliRunner().invoke(main, looked_at, input="\n\n\n\n")
    if any(word.startswith("postgresql://") for word in arguments):  # there is no such server here
        assert "could not translate host name" in done.output, done.output
        return
    allowed = {0, 1, 4} if arguments[0] in MAY_FIND else {0}
    assert done.exit_code in allowed, f"reissue {shlex.join(arguments)}\n{done.output}"


def run_bash(text: str) -> None:
    """With processes of their own: what the shell does is the point."""
    programs = Path("programs")
    programs.mkdir(exist_ok=True)
    (programs / "reissue").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m reissue "$@"\n')
    (programs / "reissue").chmod(0o755)
    environment = os.environ | {"PATH": f"{programs.absolute()}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euc", text], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"


def names_for(page: Path) -> dict[str, Any]:
    """What a page's Python takes for granted."""
    known: dict[str, Any] = {"ri": ri, "releases": ["r1.csv", "r2.csv"], "snapshots": ["s1.csv", "s2.csv"]}
    if Path("clinic.toml").exists():
        known["schema"] = ri.Schema.from_toml("clinic.toml")
    if Path("clinic.reissue").exists():
        known["series"] = ri.Series.open("clinic.reissue")
    if page.name == "possible-worlds.md":
        known["observed"] = observe_table_1()
    if page.name == "utility.md":
        rng = np.random.default_rng(1)
        known["snapshot"] = random_snapshot(rng, 60, 4, small_domains())
        known["release"] = random_facts(rng, known["snapshot"], 8)
    return known


def observe_table_1() -> Observed:
    """Of the historical correlation paper; 0-7: Alice, Betty, Carl, Doris, Erica, Fiona, Grace, Hanna."""
    first = release(1, [(0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 1, 0), (4, 1, 2), (5, 1, 1)])
    second = release(2, [(2, 0, 2), (3, 0, 0), (5, 0, 1), (4, 1, 2), (6, 1, 1), (7, 1, 0)])
    return Observed([first, second], (Domain("a", 0, 9),), 3, PlainWords({2: "AIDS"}, {2: "Carl", 4: "Erica"}))


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_commands_are_in_blocks_that_are_run_and_toml_is_toml(page: Path) -> None:
    for kind, text in blocks(page):
        if kind == "toml":
            tomllib.loads(text)
        elif kind == "" and page.name != "cli.md":
            assert not COMMAND.match(text), f"{page.name}: say ```sh, so that it is run:\n{text}"
