"""`reissue.audit` and `Series.audit`: every attack that applies, and what it means."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from reissue.attacks.base import Finding, Outcome
from reissue.audit.document import document, places, verdict
from reissue.audit.gathering import Sheet, gather
from reissue.audit.looking import Here, Look
from reissue.audit.parallel import Runner, on_whole
from reissue.audit.portions import ReadReleases
from reissue.audit.running import Checked, check_given, chosen_names, run_attacks
from reissue.audit.traceable import Columns, ReadColumns, Traceable, traceable
from reissue.audit.words import AuditWords
from reissue.beliefs.names import CodingNames
from reissue.coding import Coding
from reissue.core.domain import Int64
from reissue.core.observed import Observed
from reissue.core.observed import Release as ObservedRelease
from reissue.core.sets import union
from reissue.errors import SeriesError, SettingsError
from reissue.schema import Schema
from reissue.series.identities import Identities
from reissue.series.past import PastReleases
from reissue.series.settings import policy_of
from reissue.strategies.base import Strategy

if TYPE_CHECKING:
    from reissue.engine.read import Source
    from reissue.series.series import Series

ARX_RISK = 0.2
"""ARX counts a record as at risk above this chance of re-identification."""

IN_REPORT = 40
"""Findings of each attack that the HTML report shows."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What an attacker with all the releases learns, about whom.

    checked:  every attack, with its outcome or the reason why it did not run; breached ones first
    sheets, look: what the document tells beside what an attacker sees
    """

    observed: Observed
    coding: Coding
    checked: Sequence[Checked]
    sheets: Sequence[Sheet]
    look: Look
    traceable: Sequence[Traceable]
    thresholds: Mapping[str, object]
    thresholds_from: str
    about: Mapping[str, object]
    notes: Sequence[str]
    names_shown: bool
    risk_threshold: float
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """What each attack found, by name; attacks that did not run are in `skipped`."""
        return {one.name: one.outcome for one in self.checked if one.outcome is not None}

    @property
    def skipped(self) -> dict[str, str]:
        """Why each of the other attacks did not run."""
        return {one.name: str(one.reason) for one in self.checked if one.outcome is None}

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for outcome in self.outcomes.values() for finding in outcome.findings)

    @property
    def breaches(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.breach)

    @property
    def subjects(self) -> int | None:
        """How many different people are in the series; None where nobody is known."""
        return self.look.people

    @cached_property
    def at_risk(self) -> Int64:
        """int64[]: different people whom a successful attack puts at risk, by number."""
        parts = [
            ids for one in self.checked if one.outcome and one.outcome.breaches for ids in one.outcome.at_risk.values()
        ]
        return union(*parts)

    @property
    def verdict(self) -> str:
        return str(verdict(self)["sentence"])

    def to_dict(self, *, findings: int | None = None) -> dict[str, object]:
        """The document `reissue-audit/1` (docs/audit-json.md); `findings` limits those listed of each attack."""
        return document(self, findings)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The document as text, also written to `path` if one is given."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """One self-contained offline page, also written to `path` if one is given."""
        # the report lies above this layer and is a function of the document alone: it is only looked up when asked for
        report = import_module("reissue.report")
        page = str(report.audit_html(self.to_dict(findings=IN_REPORT)))
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def describe(self) -> str:
        """The audit in a few lines, for a terminal."""
        lines = [self.verdict, ""]
        for one in self.checked:
            lines.append(f"{one.status:9} {one.name}: {_in_a_line(one)}")
            if one.outcome is not None:
                lines += [f"            - {finding.sentence}" for finding in one.outcome.breaches[:3]]
                listed = len(one.outcome.breaches)
                more = (one.outcome.total if listed == len(one.outcome.findings) else listed) - 3
                lines += [f"            - ... and {more:,} more"] if more > 0 else []
                lines += [f"            note: {note}" for note in one.outcome.notes]
        lines += [f"traceable {one.sentence}" for one in self.traceable]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _in_a_line(one: Checked) -> str:
    if one.outcome is None:
        return str(one.reason)
    at_risk = [len(ids) for ids in one.outcome.at_risk.values()]
    most = max(at_risk, default=0)
    people = f", up to {'1 person' if most == 1 else f'{most:,} people'} at risk in one release" if most else ""
    found = "1 finding" if one.outcome.total == 1 else f"{one.outcome.total:,} findings"
    return f"{found}{people}. Assumes: {one.attack.assumes}"


def audit(
    releases: Sequence[Source],
    schema: Schema,
    snapshots: Sequence[Source] | None = None,
    *,
    match: str = "order",
    attacks: Sequence[str] | None = None,
    strategy: Strategy | None = None,
    names: bool = True,
    risk_threshold: float = ARX_RISK,
    progress: Callable[[str], None] | None = None,
    **thresholds: object,
) -> Audit:
    """Attack releases made with any tool.

    releases: CSV or Parquet files, frames of labels, or release folders of ours, oldest first. snapshots: the raw
    table of each; without them only attacks run that need no members. match: how rows of a release and its snapshot
    belong together, "order" or "content". strategy: whose promises are measured against; thresholds (k=5, c=0.5, m=3,
    seconds=5, ...) win over them. names: whether people appear by identifier.
    """
    say = progress or (lambda stage: None)
    chosen = chosen_names(attacks)
    check_given(chosen, thresholds)
    gathered = gather(releases, schema, snapshots, match, names, say)
    many = f"{len(releases)} releases" if len(releases) > 1 else "1 release"
    identities = Identities(pa.array(gathered.identifiers, pa.string()), np.arange(len(gathered.identifiers)))
    case = _Case(
        gathered.observed,
        gathered.coding,
        gathered.sheets,
        identities,
        {"name": many, "kind": "releases", **_policy(strategy)},
        gathered.notes,
        names,
        Here(gathered.observed),
        ReadColumns([sheet.insensitive for sheet in gathered.sheets]),
    )
    return _audited(case, strategy, chosen, thresholds, risk_threshold, say)


def audit_series(
    series: Series,
    *,
    attacks: Sequence[str] | None = None,
    names: bool = True,
    risk_threshold: float = ARX_RISK,
    progress: Callable[[str], None] | None = None,
    runner: Runner | None = None,
    engine: str | None = None,
    **thresholds: object,
) -> Audit:
    """Attack a series of ours: its ledger knows who is in which class. See `audit` for the arguments.

    runner: how one attack runs; `reissue.audit.parallel.in_parts` divides the series among workers.
    engine: "embedded" or "spark", where attacks that can be divided run; by default where releases are made.
    """
    ledger, coding = series._ledger, series.coding
    if not ledger.releases:
        raise SeriesError("Nothing has been published yet, so there is nothing to audit.")
    say = progress or (lambda stage: None)
    chosen = chosen_names(attacks)
    check_given(chosen, thresholds)
    from reissue.series.series import checked_engine

    asked = {**series.engine, "name": engine} if engine else series.engine
    settings = checked_engine({"name": "embedded"} if runner and not engine else asked)
    public = [one.path for one in series.releases]
    if settings["name"] == "embedded":
        say("read")
        releases = [ObservedRelease.of(facts) for facts in PastReleases(ledger, coding)]
        insensitive = ReadColumns.of(public, coding.schema.insensitive)
        case = _of_series(series, names, Identities.read(ledger), releases, insensitive)
        return _audited(case, series.strategy, chosen, thresholds, risk_threshold, say, runner or on_whole)
    if runner:
        raise SettingsError("Spark runs the attacks in its own way: give either a runner or the engine 'spark'.")
    from reissue.audit.distributed import SparkAttacks

    say("start")
    with SparkAttacks.on(ledger, coding, settings, names) as spark:
        say("read")
        read = ReadReleases(ledger.shelf, coding)
        case = _of_series(series, names, spark.names, read, spark.insensitive(public), spark)
        return _audited(case, series.strategy, chosen, thresholds, risk_threshold, say, spark.run)


def _of_series(
    series: Series,
    names: bool,
    identities: Naming,
    releases: Sequence[ObservedRelease],
    insensitive: Columns,
    look: Look | None = None,
) -> _Case:
    coding = series.coding
    words = AuditWords(coding, identities.name if names else (lambda number: f"subject {number}"))
    observed = Observed(releases, coding.domains, len(coding.values), words)
    sheets = [
        Sheet(
            f"release {one.number}",
            one.counts.get("suppressed", 0),
            about={"created": one.created, "strategy": one.strategy, "settings": one.settings, "steps": one.steps},
        )
        for one in series.releases
    ]
    about = {"name": Path(series.path).name, "kind": "series", **_policy(series.strategy)}
    return _Case(observed, coding, sheets, identities, about, (), names, look or Here(observed), insensitive)


class Naming(Protocol):
    """Who has which subject number."""

    def name(self, number: int) -> str: ...

    def of(self, identifiers: Sequence[str]) -> Int64: ...


@dataclass(frozen=True, eq=False)
class _Case:
    """A series ready to be attacked, wherever it comes from."""

    observed: Observed
    coding: Coding
    sheets: Sequence[Sheet]
    identities: Naming
    about: Mapping[str, object]
    notes: Sequence[str]
    names_shown: bool
    look: Look
    insensitive: Columns


def _audited(
    case: _Case,
    strategy: Strategy | None,
    chosen: Sequence[str],
    given: Mapping[str, object],
    risk_threshold: float,
    say: Callable[[str], None],
    runner: Runner = on_whole,
) -> Audit:
    if not 0 < risk_threshold <= 1:
        raise SettingsError(f"risk_threshold is {risk_threshold}; it is a chance, above 0 and at most 1.")
    promised = dict(strategy.thresholds()) if strategy is not None else {}
    names = CodingNames(case.coding, case.identities.of)
    checked = run_attacks(case.observed, chosen, promised, given, case.look, names, say, runner)
    case.look.settle(places(finding for one in checked if one.outcome for finding in one.outcome.findings))
    k = given.get("k", promised.get("k", 2))
    few = int(k) if isinstance(k, int | float) else 2
    return Audit(
        observed=case.observed,
        coding=case.coding,
        checked=checked,
        sheets=case.sheets,
        look=case.look,
        traceable=traceable(case.insensitive, case.coding.schema.identifier, few),
        thresholds={**promised, **given},
        thresholds_from="given" if given else "policy" if promised else "defaults",
        about=case.about,
        notes=case.notes,
        names_shown=case.names_shown,
        risk_threshold=risk_threshold,
    )


def _policy(strategy: Strategy | None) -> dict[str, object]:
    if strategy is None:
        return {"strategy": None, "settings": {}}
    settings = policy_of(strategy)
    private = getattr(strategy, "private_settings", ())
    name = settings.pop("strategy")
    plain = {key: value for key, value in settings.items() if key not in private}
    return {"strategy": name, "settings": {k: v for k, v in plain.items() if isinstance(v, str | int | float | bool)}}


def strategy_of_config(policy: Mapping[str, object]) -> Strategy | None:
    """The strategy of a config's policy section; None if it has none."""
    from reissue.series.settings import strategy_from

    settings = {key: value for key, value in policy.items() if key != "on_change"}
    return strategy_from(settings) if settings else None
