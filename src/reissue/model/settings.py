"""Settings of strategies and attacks: what each may be is said once, where it is declared, and checked in one place.

A field's type says its kind, a `Literal` the words allowed, a `Within` beside it the range and what the number is:

    c: Annotated[float, Within("the largest share of one value", above=0, most=1)] = 1.0

In Python `true` is a 1 and text compares with nothing, so kinds are checked before ranges.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from functools import cache
from math import inf
from numbers import Real
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from reissue.errors import SettingsError

LARGEST = 2**53
"""What a whole number may be at most: kernels and floats take every one up to it."""

FINITE = sys.float_info.max


@dataclass(frozen=True)
class Within:
    """What a setting is, and for numbers between which they lie; `why`, where that is not plain."""

    what: str
    least: float = -inf
    above: float = -inf
    most: float = inf
    why: str = ""

    def holds(self, value: float) -> bool:
        return self.least <= value <= self.most and value > self.above

    def __str__(self) -> str:
        low = f"above {self.above:g}" if self.above > -inf else f"at least {self.least:g}" if self.least > -inf else ""
        high = f"at most {self.most:g}" if self.most < FINITE else ""
        limits = ", ".join(limit for limit in (low, high, self.why) if limit)
        return self.what + (f": {limits}" if limits else "")


RowCount = Annotated[int, Within("a whole number of rows", least=1)]
PeopleCount = Annotated[int, Within("a whole number of people", least=1)]
Share = Annotated[float, Within("the largest share of one value", above=0, most=1)]
ValueCount = Annotated[float, Within("a number of values", least=1, most=FINITE)]
SignatureSize = Annotated[
    int, Within("how many values stay possible", least=2, why="since with m=1 a class tells its value")
]
Chance = Annotated[float, Within("a share", least=0, most=1)]
Spare = Annotated[float, Within("a share of the rows", least=0, most=0.2)]


def check_settings(settings: object) -> None:
    """Refuse everything in a frozen dataclass of settings that is not as declared; whole floats become integers."""
    problems: list[str] = []
    kind: type = type(settings)
    for name, declared in _read_declared(kind).items():
        value = getattr(settings, name)
        found = list(find_problems(name, value, declared))
        problems += found
        whole = _find_number_type(declared)
        if not found and value is not None and whole and not isinstance(value, bool) and isinstance(value, Real):
            object.__setattr__(settings, name, whole(value))  # thresholds come as floats
    if problems:
        raise SettingsError(" ".join(problems))


@cache
def _read_declared(kind: type) -> dict[str, object]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _find_number_type(declared: object) -> type | None:
    """int or bool, where a setting is one or None."""
    kinds = {kind for kind, _ in _options(declared)} - {type(None)}
    return int if kinds == {int} else bool if kinds == {bool} else None


def _options(declared: object, within: Within | None = None) -> Iterator[tuple[object, Within | None]]:
    """The types that a declared type allows, each with what is said about it."""
    if get_origin(declared) is Annotated:
        inner, *said = get_args(declared)
        yield from _options(inner, next((one for one in said if isinstance(one, Within)), within))
    elif get_origin(declared) in (Union, UnionType):
        for one in get_args(declared):
            yield from _options(one, within)
    else:
        yield declared, within


def find_problems(name: str, value: object, declared: object) -> Iterator[str]:
    """A sentence about each thing that is wrong with a setting: its name, what was received, what is allowed."""
    options = list(_options(declared))
    within = next((said for _, said in options if said is not None), None)
    kinds = [kind for kind, _ in options]
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    listed = next((kind for kind in kinds if get_origin(kind) is tuple), None)
    if value is None and type(None) in kinds:
        return
    if hasattr(value, "__array__") and not isinstance(value, Real):  # its comparisons are no answers
        value = f"of type {type(value).__name__}"
    if isinstance(value, bool) and bool not in kinds:
        number = any(kind in (int, float) for kind in kinds) or any(isinstance(word, int) for word in words)
        yield f"{name} is {str(value).lower()}; give {'a number' if number else 'its value'}, not true or false."
    elif isinstance(value, bool):
        return
    elif words:
        if value not in words:
            yield f"{name} is {value!r}; choose {_join_choices(words)}."
    elif listed is not None and isinstance(value, list | tuple):
        yield from _find_problems_inside(name, value, get_args(listed))
    elif int in kinds or float in kinds:
        yield from _find_wrong_number(name, value, within, whole=float not in kinds, text=str in kinds)
    elif bool in kinds:
        if not (isinstance(value, Real) and value in (0, 1)):
            yield f"{name} is {value!r}; it must be true or false."
    elif not any(isinstance(kind, type) and isinstance(value, kind) for kind in kinds):
        yield f"{name} is {value!r}; it must be {within or ('text' if str in kinds else 'a list')}."


def _find_problems_inside(
    name: str, value: list[object] | tuple[object, ...], kinds: tuple[object, ...]
) -> Iterator[str]:
    each = kinds[:1] * len(value) if kinds[-1] is ... else kinds
    if len(each) != len(value):
        yield f"{name} is {value!r}; it must have {len(each)} entries."
        return
    for item, kind in zip(value, each, strict=True):
        yield from find_problems(name, item, kind)


def _find_wrong_number(name: str, value: object, within: Within | None, *, whole: bool, text: bool) -> Iterator[str]:
    if isinstance(value, str) and text:
        return
    if not isinstance(value, Real):
        yield f"{name} is {value!r}; it must be a {'whole ' * whole}number."
    elif isinstance(value, int) and abs(value) > LARGEST and name != "seed":
        yield f"{name} is beyond {LARGEST:,}, the most that is possible. Lower it."
    elif whole and not float(value).is_integer():
        yield f"{name} is {value}; it must be a whole number."
    elif within is not None and not within.holds(float(value)):
        yield f"{name} is {value}; it must be {within}."


def _join_choices(words: list[object]) -> str:
    told = [repr(word) for word in words]
    return " or ".join([", ".join(told[:-1]), told[-1]])


def as_declared(kind: type, given: Mapping[str, object]) -> dict[str, object]:
    """Settings as files give them, in the types that a dataclass declares: lists as tuples, 1 as 1.0 for a share."""
    declared = _read_declared(kind)
    made = {}
    for name, value in given.items():
        kinds = {one for one, _ in _options(declared[name])}
        if isinstance(value, int) and not isinstance(value, bool) and float in kinds and abs(value) <= LARGEST:
            value = float(value)
        made[name] = tuple(value) if isinstance(value, list) and tuple in map(get_origin, kinds) else value
    return made


def missing_settings(kind: type, given: Mapping[str, object]) -> list[str]:
    """The settings of a dataclass that must be given and are not."""
    needed = [field for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
    return [field.name for field in needed if field.name not in given]


def as_fraction(limit: float) -> Fraction:
    """The nearest fraction with a denominator up to a million: what a person meant by 0.1 or by 1/3 in binary."""
    return Fraction(limit).limit_denominator(1_000_000)
