"""Strategies and attacks by the names that configs and the command line give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib import import_module
from typing import TYPE_CHECKING, cast

import numpy as np

from reissue.errors import SettingsError, did_you_mean
from reissue.methods.attack import Attack
from reissue.methods.strategy import Strategy
from reissue.model.settings import as_declared, missing_settings

if TYPE_CHECKING:
    from reissue.methods.beliefs.knowledge import Knowledge

# name in the config -> where the strategy lives
STRATEGIES = {
    "standing": "reissue.methods.standing.strategy:Standing",
    "static": "reissue.methods.baselines.static:Static",
    "merge": "reissue.methods.baselines.merge:Merge",
    "bcf": "reissue.methods.bcf.strategy:BCF",
    "m-invariance": "reissue.methods.invariance.strategy:MInvariance",
    "e-equivalence": "reissue.methods.equivalence.strategy:EEquivalence",
    "cor-split": "reissue.methods.correlation.strategy:CorSplit",
    "bay-frame": "reissue.methods.beliefs.bay_frame:BayFrame",
    "js-reduce": "reissue.methods.beliefs.js_reduce:JSReduce",
    "checked-mondrian": "reissue.methods.incremental.checked_mondrian:CheckedMondrian",
    "checked-incognito": "reissue.methods.incremental.checked_incognito:CheckedIncognito",
}

# name on the command line -> where the attack lives
ATTACKS = {
    "intersection": "reissue.methods.incremental.intersection_attack:Intersection",
    "difference": "reissue.methods.incremental.difference_attack:Difference",
    "record-tracing": "reissue.methods.incremental.tracing_attack:RecordTracing",
    "correspondence": "reissue.methods.bcf.attack:Correspondence",
    "association": "reissue.methods.invariance.attack:Association",
    "equivalence": "reissue.methods.equivalence.attack:Equivalence",
    "historical-correlation": "reissue.methods.correlation.attack:HistoricalCorrelation",
    "background-knowledge": "reissue.methods.beliefs.attack:BackgroundKnowledge",
    "possible-worlds": "reissue.methods.worlds.attack:PossibleWorlds",
    "learning": "reissue.methods.learning.attack:Learning",
    "known-algorithm": "reissue.methods.invariance.known_algorithm_attack:KnownAlgorithm",
}

ADOPTED = "adopted"
"""The strategy on record of releases that another tool made. It makes none itself."""


def find_strategy(name: str) -> type[Strategy]:
    """The strategy of that name; a SettingsError with the near misses if there is none."""
    return cast("type[Strategy]", _import(STRATEGIES, "strategy", "Strategies", name))


def _import(homes: Mapping[str, str], one: str, many: str, name: str) -> object:
    if name not in homes:
        hint = did_you_mean(name, homes)
        raise SettingsError(f"There is no {one} '{name}'.{hint} {many} are: {', '.join(homes)}.")
    module, attribute = homes[name].split(":")
    return getattr(import_module(module), attribute)


def make_strategy(policy: Mapping[str, object]) -> Strategy:
    """The strategy of a `[policy]` section: its name under `strategy`, every other key a setting."""
    settings = dict(policy)
    name = settings.pop("strategy", None)
    if not isinstance(name, str):
        raise SettingsError('The [policy] section must name its strategy, for example: strategy = "static".')
    chosen = find_strategy(name)
    known = {field.name for field in fields(chosen)}
    unknown = sorted(set(settings) - known)
    missing = missing_settings(chosen, settings)
    if unknown:
        hint = did_you_mean(unknown[0], known)
        raise SettingsError(
            f"'{name}' has no setting '{unknown[0]}'.{hint} Its settings are: {', '.join(sorted(known))}."
        )
    if missing:
        raise SettingsError(" ".join(f"'{name}' needs the setting '{key}'." for key in missing))
    return restore_strategy(name, settings)


def restore_strategy(name: str, settings: Mapping[str, object]) -> Strategy:
    """The strategy with these settings, as a config or a ledger gives them."""
    chosen = find_strategy(name)
    made = as_declared(chosen, settings)
    if isinstance(made.get("knowledge"), Mapping):
        made["knowledge"] = make_knowledge(cast("Mapping[str, object]", made["knowledge"]))
    return chosen(**made)


def make_knowledge(given: Mapping[str, object]) -> Knowledge:
    """The table `knowledge`. A misspelt key must not be skipped: the file it names would not be read."""
    from reissue.methods.beliefs.knowledge import Knowledge

    known = [field.name for field in fields(Knowledge)]
    for key in given:
        if key not in known:
            raise SettingsError(f"knowledge has no setting '{key}'. Its settings are: {', '.join(known)}.")
    try:
        return Knowledge(**as_declared(Knowledge, given))  # type: ignore[arg-type]
    except SettingsError as error:
        raise SettingsError(f"knowledge.{error}") from None


def write_policy(strategy: Strategy) -> dict[str, object]:
    """The `[policy]` section that `make_strategy` turns back into this strategy."""
    settings = asdict(strategy)
    return {"strategy": strategy.name, **{key: _to_plain(value) for key, value in settings.items()}}


def _to_plain(value: object) -> object:
    """A number of NumPy's as one of Python's, which a ledger can keep."""
    return value.item() if isinstance(value, np.generic) else value


def find_attack(name: str) -> type[Attack]:
    """The attack of that name."""
    return cast("type[Attack]", _import(ATTACKS, "attack", "Attacks", name))


def make_attack(name: str, thresholds: Mapping[str, object]) -> Attack:
    """The attack of that name, measuring against those thresholds that it knows."""
    chosen = find_attack(name)
    known = {field.name for field in fields(chosen)}
    return chosen(**{key: value for key, value in thresholds.items() if key in known})  # type: ignore[arg-type]
