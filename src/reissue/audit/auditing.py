"""`reissue.audit` and `Series.audit`: every attack that applies, and what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import pyarrow as pa

from reissue.arguments import check_arguments
from reissue.arrays.types import Int64
from reissue.audit.attacks import check_given, check_pairs, choose_attacks, read_risk, run_attacks
from reissue.audit.description import ReleaseNotes, SeriesView, WholeSeries, Workers
from reissue.audit.document import list_classes
from reissue.audit.foreign.series import read_series
from reissue.audit.result import (
    Audit,
    find_absences,
    find_folders,
    hash_source,
    note_erased,
    note_missing_files,
    read_left_out,
)
from reissue.audit.row_linkage import Columns, ReadColumns, find_traceable
from reissue.audit.standing import StandingView, describe_standing, refuse_styles
from reissue.coding import Coding, CodingNames, CodingWords
from reissue.errors import SeriesError
from reissue.history.past_releases import Identities, PastReleases, UnseenRelease, read_releases
from reissue.ledger import Ledger, ReleaseRecord
from reissue.ledger.records import Layout
from reissue.methods.attack import Attack, Outcome
from reissue.methods.registry import ADOPTED, find_strategy, write_policy
from reissue.methods.strategy import Strategy
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Facts
from reissue.model.standing_view import EpisodeWords, observe_classes
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.engine.read import Source


@check_arguments
def audit(
    releases: Sequence[Source],
    schema: Schema,
    snapshots: Sequence[Source] | None = None,
    *,
    match: str = "order",
    attacks: Sequence[str] | None = None,
    strategy: Strategy | None = None,
    names: bool = True,
    risk_threshold: float | str = "arx",
    rates: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
    **thresholds: object,
) -> Audit:
    """Attack releases made with any tool.

    releases: CSV or Parquet files, frames of labels, or release folders of ours, oldest first. snapshots: the raw
    table of each; without them only attacks run that need no members. match: how rows of a release and its snapshot
    belong together, "order" or "content". strategy: whose promises are measured against; thresholds (k=5, c=0.5, m=3,
    seconds=5, ...) win over them. names: whether people appear by identifier. risk_threshold: the chance of
    re-identification above which a row of a single release counts as at risk, or whose limit it is: "ema" or "arx".
    rates: pairs of quasi-identifiers such as "age x sex" by which the report shows how far off rates are; without them
    a pair is chosen.
    """
    say = progress or (lambda stage: None)
    chosen = choose_attacks(attacks)
    check_given(chosen, thresholds)
    foreign = read_series(releases, schema, snapshots, match, names, say)
    many = f"{len(releases)} releases" if len(releases) > 1 else "1 release"
    case = AuditInput(
        observed=foreign.observed,
        coding=foreign.coding,
        release_notes=[
            replace(one, files=hash_source(source)) for one, source in zip(foreign.release_notes, releases, strict=True)
        ],
        identities=Identities(pa.array(foreign.identifiers, pa.string()), np.arange(len(foreign.identifiers))),
        about={"name": many, "kind": "releases", "config": None, **_describe_policy(strategy)},
        notes=foreign.notes,
        names_shown=names,
        view=SeriesView([WholeSeries(foreign.observed)], Workers()),
        insensitive=ReadColumns([one.insensitive for one in foreign.release_notes]),
        run=lambda attack: attack.run(foreign.observed),
        refusal=refuse_styles([str(one.about.get("style")) for one in foreign.release_notes]),
        rates=check_pairs(rates, foreign.coding.attributes),
    )
    return _attack_all(case, strategy, chosen, thresholds, risk_threshold, say)


def audit_series(
    ledger: Ledger,
    coding: Coding,
    strategy: Strategy,
    engine: Mapping[str, object],
    *,
    attacks: Sequence[str] | None = None,
    names: bool = True,
    risk_threshold: float | str = "arx",
    progress: Callable[[str], None] | None = None,
    unseen: UnseenRelease | None = None,
    **thresholds: object,
) -> Audit:
    """Attack a series of ours: its ledger knows who is in which class. See `audit` for the other arguments.

    engine: the settings of where attacks run that can be divided; unseen: the next release, as if it were published
    """
    if not ledger.releases and unseen is None:
        raise SeriesError("Nothing has been published yet, so there is nothing to audit.")
    say = progress or (lambda stage: None)
    chosen = choose_attacks(attacks)
    check_given(chosen, thresholds)
    records = [*ledger.releases, *([] if unseen is None else [unseen.record])]
    standing = any(record.strategy != ADOPTED and find_strategy(record.strategy).stands for record in records)
    if engine["name"] == "embedded" or standing:  # classes for life are followed here, whoever made them
        say("read")
        past = [*PastReleases(ledger, coding), *([] if unseen is None else [unseen.facts])]
        case = _read_whole(ledger, coding, strategy, past, names, unseen)
        case = _know_classes(case, past) if standing else case
        return _attack_all(case, strategy, chosen, thresholds, risk_threshold, say)
    from reissue.audit.spark.auditing import SparkAttacks

    say("start")
    with SparkAttacks.on(ledger, coding, engine, names) as spark:
        say("read")
        observed = _observe(coding, read_releases(ledger.shelf, coding), spark.names if names else None, records)
        columns = spark.insensitive(find_folders(ledger))
        case = _assemble(
            ledger, records, coding, strategy, observed, spark.names, names, spark.view, columns, spark.run
        )
        return _attack_all(case, strategy, chosen, thresholds, risk_threshold, say)


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditInput:
    """A series ready to be attacked, wherever it comes from.

    run: how one attack runs on it; refusal: why none of them applies, if that is so
    rates: the pairs of attributes by which rates are measured
    """

    observed: Observed
    coding: Coding
    release_notes: Sequence[ReleaseNotes]
    identities: Naming
    about: Mapping[str, object]
    notes: Sequence[str]
    names_shown: bool
    view: SeriesView
    insensitive: Columns | None
    run: Callable[[Attack], Outcome]
    refusal: str | None = None
    rates: Sequence[str] = ()


class Naming(Protocol):
    """Who has which subject number."""

    def name(self, number: int) -> str: ...

    def of(self, identifiers: Sequence[str]) -> Int64: ...


def _read_whole(
    ledger: Ledger,
    coding: Coding,
    strategy: Strategy,
    past: Sequence[Facts],
    names: bool,
    unseen: UnseenRelease | None,
) -> AuditInput:
    """A series of ours, read into this process."""
    releases = [ObservedRelease.of(facts) for facts in past]
    records, wanted = ledger.releases, coding.schema.insensitive
    columns = ReadColumns.of(find_folders(ledger), wanted) if wanted else None
    identities = Identities.read(ledger)
    if unseen is not None:
        records = [*records, unseen.record]
        identities = identities.including(unseen.identifiers, unseen.numbers)
        columns = None if columns is None else columns.followed_by(unseen.columns)
    observed = _observe(coding, releases, identities if names else None, records)
    view = SeriesView([WholeSeries(observed)], Workers())
    return _assemble(
        ledger, records, coding, strategy, observed, identities, names, view, columns, lambda a: a.run(observed)
    )


def _know_classes(case: AuditInput, past: Sequence[Facts]) -> AuditInput:
    """The case with what attackers are taken to know of standing classes: who is in which, for life."""
    releases = [*observe_classes(past, case.observed.domains)]
    attacked = replace(case.observed, releases=releases, words=EpisodeWords(case.observed.words), standing=True)
    view = StandingView(case.observed, attacked)
    notes = [*case.notes, *describe_standing(past, view)]
    return replace(case, view=view, notes=notes, run=lambda attack: attack.run(attacked))


def _assemble(
    ledger: Ledger,
    records: Sequence[ReleaseRecord],
    coding: Coding,
    strategy: Strategy,
    observed: Observed,
    identities: Naming,
    names: bool,
    view: SeriesView,
    columns: Columns | None,
    run: Callable[[Attack], Outcome],
) -> AuditInput:
    asked = ledger.meta.get("utility", {})
    return AuditInput(
        observed=observed,
        coding=coding,
        release_notes=[
            ReleaseNotes(
                observed.words.release(one.number),
                int(str(cast("Mapping[str, object]", one.counts["rows"]).get("suppressed", 0))),
                one.number,
                one.label,
                read_left_out(one),
                {file.name: file.sha256 for file in one.files},
                about={"created": one.created, "strategy": one.strategy, "settings": one.settings, "steps": one.steps},
            )
            for one in records
        ],
        identities=identities,
        about={
            "name": ledger.path.name,
            "kind": "series",
            "config": {"name": Layout(ledger.path).config.name, "sha256": ledger.shelf.state.config_sha256},
            **_describe_policy(strategy),
        },
        notes=[*note_missing_files(ledger, coding.schema), *note_erased(ledger), *strategy.audit_notes()],
        names_shown=names,
        view=view,
        insensitive=columns,
        run=run,
        rates=check_pairs(cast("Mapping[str, Sequence[str]]", asked).get("rates", ()), coding.attributes),
    )


def _observe(
    coding: Coding, releases: Sequence[ObservedRelease], identities: Naming | None, records: Sequence[ReleaseRecord]
) -> Observed:
    labels = {one.number: one.label for one in records if one.label is not None}
    words = CodingWords(coding, "subject {}".format if identities is None else identities.name, labels)
    return Observed(releases, coding.domains, len(coding.values), words)


def _attack_all(
    case: AuditInput,
    strategy: Strategy | None,
    chosen: Sequence[str],
    given: Mapping[str, object],
    risk_threshold: float | str,
    say: Callable[[str], None],
) -> Audit:
    promised = dict(strategy.thresholds()) if strategy is not None else {}
    if strategy is not None and "compromised" not in given:  # who names the compromised people does not have them drawn
        promised |= strategy.measured_thresholds()
    names = CodingNames(case.coding, case.identities.of)
    results = run_attacks(chosen, promised, given, case.view, names, say, case.run, case.refusal)
    found = [finding for one in results if one.outcome for finding in one.outcome.findings]
    pairs = None if case.refusal else case.rates
    case.view.settle(lambda: list_classes(found), len(case.coding.values), pairs)
    k = given.get("k", promised.get("k", 2))
    few, columns = int(k) if isinstance(k, int | float) else 2, case.insensitive
    numbers = [one.number or place for place, one in enumerate(case.release_notes, start=1)]
    called = [(number, case.observed.words.release(number)) for number in numbers]
    limit = given.get("c", promised.get("c", 0.5))
    absences = find_absences(case.release_notes, called, case.coding, float(str(limit)))
    return Audit(
        observed=case.observed,
        coding=case.coding,
        checked=results,
        release_notes=case.release_notes,
        view=case.view,
        traceable=[] if columns is None else find_traceable(columns, case.coding.schema.identifier, few, called),
        thresholds={**promised, **given},
        thresholds_from="given" if given else "policy" if promised else "defaults",
        about=case.about,
        absences=absences,
        find_numbers=case.identities.list_numbers if isinstance(case.identities, Identities) else None,
        notes=[
            *case.notes,
            *(one.sentence for one in absences),
            *_note_no_limit({**promised, **given}, chosen),
        ],
        names_shown=case.names_shown,
        risk_threshold=read_risk(risk_threshold),
        promised=() if strategy is None else strategy.promised,
        policy=promised,
        pairs=pairs,
    )


def _note_no_limit(thresholds: Mapping[str, object], chosen: Sequence[str]) -> list[str]:
    """That c = 1 lets an attacker be certain must not be read as "nobody can be": held means held against it."""
    if thresholds.get("c") != 1 or "intersection" not in chosen:
        return []
    return [
        "c is 1, so that attackers may be certain of a person's value: give a lower one (c=0.5) to see whose is known."
    ]


def _describe_policy(strategy: Strategy | None) -> dict[str, object]:
    if strategy is None:
        return {"strategy": None, "settings": {}}
    settings = write_policy(strategy)
    name = settings.pop("strategy")
    plain = {key: value for key, value in settings.items() if key not in strategy.private_settings}
    return {"strategy": name, "settings": {k: v for k, v in plain.items() if isinstance(v, str | int | float | bool)}}


def read_strategy(policy: Mapping[str, object]) -> Strategy | None:
    """The strategy of a config's policy section; None if it has none."""
    from reissue.methods.registry import make_strategy

    settings = {key: value for key, value in policy.items() if key != "on_change"}
    return make_strategy(settings) if settings else None
