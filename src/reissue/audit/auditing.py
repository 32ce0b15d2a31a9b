"""`reissue.audit` and `Series.audit`: every attack that applies, and what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int64
from reissue.audit.attacks import Checked, check_given, chosen_names, run_attacks
from reissue.audit.description import Here, Look
from reissue.audit.document import places
from reissue.audit.foreign.series import Sheet, gather
from reissue.audit.parallel import Runner, on_whole
from reissue.audit.result import Audit
from reissue.audit.row_linkage import Columns, ReadColumns, public_table, traceable
from reissue.audit.spark.portion import ReadReleases
from reissue.audit.standing import StandingLook, refuse_styles, standing_notes
from reissue.audit.words import AuditWords
from reissue.coding import Coding, CodingNames
from reissue.engine.settings import check_engine
from reissue.errors import SeriesError, SettingsError
from reissue.history.identities import Identities
from reissue.history.past_releases import PastReleases
from reissue.methods.registry import ADOPTED, policy_of, strategy_class
from reissue.methods.strategy import Strategy
from reissue.model.observed import Observed
from reissue.model.observed import ObservedRelease as ObservedRelease
from reissue.model.release import Facts
from reissue.model.standing_view import EpisodeWords, observe_classes
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.engine.read import Source
    from reissue.series.series import Series

ARX_RISK = 0.2
"""ARX counts a record as at risk above this chance of re-identification."""


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
        refusal=refuse_styles([str(sheet.about.get("style")) for sheet in gathered.sheets]),
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
    asked = {**series.engine, "name": engine} if engine else series.engine
    settings = check_engine({"name": "embedded"} if runner and not engine else asked)
    public = [one.path for one in series.releases]
    standing = any(record.strategy != ADOPTED and strategy_class(record.strategy).stands for record in ledger.releases)
    if settings["name"] == "embedded" or standing:  # classes for life are followed here, whoever made them
        say("read")
        past = PastReleases(ledger, coding)
        releases = [ObservedRelease.of(facts) for facts in past]
        insensitive = ReadColumns.of(public, coding.schema.insensitive)
        case = _of_series(series, names, Identities.read(ledger), releases, insensitive)
        case = knowing_classes(case, past) if standing else case
        return _audited(case, series.strategy, chosen, thresholds, risk_threshold, say, runner or on_whole)
    if runner:
        raise SettingsError("Spark runs the attacks in its own way: give either a runner or the engine 'spark'.")
    from reissue.audit.spark.auditing import SparkAttacks

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
    notes = _unseen(series, coding.schema)
    return _Case(observed, coding, sheets, identities, about, notes, names, look or Here(observed), insensitive)


def _unseen(series: Series, schema: Schema) -> list[str]:
    """What is not known because public files are gone: the ledger keeps no insensitive columns."""
    gone = [str(one.number) for one in series.releases if schema.insensitive and public_table(one.path) is None]
    if not gone:
        return []
    many = f"releases {', '.join(gone)}" if len(gone) > 1 else f"release {gone[0]}"
    return [
        f"The published files of {many} are missing, so that no row could be traced by its insensitive columns "
        "there. Restore them from a backup of the series."
    ]


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
    attacked: Observed | None = None
    refusal: str | None = None


def knowing_classes(case: _Case, past: Sequence[Facts]) -> _Case:
    """The case with what attackers are taken to know of standing classes: who is in which, for life."""
    releases = [*observe_classes(past, case.observed.domains)]
    attacked = replace(case.observed, releases=releases, words=EpisodeWords(case.observed.words))
    look = StandingLook(case.observed, attacked)
    return replace(case, attacked=attacked, look=look, notes=[*case.notes, *standing_notes(past, look)])


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
    attacked = case.attacked or case.observed
    checked = run_attacks(attacked, chosen, promised, given, case.look, names, say, runner, case.refusal)
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
        notes=[*case.notes, *_unlimited({**promised, **given}, chosen), *_unpromised(case, strategy, checked)],
        names_shown=case.names_shown,
        risk_threshold=risk_threshold,
    )


def _unlimited(thresholds: Mapping[str, object], chosen: Sequence[str]) -> list[str]:
    """That c = 1 lets an attacker be certain must not be read as "nobody can be": held means held against it."""
    if thresholds.get("c") != 1 or "intersection" not in chosen:
        return []
    return [
        "c is 1, so that attackers may be certain of a person's value: give a lower one (c=0.5) to find whose is told."
    ]


def _unpromised(case: _Case, strategy: Strategy | None, checked: Sequence[Checked]) -> list[str]:
    """Which of the attacks that succeed the strategy of a series never promised to stop, and which strategies do."""
    promised = () if strategy is None else (*strategy.stops, *strategy.withstands)
    if strategy is None or not promised or case.about["kind"] != "series":
        return []
    left = [one.name for one in checked if one.status == "breached" and one.name not in promised]
    if not left:
        return []
    return [
        f"{strategy.name} promises to stop {' and '.join(promised)}. It does not promise to stop "
        f"{', '.join(map(with_remedy, left))}."
    ]


def with_remedy(attack: str) -> str:
    """The attack, with the strategies that promise to stop it."""
    from reissue.methods.registry import STRATEGIES

    kinds = {name: strategy_class(name) for name in STRATEGIES}
    made_for = [name for name, kind in kinds.items() if attack in (*kind.stops, *kind.withstands)]
    return f"{attack} ({' and '.join(made_for)} {'does' if len(made_for) == 1 else 'do'})" if made_for else attack


def _policy(strategy: Strategy | None) -> dict[str, object]:
    if strategy is None:
        return {"strategy": None, "settings": {}}
    settings = policy_of(strategy)
    name = settings.pop("strategy")
    plain = {key: value for key, value in settings.items() if key not in strategy.private_settings}
    return {"strategy": name, "settings": {k: v for k, v in plain.items() if isinstance(v, str | int | float | bool)}}


def strategy_of_config(policy: Mapping[str, object]) -> Strategy | None:
    """The strategy of a config's policy section; None if it has none."""
    from reissue.methods.registry import strategy_from

    settings = {key: value for key, value in policy.items() if key != "on_change"}
    return strategy_from(settings) if settings else None
