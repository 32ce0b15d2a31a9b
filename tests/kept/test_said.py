"""What is proposed, printed, drawn and compared of small tables, against what is kept of it here.

See test_kept.py for what these files are for, and how they are written anew.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import reissue as ri
from reissue import clinic
from reissue.cli import main
from reissue.compare import compare
from reissue.report.pages import prepare_audit, prepare_comparison
from tests.kept.published import Kept, digest, keep, settle
from tests.suggest.tables import klinik, oddities, stays

PATIENTS, MONTHS = 150, 3


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    clinic.write(folder, format="both", months=MONTHS, patients=PATIENTS)
    for name, settings in (("static", {"k": 4}), ("standing", {})):
        (folder / f"{name}.toml").write_text(clinic.config(strategy=name, settings=settings), encoding="utf-8")
    return folder


def draw(charts: Any) -> dict[str, str]:
    """The charts of a page by name, without what names the version of their language."""
    return {name: digest({key: one for key, one in spec.items() if key != "$schema"}) for name, spec in charts.items()}


@pytest.mark.parametrize("dependence", ["weak", "real"])
def test_the_clinic_is_as_it_was(dependence: str) -> None:
    months = list(clinic.clinic_months(months=14, patients=PATIENTS, dependence=dependence))
    age = np.arange(18, 98, 5)
    first = clinic.first_results(age % 2 == 0, age, 40.0 + age if dependence == "real" else None)
    keep(
        f"clinic-{dependence}",
        {
            "rows": [one.num_rows for one in months],
            "months": [digest(one.to_pydict()) for one in months],
            "first": digest(first.tolist()),
            "next": digest(clinic.next_results(age % first.shape[1], first).tolist()),
            "files": digest([clinic.hierarchies(), clinic.config()]),
        },
    )


@pytest.mark.parametrize("name", ["klinik", "oddities", "stays"])
def test_proposals_are_as_they_were(name: str) -> None:
    proposal = ri.Schema.suggest({"klinik": klinik, "oddities": oddities, "stays": stays}[name](400))
    keep(
        f"proposal-{name}",
        {
            "toml": proposal.to_toml("hierarchies").splitlines(),
            "files": {name: digest(text) for name, text in proposal.hierarchy_files().items()},
            "whole": digest(proposal.to_dict()),
        },
    )


COMMANDS = (
    "init s --config standing.toml --seed 3",
    "publish s 2024-01.parquet --allow few-rows",
    "publish s 2024-02.csv --dry-run",
    "publish s 2024-02.csv --label second",
    "publish s 2024-02.csv",
    "audit s --attack association --person P000003-1",
    "estimate s/releases/0002 sex=F zip=120* exam=Thyroid --config standing.toml",
    "verify s --rebuild",
    "init t --config static.toml --seed 3",
    "publish t 2024-01.csv",
    "publish t 2024-02.csv",
    "audit t",
    "audit t --promise",
    "withdraw t --reason mistaken --not-handed-out",
    "publish t nowhere.csv",
    "publish t 2024-02.csv --set k=9 --label again",
    "forget t P000003-1",
    "pack t 1 --output t.zip",
    "log t",
    "log t --json",
    "verify t --json",
    "audit t --json --attack association",
    "estimate t/releases/0001 sex=F --json",
    "publish t 2024-03.csv --json --label third",
    "withdraw t --json --reason again --not-handed-out",
    "forget t P000005-1 --json",
    "compare --config static.toml --strategy static --json 2024-01.csv",
    "audit --config static.toml --release t/releases/0001 --release 2024-03.csv --snapshot 2024-01.csv",
    "audit --config static.toml --release t/releases/0001 --snapshot 2024-01.csv --match content --set k=9",
    "init --from 2024-01.csv u",
)


@pytest.mark.gates
def test_commands_print_what_they_printed(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tables)
    told = {}
    for number, command in enumerate(COMMANDS, start=1):
        done = CliRunner().invoke(main, command.split())
        output = re.sub(r'"\d{4}-\d\d-\d\dT[^"]*"', '"then"', done.output)
        output = re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number[0]):.6g}", output)
        output = re.sub(r'"(\w*seconds|sha256|user|reissue)": .*?(,?)$', r'"\1": "."\2', output, flags=re.MULTILINE)
        output = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\S*?( by .*?)?(?=\)|\.?$)", "then", output, flags=re.MULTILINE)
        lines = re.sub(r" on \d{4}-\d\d-\d\d:", " then:", output).splitlines()
        if command.startswith("log"):  # what happened in one second is told in any order
            lines.sort()
        if len(lines) > 60:
            lines = [*lines[:8], digest(lines)]
        told[f"{number:02} {command}"] = [done.exit_code, *lines]
    keep("commands", told)


def test_pages_show_what_they_showed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, strategy in (
        ("static", ri.Static(k=4)),
        ("m-invariance", ri.MInvariance(m=2, on_ineligible="counterfeit")),
    ):
        audit = Kept(strategy, rows=120).publish(tmp_path / name).audit()
        charts, context = prepare_audit(settle(audit.to_dict()))
        shown = {key: digest(value) for key, value in context.items() if key != "audit"}
        keep(f"page-{name}", {"charts": draw(charts), "shown": shown})


def test_comparisons_say_what_they_said(tables: Path) -> None:
    schema = ri.Schema.from_toml(tables / "static.toml")
    found = compare(
        sorted(tables.glob("*.parquet")),
        schema,
        strategies=["static", "m-invariance"],
        settings={"k": 4, "m-invariance.m": [2, 3]},
        rates=["birth_year x sex"],
    )
    charts, context = prepare_comparison(settle(found.to_dict()))
    keep(
        "comparison",
        {
            "told": [line for line in found.describe().splitlines() if not line.startswith("seconds")],
            "whole": digest(found.to_dict()),
            "charts": draw(charts),
            "shown": {key: digest(value) for key, value in context.items()},
        },
    )
