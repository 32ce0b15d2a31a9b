"""Which strategies fit a table, with which settings they are compared, and against what they are all measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import ceil

from reissue.errors import ReissueError, SettingsError, did_you_mean
from reissue.methods.registry import STRATEGIES, find_strategy, make_strategy, write_policy
from reissue.methods.strategy import Changes, Strategy

CHANGES = {
    "once": "Nothing: there will be one release only.",
    "grows": "People are only added; nothing about them changes.",
    "moves": "People join, leave and return; a person's sensitive value stays.",
    "anything": "Anything: sensitive values change, too.",
}
"""What changes between snapshots, by a short name."""

KNOWS = {
    "arrival": ("One person's traits, and when the person arrived", ("correspondence",)),
    "traits": ("Everybody's traits, so who is in which class", ("intersection", "difference", "record-tracing")),
    "classes": ("and compares the values that classes show over time", ("association",)),
    "equals": ("and concludes who has the same value as whom", ("equivalence",)),
    "values": ("and the values of some people", ("historical-correlation",)),
    "worlds": ("and reasons about everybody at once", ("possible-worlds",)),
}
"""What the attacker knows, in words, and the attacks that it makes possible."""


def list_fitting(changes: str, knows: Sequence[str]) -> list[str]:
    """Strategies that can protect such a table and promise to stop all of these attackers; the recommended one first.

    Strategies that promise nothing across releases fit only where there is one.
    """
    if changes not in CHANGES or not set(knows) <= set(KNOWS):
        raise SettingsError(f"Choose what changes: {', '.join(CHANGES)}; and what is known: {', '.join(KNOWS)}.")
    attacks = {attack for one in knows for attack in KNOWS[one][1]}
    fitting = []
    for name in STRATEGIES:
        strategy = find_strategy(name)
        promises = attacks <= set(strategy.stops) and (strategy.stops or changes == "once")
        if promises and _supports(strategy.supports, changes):
            fitting.append(name)
    return fitting


def _supports(supported: Changes, changes: str) -> bool:
    if changes in ("once", "grows"):
        return True
    return supported.gone and supported.back and (supported.sensitive or changes == "moves")


def propose_policy(name: str, policy: Mapping[str, object]) -> dict[str, object]:
    """The policy of another strategy with the same promises, as far as it has them; the same one stays as it is."""
    if name == policy.get("strategy"):
        return dict(policy)
    before = make_strategy(policy)
    plan = make_plans([name], before, share_thresholds(before, {}), {})[0]
    if plan.strategy is None:
        raise SettingsError(f"'{name}' cannot be proposed here: {plan.reason}")
    return {"strategy": name, **plan.settings}


SHARED = ("k", "m", "c", "e", "n")
"""What strategies promise and attacks measure under the same name."""
USUAL: Mapping[str, Mapping[str, object]] = {"bay-frame": {"J": 0.5, "beta": 5.0}, "js-reduce": {"J": 0.5, "t": 0.5}}
"""Settings that do not follow from the others; what the documentation of the strategy calls usual."""


@dataclass(frozen=True)
class ComparisonPlan:
    """One run: a strategy, or the reason why there is none with these settings."""

    name: str
    settings: Mapping[str, object]
    strategy: Strategy | None
    reason: str | None

    @property
    def label(self) -> str:
        shown = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{self.name} ({shown})" if shown else self.name


def share_thresholds(policy: Strategy | None, given: Mapping[str, object]) -> dict[str, float]:
    """k, m, c, e and n: as given, as the policy promises, or else what follows from those; never more than it promises.

    Of a list of values the first counts: all runs are measured against the same.
    """
    promised: dict[str, object] = {**(policy.thresholds() if policy is not None else {})}
    if policy is not None and "l" in write_policy(policy) and promised.get("c") == 1.0:
        promised.setdefault("m", write_policy(policy)["l"])  # beside a limit c it says nothing about shares
    if promised.get("c") == 1.0:  # no limit at all
        del promised["c"]
    promised |= {key: _take_first(value) for key, value in given.items() if key in SHARED}
    known = {key: _check_number(key, value) for key, value in promised.items() if key in SHARED and value is not None}
    c = known.get("c", 0.5)
    m = known.get("m", max(2, int(1 / c)) if "c" in known else min(known.get("k", 4), 4))
    return {"k": known.get("k", m), "m": m, "c": c, "e": known.get("e", 2), "n": min(known.get("n", 2), m)}


def make_plans(
    names: Sequence[str],
    policy: Strategy | None,
    shared: Mapping[str, float],
    given: Mapping[str, object],
) -> list[ComparisonPlan]:
    """Every strategy asked for, with every combination of the values given; equal settings once."""
    for key in given:
        owner = key.partition(".")[0] if "." in key else None
        if owner is not None and owner not in STRATEGIES:
            raise SettingsError(f"'{key}' names no strategy. Strategies are: {', '.join(STRATEGIES)}.")
    made: dict[str, ComparisonPlan] = {}
    used: set[str] = set()
    for name in dict.fromkeys(names or STRATEGIES):
        known = {field.name for field in fields(find_strategy(name))}
        own = _find_own(name, known, given, used)
        _refuse_words(own)
        base = {**_derive_settings(name, known, shared), **_keep_policy(name, policy)}
        for values in product(*(_as_list(value) for value in own.values())):
            plan = _make_plan(name, {**base, **dict(zip(own, values, strict=True))})
            made.setdefault(plan.label, plan)
    unused = sorted(set(given) - used - set(SHARED))
    if unused:
        raise SettingsError(f"None of the strategies compared has a setting '{unused[0]}'.")
    return list(made.values())


def _find_own(name: str, known: set[str], given: Mapping[str, object], used: set[str]) -> dict[str, object]:
    """What is given for this strategy: `k` for all that have k, `static.k` for static only, which wins."""
    own = {key: value for key, value in given.items() if key in known}
    used |= set(own)
    for key, value in given.items():
        owner, dot, setting = key.partition(".")
        if dot and owner == name:
            if setting not in known:
                near = did_you_mean(setting, known)
                raise SettingsError(f"'{name}' has no setting '{setting}'.{near} It has: {', '.join(sorted(known))}.")
            own[setting] = value
            used.add(key)
    return own


def _refuse_words(own: Mapping[str, object]) -> None:
    """`m=2,many`: a word among the numbers of a grid is a slip, no setting to be tried."""
    for key, value in own.items():
        words = [one for one in _as_list(value) if isinstance(one, str)]
        if words and len(words) < len(_as_list(value)):
            raise SettingsError(f"{key} is {words[0]!r} beside numbers; it must be a number, too.")


def _derive_settings(name: str, known: set[str], shared: Mapping[str, float]) -> dict[str, object]:
    """The shared promises that the strategy has, `l` from m, and what is usual for the rest."""
    settings: dict[str, object] = {key: _as_whole(value) for key, value in shared.items() if key in known}
    if "l" in known and "m" not in known:
        settings["l"] = _as_whole(shared["m"])
    if "m" in known:  # the fewest values whose even shares stay below c
        settings["m"] = _as_whole(max(shared["m"], ceil(1 / shared["c"])))
    if name == "standing":  # the promise of m values, in its own words
        settings |= {"c": min(shared["c"], 1 / shared["m"]), "l": max(_as_whole(shared["m"]), 2)}
    return {**settings, **USUAL.get(name, {})}


def _keep_policy(name: str, policy: Strategy | None) -> dict[str, object]:
    """The config's own strategy keeps what the config says of it."""
    if policy is None or policy.name != name:
        return {}
    settings = write_policy(policy)
    usual = {field.name: field.default for field in fields(policy)}
    return {key: value for key, value in settings.items() if key in usual and value != usual[key]}


def _make_plan(name: str, settings: Mapping[str, object]) -> ComparisonPlan:
    try:
        return ComparisonPlan(name, settings, make_strategy({"strategy": name, **settings}), None)
    except ReissueError as error:
        return ComparisonPlan(name, settings, None, str(error))


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _take_first(value: object) -> object:
    several = _as_list(value)
    if not several:
        raise SettingsError("A list of values to compare is empty.")
    return several[0]


def _check_number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingsError(f"{key} is {value!r}; it must be a number, or a list of numbers such as {key}=[2,4].")
    return _as_whole(value)


def _as_whole(value: float) -> float:
    return int(value) if float(value).is_integer() and not isinstance(value, bool) and value > 1 else value
