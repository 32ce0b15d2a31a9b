"""What public functions are given: whatever is of a wrong type is told in a sentence, before anything is done with it.

The signature says what is wanted, in the words of its annotations; `check_arguments` holds callers to it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from typing import TypeVar, cast

from reissue.errors import SettingsError, show_text

ENGINES = ("embedded", "spark")
Function = TypeVar("Function", bound=Callable[..., object])
Kind = TypeVar("Kind", bound=type)
LIST, TABLES = "Sequence[str]", "Sequence[Source]"
WANTED: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "None": ("", lambda value: value is None),
    "str": ("text", lambda value: isinstance(value, str)),
    "bytes": ("bytes", lambda value: isinstance(value, bytes)),
    "bool": ("True or False", lambda value: type(value).__name__ in ("bool", "bool_")),
    "int": ("a whole number", lambda value: isinstance(value, Integral) and not isinstance(value, bool)),
    "float": ("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    "Path": ("a path", lambda value: isinstance(value, PathLike)),
    "PathLike[str]": ("a path", lambda value: isinstance(value, PathLike)),
    LIST: ("a list of texts", lambda value: _holds_texts(value)),
    TABLES: ("a list of tables or paths", lambda value: isinstance(value, list | tuple)),
    "Mapping": ("a dictionary", lambda value: isinstance(value, Mapping)),
    "Missing": ("text", lambda value: isinstance(value, str)),
    "Query": ("text such as 'age=30..39 sex=F', or a dictionary", lambda value: isinstance(value, str | Mapping)),
    "InFolder": ("what publish returned", lambda value: isinstance(getattr(value, "path", None), PathLike)),
    "Schema": ("a Schema, for example Schema.from_toml('clinic.toml')", lambda value: _is_a(value, "Schema")),
    "Strategy": ("a strategy, for example Standing()", lambda value: _is_a(value, "Strategy")),
    "Hierarchy": ("a Hierarchy, for example Hierarchy.from_file('zip.csv')", lambda value: _is_a(value, "Hierarchy")),
}
"""By the annotation: how it is called, and whether a value is one. Where any other word stands, anything goes."""


_MAPPING = re.compile(r"Mapping\[.*\]")
"""Whatever is in it, which is looked at where it is used."""


def check_arguments(function: Function) -> Function:
    """The function, which raises a SettingsError for a first argument of a wrong type. A text will do for a list of it.

    Decorate what users call, and nothing that is called once per row: each call costs some microseconds.
    """
    signature = inspect.signature(function)
    wanted = {
        name: _MAPPING.sub("Mapping", str(one.annotation)).split(" | ")
        for name, one in signature.parameters.items()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    }
    checked = {name: parts for name, parts in wanted.items() if all(part in WANTED for part in parts)}

    @wraps(function)
    def run(*args: object, **kwargs: object) -> object:
        given = signature.bind(*args, **kwargs)
        for name in given.arguments.keys() & checked.keys():
            given.arguments[name] = _take(name, given.arguments[name], checked[name])
        return function(*given.args, **given.kwargs)

    return cast("Function", run)


def check_methods(kind: Kind) -> Kind:
    """The class, all of whose public methods check their arguments."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, classmethod | staticmethod):
            setattr(kind, name, type(member)(check_arguments(member.__func__)))
        elif inspect.isfunction(member):
            setattr(kind, name, check_arguments(member))
    return kind


def _take(name: str, value: object, parts: Sequence[str]) -> object:
    """The value, lists as tuples; raises SettingsError if it is nothing that is wanted."""
    one = isinstance(value, str) or (TABLES in parts and isinstance(value, PathLike))
    if one and parts[0] in (LIST, TABLES):
        return (value,)
    fits = next((part for part in parts if WANTED[part][1](value)), None)
    if fits is not None:
        return list_items(value) if fits in (LIST, TABLES) else value
    called = list(dict.fromkeys(said for part in parts if (said := WANTED[part][0])))
    unmade = isinstance(value, type) and any(kind.__name__ == parts[0] for kind in value.__mro__)
    call = f" Write {value.__name__}(...)." if isinstance(value, type) and unmade else ""
    raise SettingsError(f"{name} is {describe_given(value)}; it must be {' or '.join(called)}.{call}")


def describe_given(value: object) -> str:
    """A value that is short as it is, of others what they are."""
    shown = repr(value) if isinstance(value, str | bytes | int | float | list | tuple | PathLike | None) else ""
    kind = f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"
    return show_text(shown) if 0 < len(shown) <= 60 else kind


def list_items(value: object) -> tuple[object, ...] | None:
    """Of a list, a set, an array or a column; None of a single text, a table or anything else."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable) or hasattr(value, "columns"):
        return None
    return tuple(value.to_pylist() if hasattr(value, "to_pylist") else value)


def _holds_texts(value: object) -> bool:
    items = list_items(value)
    return items is not None and all(isinstance(one, str) for one in items)


def _is_a(value: object, name: str) -> bool:
    return any(kind.__name__ == name for kind in type(value).__mro__)


def check_engine(engine: str | Mapping[str, object]) -> dict[str, object]:
    """The engine's name and settings, with everything at its place."""
    given: dict[str, object] = {"name": engine} if isinstance(engine, str) else {"name": "embedded", **engine}
    unknown = sorted(set(given) - {"name", "master", "settings"})
    if given["name"] not in ENGINES or unknown:
        wrong = f"has the unknown setting '{unknown[0]}'" if unknown else f"is {given['name']!r}"
        raise SettingsError(f"engine {wrong}; it must be one of: {', '.join(ENGINES)}, with master and settings.")
    return {key: value for key, value in given.items() if value}
