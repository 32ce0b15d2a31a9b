"""Public names that are imported when they are first asked for, so that `import reissue` stays light."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def export(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """A package's `__all__`, `__getattr__` and `__dir__`.

    homes: module -> the public names that live in it, separated by spaces; a module without names is public itself
    """
    where = {name: module for module, names in homes.items() for name in names.split()}
    modules = {module.rpartition(".")[2]: module for module, names in homes.items() if not names}
    exported = sorted([*where, *modules])

    def get(name: str) -> object:
        if name in modules:
            return import_module(modules[name])
        if name in where:
            return getattr(import_module(where[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return exported, get, lambda: list(exported)


def find(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported now: for a public name whose work is done on a higher floor."""
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
