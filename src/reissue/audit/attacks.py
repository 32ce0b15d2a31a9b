"""Run every attack that applies, and say of the others why they do not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields

from reissue.audit.description import Look
from reissue.audit.parallel import Runner, on_whole
from reissue.coding import CodingNames
from reissue.errors import InputError, SettingsError
from reissue.methods import registry
from reissue.methods.attack import Attack, Outcome
from reissue.model.observed import Observed

NAMED = {"knowledge", "compromised"}
"""Settings that name files and people."""


@dataclass(frozen=True, eq=False)
class Checked:
    """One attack of an audit. outcome is None where it was skipped, and `reason` says why."""

    name: str
    attack: type[Attack]
    settings: Mapping[str, object]
    outcome: Outcome | None
    reason: str | None
    seconds: float

    @property
    def status(self) -> str:
        if self.outcome is None:
            return "skipped"
        return "breached" if self.outcome.breaches else "held"


def chosen_names(attacks: Sequence[str] | None) -> list[str]:
    """The attacks asked for, each once; all by default."""
    if isinstance(attacks, str):
        attacks = [attacks]
    names = list(dict.fromkeys(attacks)) if attacks else list(registry.ATTACKS)
    for name in names:
        registry.attack_class(name)
    return names


def check_given(names: Sequence[str], given: Mapping[str, object]) -> None:
    """Refuse thresholds that none of the attacks knows."""
    known = {field.name for name in names for field in fields(registry.attack_class(name))}
    unknown = sorted(set(given) - known)
    if unknown:
        raise SettingsError(
            f"No attack of this audit has a setting '{unknown[0]}'. They have: {', '.join(sorted(known))}."
        )


def run_attacks(
    observed: Observed,
    names: Sequence[str],
    policy: Mapping[str, float],
    given: Mapping[str, object],
    look: Look,
    words: CodingNames,
    progress: Callable[[str], None],
    runner: Runner = on_whole,
    refusal: str | None = None,
) -> list[Checked]:
    """Every attack in turn; breached ones first, then those that held, then those skipped.

    refusal: why none of them applies, if that is so.

    policy: what the strategy promises; given: what the caller set, which wins. look: who is known and whose value
    changed; words: for attacks that read knowledge files. runner: how one attack runs; `parallel.in_parts` runs it in
    parts.
    """
    done = []
    for name in names:
        progress(name)
        if refusal:
            done.append(Checked(name, registry.attack_class(name), {}, None, refusal, 0.0))
        else:
            done.append(_run(observed, name, {**policy, **given}, set(given), look, words, runner))
    return sorted(done, key=lambda one: ("breached", "held", "skipped").index(one.status))


def _run(
    observed: Observed,
    name: str,
    settings: Mapping[str, object],
    given: set[str],
    look: Look,
    words: CodingNames,
    runner: Runner,
) -> Checked:
    kind = registry.attack_class(name)
    known = {field.name for field in fields(kind)}
    kept = {key: value for key, value in settings.items() if key in known}
    reason = _needs(kind, settings) or _not_here(kind, look)
    if reason:
        return Checked(name, kind, kept, None, reason, 0.0)
    try:
        attack = registry.attack_from(name, kept)
    except SettingsError as error:
        if known & given:
            raise
        return Checked(name, kind, kept, None, f"the policy's thresholds do not fit it: {error}", 0.0)
    used = {key: getattr(attack, key) for key in sorted(known)}
    start = time.perf_counter()
    try:
        outcome = runner(attack.prepare(words), observed)
    except InputError as error:  # an attack that finds what it needs missing
        if NAMED & known & given and (isinstance(error, SettingsError) or "knowledge" in given):
            raise  # it would look like an attack that does not apply, and what the caller named was not used
        return Checked(name, kind, used, None, str(error), time.perf_counter() - start)
    return Checked(name, kind, used, outcome, None, time.perf_counter() - start)


def _needs(kind: type[Attack], settings: Mapping[str, object]) -> str | None:
    missing = [
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING and field.name not in settings
    ]
    return f"it needs the settings {', '.join(missing)}; give them with the audit." if missing else None


def _not_here(kind: type[Attack], look: Look) -> str | None:
    """Why the attack does not apply to this series; None where it does."""
    if kind.needs_members and look.people is None:
        return "it needs to know who is in which class: give the snapshots of all releases."
    changed = look.changed_value
    if kind.persistent and changed:
        people = "1 person has" if changed == 1 else f"{changed:,} people have"
        return f"it holds only where values never change, and {people} another value in a later release."
    return None
