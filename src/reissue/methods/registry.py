"""Strategies and attacks by the names that configs and the command line give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib import import_module
from typing import cast

import numpy as np

from reissue.errors import SettingsError, did_you_mean
from reissue.methods.attack import Attack
from reissue.methods.strategy import Strategy
from reissue.model.settings import refuse_booleans

# name in the config -> where the strategy lives
STRATEGIES = {
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
}

ADOPTED = "adopted"
"""The strategy on record of releases that another tool made. It makes none itself."""


def strategy_class(name: str) -> type[Strategy]:
    """The strategy of that name; a SettingsError with the near misses if there is none."""
    if name not in STRATEGIES:
        hint = did_you_mean(name, STRATEGIES)
        raise SettingsError(f"There is no strategy '{name}'.{hint} Strategies are: {', '.join(STRATEGIES)}.")
    module, attribute = STRATEGIES[name].split(":")
    return cast("type[Strategy]", getattr(import_module(module), attribute))


def strategy_from(policy: Mapping[str, object]) -> Strategy:
    """The strategy of a `[policy]` section: its name under `strategy`, every other key a setting."""
    settings = dict(policy)
    name = settings.pop("strategy", None)
    if not isinstance(name, str):
        raise SettingsError('The [policy] section must name its strategy, for example: strategy = "static".')
    chosen = strategy_class(name)
    known = {field.name for field in fields(chosen)}
    unknown = sorted(set(settings) - known)
    if unknown:
        hint = did_you_mean(unknown[0], known)
        raise SettingsError(
            f"'{name}' has no setting '{unknown[0]}'.{hint} Its settings are: {', '.join(sorted(known))}."
        )
    refuse_booleans(chosen, settings)
    refuse_unknown_knowledge(settings.get("knowledge"))
    return _validated(chosen, name, settings)


def refuse_unknown_knowledge(given: object) -> None:
    """A misspelt key of the table `knowledge` must not be skipped: the file it names would not be read."""
    if not isinstance(given, Mapping):
        return
    from reissue.methods.beliefs.knowledge import Knowledge

    known = [field.name for field in fields(Knowledge)]
    for key in given:
        if key not in known:
            raise SettingsError(f"knowledge has no setting '{key}'. Its settings are: {', '.join(known)}.")


def strategy_of(name: str, settings: Mapping[str, object]) -> Strategy:
    """The strategy of a release in the ledger: its settings were validated when it was published."""
    if any(isinstance(value, Mapping) for value in settings.values()):
        return _validated(strategy_class(name), name, dict(settings))
    return strategy_class(name)(**{key: _frozen(value) for key, value in settings.items()})


def _frozen(value: object) -> object:
    """Lists as JSON gives them back, as the tuples they were."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _validated(chosen: type[Strategy], name: str, settings: dict[str, object]) -> Strategy:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(chosen).validate_python(settings)
    except ValidationError as error:
        raise SettingsError(" ".join(_told(dict(problem), name) for problem in error.errors())) from error


def _told(problem: Mapping[str, object], name: str) -> str:
    """One problem in our words: the setting, what was received, what is allowed."""
    key, kind = ".".join(str(part) for part in cast("tuple[object, ...]", problem["loc"])), str(problem["type"])
    if kind == "missing":
        return f"'{name}' needs the setting '{key}'."
    if kind == "value_error":  # said by the strategy itself
        return str(problem["msg"]).removeprefix("Value error, ")
    start = f"{key or name} is {problem['input']!r}; "
    if kind == "literal_error":
        return start + f"choose {cast('Mapping[str, str]', problem['ctx'])['expected']}."
    if kind.startswith("int_"):
        return start + "it must be a whole number."
    if kind.startswith("float_"):
        return start + "it must be a number."
    if kind.startswith("bool_"):
        return start + "it must be true or false."
    return start + f"it does not fit ({problem['msg']})."


def policy_of(strategy: Strategy) -> dict[str, object]:
    """The `[policy]` section that `strategy_from` turns back into this strategy."""
    settings = asdict(strategy)
    return {"strategy": strategy.name, **{key: _plain(value) for key, value in settings.items()}}


def _plain(value: object) -> object:
    """A number of NumPy's as one of Python's, which a ledger can keep."""
    return value.item() if isinstance(value, np.generic) else value


def attack_class(name: str) -> type[Attack]:
    """The attack of that name."""
    if name not in ATTACKS:
        hint = did_you_mean(name, ATTACKS)
        raise SettingsError(f"There is no attack '{name}'.{hint} Attacks are: {', '.join(ATTACKS)}.")
    module, attribute = ATTACKS[name].split(":")
    return cast("type[Attack]", getattr(import_module(module), attribute))


def attack_from(name: str, thresholds: Mapping[str, object]) -> Attack:
    """The attack of that name, measuring against those thresholds that it knows."""
    chosen = attack_class(name)
    known = {field.name for field in fields(chosen)}
    return chosen(**{key: value for key, value in thresholds.items() if key in known})  # type: ignore[arg-type]
