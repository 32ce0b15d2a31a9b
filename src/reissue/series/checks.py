"""The self-check of publish: is the finished release what the strategy promises? Written apart from every strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import NoReturn, cast

import numpy as np

from reissue.attacks.base import Attack
from reissue.core.asked import Asked
from reissue.core.boxes import contain, snap
from reissue.core.domain import Int64
from reissue.core.observed import Listing, Observed, Release, Words
from reissue.core.snapshot import Coded, Facts, History
from reissue.core.whole import Whole
from reissue.errors import GuaranteeBroken, SettingsError, did_you_mean
from reissue.strategies.base import Strategy

# name on the command line -> where the attack lives
ATTACKS = {
    "intersection": "reissue.attacks.intersection:Intersection",
    "difference": "reissue.attacks.difference:Difference",
    "record-tracing": "reissue.attacks.record_tracing:RecordTracing",
    "correspondence": "reissue.attacks.correspondence:Correspondence",
    "association": "reissue.attacks.association:Association",
    "equivalence": "reissue.attacks.equivalence:Equivalence",
    "historical-correlation": "reissue.attacks.historical_correlation:HistoricalCorrelation",
    "background-knowledge": "reissue.attacks.background_knowledge:BackgroundKnowledge",
    "possible-worlds": "reissue.attacks.possible_worlds:PossibleWorlds",
}


def attack_class(name: str) -> type[Attack]:
    """The attack of that name."""
    if name not in ATTACKS:
        hint = did_you_mean(name, ATTACKS)
        raise SettingsError(f"There is no attack '{name}'.{hint} Attacks are: {', '.join(ATTACKS)}.")
    module, attribute = ATTACKS[name].split(":")
    return cast("type[Attack]", getattr(import_module(module), attribute))


def attack_from(name: str, thresholds: Mapping[str, float]) -> Attack:
    """The attack of that name, measuring against those thresholds that it knows."""
    chosen = attack_class(name)
    known = {field.name for field in fields(chosen)}  # type: ignore[arg-type]
    return chosen(**{key: value for key, value in thresholds.items() if key in known})


def check_rows(facts: Facts, snapshot: Coded, suppressed: int, common: bool = False) -> None:
    """Every row in exactly one class, inside its box, its value unchanged; boxes are taxonomy nodes; none is empty.

    common: whether the classes are those of all fragments, so that this one need not have rows in each.
    """
    real = slice(int(np.searchsorted(facts.subjects, 0)), None)  # counterfeits come first
    people = len(facts.subjects[real])
    if people + suppressed != len(snapshot):
        broken(f"{len(snapshot):,} rows came in, {people:,} would go out and {suppressed:,} are suppressed")
    source = _source_rows(facts.subjects[real], snapshot.subjects)
    if source is None or (np.diff(facts.subjects) <= 0).any():
        broken("a subject would be published twice, or one who is not in the snapshot")
    if not np.array_equal(snapshot.values[source], facts.values[real]):
        broken("a sensitive value would be altered")
    if any(not np.array_equal(snapshot.codes[source, a], facts.codes[real, a]) for a in range(facts.codes.shape[1])):
        broken("a quasi-identifier would be altered")
    if len(facts.classes) and (facts.classes.min() < 0 or facts.classes.max() >= facts.class_count):
        broken("a row lies in no class")
    if not contain(facts.boxes, facts.codes, facts.classes).all():
        broken("a row lies outside the box of its class")
    if not common and (np.bincount(facts.classes, minlength=facts.class_count) == 0).any():
        broken("a class is empty")
    if not np.array_equal(snap(facts.boxes, snapshot.domains), facts.boxes):
        broken("a box is not a node of its hierarchy")


def _source_rows(subjects: Int64, snapshot: Int64) -> Int64 | slice | None:
    """Where each subject stands in the snapshot; None if one does not."""
    if np.array_equal(subjects, snapshot):
        return slice(None)
    order = np.argsort(snapshot, kind="stable")
    where = np.searchsorted(snapshot, subjects, sorter=order)
    source = order[np.minimum(where, len(order) - 1)] if len(order) else where
    return source if np.array_equal(snapshot[source], subjects) else None


def check_classes(strategy: Strategy, facts: Facts, snapshot: Coded, whole: Whole | None = None) -> None:
    """Every class meets the strategy's own requirement on its value counts, if it states one.

    whole: where the facts are of one fragment, what classes are compared with.
    """
    requirement = getattr(strategy, "requirement", None)
    if requirement is None:
        return
    from reissue.core.requirements import distribution
    from reissue.core.violations import violations

    values = snapshot.value_count
    table = distribution(whole.values(values)) if whole is not None and requirement.needs_table else None
    for found in violations(requirement, facts.classes, facts.values, values, table):
        broken(f"{found.classes:,} classes break {found.condition} ({found.measured:g} against {found.limit:g})")


def check_promise(strategy: Strategy, facts: Facts, history: History) -> None:
    """The strategy's own independent test, if it has one."""
    check = getattr(strategy, "check", None)
    reason = check(facts, history) if check is not None else None
    if reason:
        broken(reason)


def check_attacks(strategy: Strategy, facts: Facts, history: History, snapshot: Coded, words: Words) -> list[str]:
    """Run the attacks that the strategy claims to stop; only what the new release adds is looked at."""
    if not strategy.stops:
        return []
    releases = _Observing(history.releases, facts)
    observed = Observed(releases, snapshot.domains, snapshot.value_count, words, history.first_new)
    passed = []
    for name in strategy.stops:
        outcome = attack_from(name, strategy.thresholds()).run(observed, involving=facts.number)
        if outcome.breaches:
            broken(f"the {name} attack would succeed. {outcome.breaches[0].sentence}")
        passed.append(name)
    return passed


class _Observing(Asked[Release]):
    """Past and new facts as outsiders see them, each turned when first asked for."""

    def __init__(self, past: Sequence[Facts], new: Facts) -> None:
        self._past, self._new = past, new
        self._seen: dict[int, Release] = {}

    def __len__(self) -> int:
        return self._new.number

    def at(self, position: int) -> Release:
        if position not in self._seen:
            facts = self._new if position == len(self) - 1 else self._past[position]
            self._seen[position] = Release.of(facts)
        return self._seen[position]

    def subjects(self, position: int) -> Int64:
        """As `core.observed.Listing`."""
        if position == len(self) - 1:
            return self._new.subjects
        return self._past.subjects(position) if isinstance(self._past, Listing) else self._past[position].subjects


def broken(reason: str) -> NoReturn:
    """Refuse the release."""
    raise GuaranteeBroken(
        f"The finished release failed its own check: {reason}. Nothing was published. This is a fault in Reissue, not "
        "in your data: please report it with the output of `reissue log`."
    )
