"""Which strategies fit a table, by two questions: what changes between snapshots, and what the attacker knows.

The answers are read from what strategies declare: the changes they support, and the attacks they promise to stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reissue.compare.planning import make_plans, share_thresholds
from reissue.errors import SettingsError
from reissue.methods.registry import STRATEGIES, find_strategy, make_strategy
from reissue.methods.strategy import Changes

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
