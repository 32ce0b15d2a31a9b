"""Which attacks an audit is asked for, with which settings; every one that applies is run, the others say why not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

from reissue.audit.description import SeriesView
from reissue.audit.timeline import RISK_LINES
from reissue.coding import CodingNames
from reissue.errors import InputError, SettingsError, did_you_mean
from reissue.methods import registry
from reissue.methods.attack import Attack, Outcome
from reissue.methods.beliefs.knowledge import Knowledge

NAMED = {"knowledge", "compromised", "statistics"}
"""Settings that name files and people."""
STATUSES = ("breached", "partly", "held", "measured", "skipped")
"""What an attack of an audit may come to, the worst first.

partly: it found nothing, but a limit left people unlooked at. measured: it found nobody above the threshold, and proves
nothing, since it only measures how far one attacker comes. skipped: it does not apply.
"""
RISK = "risk_threshold"
"""A setting of the audit itself, of no attack."""


# -- What is asked: the config's [audit] section, and what the caller says, which wins


def check_section(section: Mapping[str, object]) -> dict[str, object]:
    """The section as a series keeps it; every attack that has one of its settings must accept it."""
    if not section:
        return {}
    try:
        attacks, settings = resolve_request(section, None, {})
        names = choose_attacks(attacks)
        known = {key for name in names for key in _list_settings(name)} | {"attacks", RISK}
        for key in section:
            if key not in known:
                hint = did_you_mean(key, known)
                raise SettingsError(f"no attack has a setting '{key}'.{hint} Known are: {', '.join(sorted(known))}.")
        for name in names:
            registry.make_attack(name, settings)
    except SettingsError as error:
        raise SettingsError(f"[audit] {error}") from None
    return dict(section)


def resolve_request(
    section: Mapping[str, object], attacks: Sequence[str] | None, given: Mapping[str, object]
) -> tuple[Sequence[str] | None, dict[str, object]]:
    """(attacks, thresholds) of one audit; of the section only settings that one of these attacks has."""
    chosen = attacks or _parse_names(section.get("attacks"))
    known = {key for name in choose_attacks(chosen) for key in _list_settings(name)} | {RISK}
    settings = {**{key: value for key, value in section.items() if key in known}, **given}
    if isinstance(settings.get("knowledge"), Mapping):
        settings["knowledge"] = _make_knowledge(settings["knowledge"])  # type: ignore[arg-type]
    if settings.get(RISK) is not None:
        settings[RISK] = read_risk(settings[RISK])
    return chosen, {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}


def choose_attacks(attacks: Sequence[str] | None) -> list[str]:
    """The attacks asked for, each once; all by default."""
    if isinstance(attacks, str):
        attacks = [attacks]
    names = list(dict.fromkeys(attacks)) if attacks else list(registry.ATTACKS)
    for name in names:
        registry.find_attack(name)
    return names


def check_given(names: Sequence[str], given: Mapping[str, object]) -> None:
    """Refuse thresholds that none of the attacks knows."""
    known = {key for name in names for key in _list_settings(name)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise SettingsError(
            f"No attack of this audit has a setting '{unknown[0]}'. They have: {', '.join(sorted(known))}."
        )


def _parse_names(attacks: object) -> list[str] | None:
    if attacks is None:
        return None
    names = [attacks] if isinstance(attacks, str) else attacks
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"attacks is {attacks!r}; list their names: {', '.join(registry.ATTACKS)}.")
    return list(names)


def _list_settings(attack: str) -> list[str]:
    return [field.name for field in fields(registry.find_attack(attack))]


def read_risk(value: object) -> float:
    """The chance of re-identification above which a row counts as at risk: a number, or the name of one."""
    if isinstance(value, str) and value in RISK_LINES:
        return RISK_LINES[value]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        named = " or ".join(f'"{name}" ({limit:g})' for name, limit in RISK_LINES.items())
        raise SettingsError(f"{RISK} is {value!r}; it is a chance, above 0 and at most 1, or {named}.")
    return float(value)


def _make_knowledge(given: Mapping[str, object]) -> Knowledge:
    knowledge = registry.make_knowledge(given)
    for file in knowledge.files:  # an attack that is skipped for want of its file would look like one that held
        if not Path(file).is_file():
            raise SettingsError(f"The knowledge file {file} does not exist. Check its path.")
    return knowledge


# -- What is run


@dataclass(frozen=True, eq=False)
class AttackResult:
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
        if self.outcome.breaches:
            return "breached"
        if self.outcome.unfinished:
            return "partly"
        return "measured" if self.measuring else "held"

    @property
    def measuring(self) -> bool:
        """Whether that it finds nobody proves nothing: it is of such a kind, or read this series in such a way."""
        return self.attack.measuring or (self.outcome is not None and self.outcome.measuring)


def run_attacks(
    names: Sequence[str],
    policy: Mapping[str, float],
    given: Mapping[str, object],
    view: SeriesView,
    words: CodingNames,
    progress: Callable[[str], None],
    run: Callable[[Attack], Outcome],
    refusal: str | None = None,
) -> list[AttackResult]:
    """Every attack in turn, in the order of STATUSES.

    policy: what the strategy promises; given: what the caller set, which wins. view: who is known and whose value
    changed; words: for attacks that read knowledge files. run: how one attack runs; refusal: why none of them applies,
    if that is so
    """
    done = []
    for number, name in enumerate(names, start=1):
        progress(f"{number} of {len(names)}, {name}")
        if refusal:
            done.append(AttackResult(name, registry.find_attack(name), {}, None, refusal, 0.0))
        else:
            done.append(_run_attack(name, {**policy, **given}, set(given), view, words, run))
    return sorted(done, key=lambda one: STATUSES.index(one.status))


def _run_attack(
    name: str,
    settings: Mapping[str, object],
    given: set[str],
    view: SeriesView,
    words: CodingNames,
    run: Callable[[Attack], Outcome],
) -> AttackResult:
    kind = registry.find_attack(name)
    known = {field.name for field in fields(kind)}
    kept = {key: value for key, value in settings.items() if key in known}
    reason = _find_missing(kind, settings) or _find_obstacle(kind, view)
    if reason:
        return AttackResult(name, kind, kept, None, reason, 0.0)
    try:
        attack = registry.make_attack(name, kept)
    except SettingsError as error:
        if known & given:
            raise
        return AttackResult(name, kind, kept, None, f"the policy's thresholds do not fit it: {error}", 0.0)
    used = {key: getattr(attack, key) for key in sorted(known)}
    start = time.perf_counter()
    try:
        outcome = run(attack.prepare(words))
    except InputError as error:  # an attack that finds what it needs missing
        if NAMED & known & given and (isinstance(error, SettingsError) or "knowledge" in given):
            raise  # it would look like an attack that does not apply, and what the caller named was not used
        return AttackResult(name, kind, used, None, str(error), time.perf_counter() - start)
    return AttackResult(name, kind, used, outcome, None, time.perf_counter() - start)


def _find_missing(kind: type[Attack], settings: Mapping[str, object]) -> str | None:
    missing = [
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING and field.name not in settings
    ]
    return f"it needs the settings {', '.join(missing)}; give them with the audit." if missing else None


def _find_obstacle(kind: type[Attack], view: SeriesView) -> str | None:
    """Why the attack does not apply to this series; None where it does."""
    if kind.needs_members and view.people is None:
        return "it needs to know who is in which class: give the snapshots of all releases."
    changed = view.changed_value
    if kind.persistent and changed:
        people = "1 person has" if changed == 1 else f"{changed:,} people have"
        return f"it holds only where values never change, and {people} another value in a later release."
    return None


def check_pairs(pairs: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """The pairs; an InputError if one names no two of these attributes."""
    if pairs:
        from reissue.utility.rates import find_pair

        for pair in pairs:
            find_pair(pair, names)
    return pairs
