"""Small series of every strategy, the same whoever publishes them, and what is said of them, in a form to compare."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import reissue as ri
from reissue.engine.read import find

MONTHS = 3
WANDERING = {"created", "user", "path", "sha256", "folder", "reissue", "files"}
"""What differs from run to run, or from machine to machine."""
REGIONS = {"all": {f"region {r}": [f"place {r}{p}" for p in range(4)] for r in range(3)}}


def make_schema(mixed: bool) -> ri.Schema:
    """`mixed`: numbers with decimals and missing ones, dates, and two sensitive columns."""
    plain = {"age": ri.Numeric(), "place": ri.Categorical(REGIONS), "sex": ri.Categorical({"person": ["f", "m"]})}
    more = {"weight": ri.Numeric(decimals=1, missing="value"), "since": ri.Numeric()} if mixed else {}
    sensitive = ["illness", "stage"] if mixed else "illness"
    return ri.Schema(
        identifier="person", quasi_identifiers={**plain, **more}, sensitive=sensitive, insensitive=["ward"]
    )


def make_months(rows: int, leave: float, update: float, mixed: bool) -> Iterator[pa.Table]:
    """People of whom some arrive, leave, return and change; ages, places and illnesses hang together."""
    rng = np.random.default_rng(5)
    total = 2 * rows
    age, sex, ward = rng.integers(18, 90, total), rng.integers(0, 2, total), rng.integers(0, 5, total)
    place = (age // 8 + rng.integers(0, 4, total)) % 12
    illness = np.minimum((rng.geometric(0.22, total) + age // 30) % 9, 7)
    weight, since = rng.integers(450, 1100, total), rng.integers(0, 3000, total)
    present, known = np.arange(total) < rows, rows
    for _ in range(MONTHS):
        here = np.flatnonzero(present)
        table = {
            "person": [f"p{i}" for i in here],
            "age": age[here],
            "place": [f"place {p // 4}{p % 4}" for p in place[here]],
            "sex": [("f", "m")[s] for s in sex[here]],
            "illness": [f"illness {i}" for i in illness[here]],
            "ward": [f"ward {w}" for w in ward[here]],
        }
        if mixed:
            table["weight"] = [None if w % 17 == 0 else f"{w / 10:.1f}" for w in weight[here]]
            table["since"] = [np.datetime64("2015-03-01").item() + timedelta(int(day)) for day in since[here]]
            table["stage"] = [f"stage {1 + w % 2}" for w in weight[here]]
        yield pa.table(table)
        leaving = (rng.random(total) < leave) & (np.arange(total) < known)
        present ^= leaving
        present[known : known + rows // 4] = True
        known += rows // 4
        illness = np.where(rng.random(total) < update, rng.integers(0, 8, total), illness)


@dataclass(frozen=True)
class Kept:
    """A series to publish."""

    strategy: ri.Static | Any
    rows: int = 240
    fragments: int = 1
    mixed: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def snapshots(self) -> list[pa.Table]:
        supports = self.strategy.supports
        leave, update = 0.15 if supports.gone else 0.0, 0.1 if supports.sensitive else 0.0
        return list(make_months(self.rows, leave, update, self.mixed))

    def publish(self, path: Path) -> ri.Series:
        schema = make_schema(self.mixed)
        series = ri.Series.create(path, schema, self.strategy, seed=7, fragments=self.fragments, **self.settings)
        for number, snapshot in enumerate(self.snapshots, start=1):
            series.publish(snapshot, label=f"month {number}")
        return series


def wanders(key: str) -> bool:
    return key in WANDERING or key.endswith("seconds")


def settle(value: Any) -> Any:
    """What stays the same: no times and places, and of figures the first six digits."""
    if is_dataclass(value):
        return settle(vars(value))
    if isinstance(value, dict):
        return {str(key): settle(one) for key, one in value.items() if not wanders(str(key))}
    if isinstance(value, list | tuple):
        return [settle(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.6g}")
    if isinstance(value, np.integer):
        return int(value)
    return re.sub(r"\(\d{4}-\d\d-\d\dT[^)]*\)|Hand out: .*", "", value) if isinstance(value, str) else value


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(settle(value), sort_keys=True).encode()).hexdigest()[:16]


def read_tables(folder: Path) -> dict[str, dict[str, list[Any]]]:
    """Every table of a release, without the bytes around it: these belong to the version of Arrow."""
    found = {}
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".parquet", ".csv"):
            found[str(file.relative_to(folder))] = find(file, None).table.to_pydict()
        elif file.is_file():
            found[str(file.relative_to(folder))] = {"text": [re.sub(r"[0-9a-f]{64}", "", file.read_text())]}
    return found


def describe_releases(series: ri.Series) -> dict[str, Any]:
    """What was published, as digests, and beside it what a person would look at first."""
    releases = series.releases
    return {
        "tables": [{name: digest(table) for name, table in read_tables(one.path).items()} for one in releases],
        "members": [digest(series.membership(one.number).to_pydict()) for one in releases],
        "releases": settle([{key: one.to_dict()[key] for key in ("counts", "utility", "steps")} for one in releases]),
    }


def describe_audit(audit: ri.Audit) -> dict[str, Any]:
    """What an audit says in short; all it says, as a digest of each attack."""
    document: dict[str, Any] = audit.to_dict()
    attacks = document["attacks"]
    assert not any(one["unfinished"] for one in attacks), "what takes too long differs from machine to machine"
    short = ("status", "breaches_total", "findings_total", "subjects_at_risk", "measures", "notes")
    return settle(
        {
            "verdict": document["verdict"],
            "attacks": {one["name"]: {**{key: one[key] for key in short}, "whole": digest(one)} for one in attacks},
            "releases": [digest(one) for one in document["releases"]],
            "rest": {key: digest(value) for key, value in document.items() if key not in ("attacks", "releases")},
            "told": digest(audit.describe()),
        }
    )


QUESTIONS = (
    "age=30..59",
    "'place=place 01,place 12' 'illness=illness 2'",
    "age=18..44 sex=f 'illness=illness 0,illness 3'",
    {"sex": "m", "illness": ["illness 1"], "age": (50, 80)},
)


def describe_estimates(series: ri.Series) -> dict[str, Any]:
    """What readers compute from the public files of every release: a few counts and rates, and all weights."""
    found: dict[str, Any] = {}
    for one in series.releases:
        told = [ri.estimate(one, question, config=series.schema) for question in QUESTIONS]
        weights = ri.weights(one, config=series.schema)
        kept = np.sort(np.array(weights["weight"].to_pylist(), dtype=np.float64))
        found[one.name] = {
            "told": [answer.describe() for answer in told],
            "numbers": digest([answer.to_dict() for answer in told]),
            "weights": [len(kept), *(float(kept[at]) for at in (0, len(kept) // 3, -1)), float(kept.sum())],
        }
    return settle(found)


def describe_outsiders(series: ri.Series, snapshots: list[pa.Table]) -> dict[str, Any]:
    """What somebody finds who has the public files and the tables that they were made from, and about one person.

    In which class for life somebody is, the files do not tell: of such series the files alone are looked at.
    """
    folders, attacks = [one.path for one in series.releases], ["association", "difference", "intersection"]
    given = {} if series.strategy.stands else {"snapshots": snapshots, "match": "content"}
    found = ri.audit(folders, series.schema, attacks=attacks, k=3, c=0.5, **given)
    person = series.audit(attacks=["association", "difference"]).look_up("p7")
    return {"found": describe_audit(found), "person": settle([person.describe(), person.to_dict()])}


def keep(name: str, found: dict[str, Any], what: str | None = None) -> None:
    """Compare with what is kept under that name, or keep it; `what` is one part of it."""
    file = Path(__file__).parent / f"{name}.json"
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    before = kept if what is None else kept.setdefault(what, {})
    if os.environ.get("REISSUE_KEEP"):
        before.clear()
        before.update(json.loads(json.dumps(found)))
        file.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    for key in sorted(before.keys() | found.keys()):
        assert found.get(key) == before.get(key), f"{file.name}: {what or ''} {key} (see the head of test_kept.py)"
