"""One run of a comparison: a series of its own, published, attacked, and what came of it kept."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from reissue.compare.planning import ComparisonPlan
from reissue.documents import write_text
from reissue.errors import ChangeError, InputError, ReissueError, SeriesError, SnapshotError
from reissue.ledger.disk import make_private_folder
from reissue.methods.registry import write_policy
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.audit import Audit
    from reissue.series import Release

SHORT = 300
QUERIES = 1000
VERSION = 2
"""Of what a run keeps; another number means that it is run again."""


@dataclass(frozen=True)
class Run:
    """What came of one strategy.

    status:   "done", or "refused" with the reason, at release `failed_at` (0: the settings themselves)
    query_error: what the release costs its readers, see `query_error`; the one measure for both styles of release
    rates:    for each pair of attributes `pair`, the median `error` of rates (a mean over the releases), their
              `correlation` with the truth and `points` (true, published) in the last release; see `utility.rate_errors`
    detail_lost: mean share over the releases; None where exact quasi-identifiers are published (anatomized)
    rows, suppressed, counterfeits: sums over the releases
    attacks:  name -> status (as in an audit), subjects_at_risk, reason
    """

    label: str
    strategy: str
    settings: Mapping[str, object]
    status: str
    reason: str | None = None
    failed_at: int | None = None
    releases: int = 0
    rows: int = 0
    suppressed: int = 0
    counterfeits: int = 0
    query_error: float | None = None
    rates: Sequence[Mapping[str, object]] = ()
    detail_lost: float | None = None
    class_size: float | None = None
    seconds: float = 0.0
    audit_seconds: float = 0.0
    subjects: int | None = None
    subjects_at_risk: int | None = None
    attacks: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def breached(self) -> list[str]:
        return [name for name, attack in self.attacks.items() if attack["status"] == "breached"]

    @property
    def rate_error(self) -> float | None:
        """Of the first pair."""
        return cast("float | None", self.rates[0]["error"]) if self.rates else None

    @property
    def ran(self) -> list[str]:
        return [name for name, attack in self.attacks.items() if attack["status"] != "skipped"]

    @property
    def risk(self) -> float:
        """The share of people at risk."""
        return (self.subjects_at_risk or 0) / self.subjects if self.subjects else 0.0


@dataclass(frozen=True)
class Runner:
    """What all runs share. folder: where runs are kept; digest: of schema, snapshots and thresholds."""

    folder: Path
    schema: Schema
    snapshots: Sequence[str | PathLike[str]]
    thresholds: Mapping[str, float]
    on_change: str
    digest: str
    say: Callable[[str], None]
    rates: Sequence[str] = ()

    def run(self, plan: ComparisonPlan) -> Run:
        """The kept result if nothing changed since; else a new one, kept before it is returned."""
        if plan.strategy is None:
            return _describe_refused(plan, str(plan.reason), 0, 0.0)
        key = _make_key(self.digest, plan)
        place = self.folder / f"{re.sub('[^a-z0-9]+', '-', plan.name)}-{key[:16]}"
        kept = _read_kept(place / "run.json", key)
        if kept is not None:
            return kept
        shutil.rmtree(place, ignore_errors=True)  # what an interrupted run left
        make_private_folder(place)
        result = self._publish(plan, place / "series", int(key[:16], 16))
        shutil.rmtree(place / "series", ignore_errors=True)
        _write(place / "run.json", {"key": key, "run": asdict(result)})
        return result

    def _publish(self, plan: ComparisonPlan, path: Path, seed: int) -> Run:
        from reissue.publish.gates import NAMES as GATES  # compared, not handed out: nothing is to be stopped
        from reissue.series import Series

        assert plan.strategy is not None
        start = time.perf_counter()
        releases: list[Release] = []
        options = {"seed": seed, "formats": ["parquet"], "on_change": self.on_change}
        with Series.create(path, self.schema, plan.strategy, **options) as series:  # type: ignore[arg-type]
            try:
                for number, snapshot in enumerate(self.snapshots, start=1):
                    self.say(f"{plan.label}: release {number} of {len(self.snapshots)}")
                    releases.append(series.publish(Path(snapshot), allow=GATES))
            except (SnapshotError, SeriesError):  # of the snapshot or the disk, and no strategy's fault
                raise
            except ReissueError as error:
                return _describe_refused(plan, shorten_reason(error), len(releases) + 1, time.perf_counter() - start)
            published = time.perf_counter()
            attacking = say_inside(self.say, f"{plan.label}:")
            audit = series.audit(names=False, progress=attacking, **self.thresholds)  # type: ignore[arg-type]
        _write(path.parent / "audit.json", audit.to_dict(findings=40))
        return _describe_done(plan, releases, audit, self.rates, published - start, time.perf_counter() - published)


def say_inside(say: Callable[[str], None], where: str) -> Callable[[str], None]:
    """Says a stage with where it belongs: "2 of 11, static (k=5)" before "release 1 of 4"."""
    return lambda stage: say(f"{where} {stage}")


def digest_inputs(
    schema: Schema,
    snapshots: Sequence[str | PathLike[str]],
    thresholds: Mapping[str, float],
    on_change: str,
    rates: Sequence[str] = (),
) -> str:
    """Changes whenever a result could: with schema, content of a snapshot, thresholds and version."""
    from reissue import __version__

    digest = hashlib.sha256()
    parts = (VERSION, __version__, schema.to_dict(), dict(thresholds), on_change, list(rates))
    digest.update(json.dumps(parts, sort_keys=True, default=str).encode())
    for snapshot in snapshots:
        path = Path(snapshot)
        if not path.is_file():
            is_not = "is a folder" if path.is_dir() else "does not exist"
            raise InputError(f"{path} {is_not}; name the snapshots, CSV or Parquet files, oldest first.")
        digest.update(_digest_file(path).encode())
    return digest.hexdigest()


def shorten_reason(error: ReissueError) -> str:
    """An error in a line, without the people it names."""
    text = str(error)
    if isinstance(error, ChangeError):
        problems = [line[2:].partition(":")[0] for line in text.splitlines() if line.startswith("- ")]
        text = "; ".join(problems) or text.splitlines()[0]
    text = " ".join(text.split())
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


def measure_query_error(audit: Audit, suppressed: Sequence[int]) -> float:
    """How far off a reader's count is: the median relative error of random queries, a mean over the releases.

    Each asks for ranges of two quasi-identifiers and of the sensitive value; the same queries for every strategy.
    Suppressed rows count as wholly lost.
    """
    from reissue.utility import QueryErrors, count_exactly, estimate, random_queries

    observed, rng = audit.observed, np.random.default_rng(0)
    asked = min(2, len(observed.domains))
    queries = random_queries(rng, observed.domains, observed.value_count, count=QUERIES, attributes_per_query=asked)
    errors = []
    for release, missing in zip(observed.releases, suppressed, strict=True):
        members = release.members
        assert members is not None
        actual = count_exactly(queries, members.codes, members.values)
        relative = QueryErrors(actual, estimate(queries, release, observed.domains)).relative
        lost = missing / max(1, missing + len(members.subjects))
        errors.append((1 - lost) * (float(np.median(relative)) if len(relative) else 0.0) + lost)
    return sum(errors) / len(errors)


def _make_key(digest: str, plan: ComparisonPlan) -> str:
    """Changes with the inputs, the settings, and the content of files that the settings name."""
    assert plan.strategy is not None
    files = [_digest_file(path) for path in _find_files(write_policy(plan.strategy))]
    text = json.dumps([digest, plan.name, repr(plan.strategy), files])
    return hashlib.sha256(text.encode()).hexdigest()


def _find_files(value: object) -> list[Path]:
    if isinstance(value, Mapping):
        return [path for item in value.values() for path in _find_files(item)]
    if isinstance(value, list | tuple):
        return [path for item in value for path in _find_files(item)]
    return [Path(value)] if isinstance(value, str | PathLike) and value and Path(value).is_file() else []


def _digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_kept(path: Path, key: str) -> Run | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Run(**content["run"]) if content["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):  # not there, or cut off: run it again
        return None


def _write(path: Path, content: object) -> None:
    write_text(json.dumps(content, ensure_ascii=False, allow_nan=False), path)


def _describe_refused(plan: ComparisonPlan, reason: str, at: int, seconds: float) -> Run:
    return Run(
        label=plan.label,
        strategy=plan.name,
        settings=dict(plan.settings),
        status="refused",
        reason=reason,
        failed_at=at,
        seconds=round(seconds, 3),
    )


def _describe_done(
    plan: ComparisonPlan,
    releases: Sequence[Release],
    audit: Audit,
    rates: Sequence[str],
    seconds: float,
    audit_seconds: float,
) -> Run:
    attacks = {}
    for one in audit.checked:
        people = None
        if one.outcome is not None and one.outcome.at_risk:
            people = len(np.unique(np.concatenate(list(one.outcome.at_risk.values()))))
        attacks[one.name] = {"status": one.status, "subjects_at_risk": people, "reason": one.reason}

    def total(name: str) -> int:
        return sum(release.counts.get(name, 0) for release in releases)

    def mean(name: str) -> float:
        return sum(release.utility[name] for release in releases) / len(releases)

    anatomized = any(release.anatomized for release in audit.observed.releases)
    return Run(
        label=plan.label,
        strategy=plan.name,
        settings=dict(plan.settings),
        status="done",
        releases=len(releases),
        rows=total("published"),
        suppressed=total("suppressed"),
        counterfeits=total("counterfeits"),
        query_error=measure_query_error(audit, [release.counts.get("suppressed", 0) for release in releases]),
        rates=[one.to_dict() for one in audit.view.measure_rates(len(audit.coding.values), rates)],
        detail_lost=None if anatomized else mean("gcp"),
        class_size=mean("class_size"),
        seconds=round(seconds, 3),
        audit_seconds=round(audit_seconds, 3),
        subjects=audit.subjects,
        subjects_at_risk=len(audit.at_risk),
        attacks=attacks,
    )
