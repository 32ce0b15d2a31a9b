"""What an audit is asked: the config's [audit] section, and what the caller says, which wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from reissue.errors import SettingsError, did_you_mean
from reissue.methods.beliefs.knowledge import Knowledge
from reissue.methods.registry import ATTACKS, attack_class, attack_from, knowledge_from

RISK = "risk_threshold"
"""A setting of the audit itself, of no attack."""


def checked_audit(section: Mapping[str, object]) -> dict[str, object]:
    """The section as a series keeps it; every attack that has one of its settings must accept it."""
    if not section:
        return {}
    try:
        attacks, settings = asked(section, None, {})
        names = _names(attacks)
        known = {key for name in names for key in _settings(name)} | {"attacks", RISK}
        for key in section:
            if key not in known:
                hint = did_you_mean(key, known)
                raise SettingsError(f"no attack has a setting '{key}'.{hint} Known are: {', '.join(sorted(known))}.")
        for name in names:
            attack_from(name, settings)
    except SettingsError as error:
        raise SettingsError(f"[audit] {error}") from None
    return dict(section)


def asked(
    section: Mapping[str, object], attacks: Sequence[str] | None, given: Mapping[str, object]
) -> tuple[Sequence[str] | None, dict[str, object]]:
    """(attacks, thresholds) of one audit; of the section only settings that one of these attacks has."""
    chosen = attacks or _listed(section.get("attacks"))
    known = {key for name in _names(chosen) for key in _settings(name)} | {RISK}
    settings = {**{key: value for key, value in section.items() if key in known}, **given}
    if isinstance(settings.get("knowledge"), Mapping):
        settings["knowledge"] = _knowledge(settings["knowledge"])  # type: ignore[arg-type]
    _check_risk(settings.get(RISK))
    return chosen, {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}


def _listed(attacks: object) -> list[str] | None:
    if attacks is None:
        return None
    names = [attacks] if isinstance(attacks, str) else attacks
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"attacks is {attacks!r}; list their names: {', '.join(ATTACKS)}.")
    return list(names)


def _names(attacks: Sequence[str] | None) -> Sequence[str]:
    return [attacks] if isinstance(attacks, str) else attacks or list(ATTACKS)


def _settings(attack: str) -> list[str]:
    return [field.name for field in fields(attack_class(attack))]


def _check_risk(value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1):
        raise SettingsError(f"{RISK} is {value!r}; it is a chance, above 0 and at most 1.")


def _knowledge(given: Mapping[str, object]) -> Knowledge:
    knowledge = knowledge_from(given)
    for file in knowledge.files:  # an attack that is skipped for want of its file would look like one that held
        if not Path(file).is_file():
            raise SettingsError(f"The knowledge file {file} does not exist. Check its path.")
    return knowledge
