"""Settings of strategies and attacks must be of their kind: in Python `true` is a 1, and text compares with nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from numbers import Real

from reissue.errors import SettingsError

LARGEST = 2**53
"""What a setting may be at most: kernels and floats take every whole number up to it."""


def check_kinds(kind: type, given: Mapping[str, object]) -> None:
    """Refuse settings of a dataclass that are no number, no whole number, or not true or false, where they must be."""
    refuse_booleans(kind, given)
    for field in fields(kind):
        value = given.get(field.name)
        if value is None:
            continue
        parts = {part.strip() for part in str(field.type).split("|")}
        if parts <= {"int", "float", "None"} and not isinstance(value, Real):
            raise SettingsError(f"{field.name} is {value!r}; it must be a number.")
        if isinstance(value, int) and abs(value) > LARGEST and field.name != "seed":
            raise SettingsError(f"{field.name} is beyond {LARGEST:,}, the most that is possible. Lower it.")
        if parts <= {"int", "None"} and not float(value).is_integer():  # type: ignore[arg-type]
            raise SettingsError(f"{field.name} is {value}; it must be a whole number.")
        if parts == {"bool"} and not (isinstance(value, Real) and value in (0, 1)):
            raise SettingsError(f"{field.name} is {value!r}; it must be true or false.")


def check_choices(settings: object, **allowed: tuple[str, str]) -> None:
    """Refuse settings that are neither of the two words allowed for them."""
    for name, (one, other) in allowed.items():
        given = getattr(settings, name)
        if given not in (one, other):
            raise SettingsError(f'{name} is "{given}"; use "{one}" or "{other}".')


def check_m(m: int) -> None:
    """Refuse an m of m-invariance that promises nothing."""
    if m < 2:
        raise SettingsError(f"m is {m}; it must be at least 2, since with m=1 a class tells its value.")


def refuse_booleans(kind: type, given: Mapping[str, object]) -> None:
    """Refuse true and false, alone or in a list or table, for settings of a dataclass that are something else."""
    for field in fields(kind):
        declared = str(field.type)
        for name, value in _single(field.name, given.get(field.name)):
            if isinstance(value, bool) and "bool" not in declared:
                wanted = "a number" if re.search(r"\bint\b|\bfloat\b|\d", declared) else "its value"
                raise SettingsError(f"{name} is {str(value).lower()}; give {wanted}, not true or false.")


def _single(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f"{name}.{key}", item) for key, item in value.items())
    else:
        yield from ((name, item) for item in (value if isinstance(value, list | tuple) else (value,)))
