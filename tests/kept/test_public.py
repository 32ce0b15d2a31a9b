"""What callers lean on without writing it down: the defaults of the public names, against what is kept of them here.

See test_kept.py for what these files are for, and how they are written anew.
"""

from __future__ import annotations

import inspect
import re
from types import ModuleType
from typing import Any

import pytest

import reissue as ri
from reissue.methods.strategy import Strategy
from tests.kept.published import keep


def describe_calls(thing: Any) -> dict[str, str]:
    """How it is called, and each of its methods; strategies are only made by callers, and called by `Series`."""
    called = {"": thing}
    if inspect.isclass(thing) and not issubclass(thing, Strategy):
        called |= {f".{name}": member for name, member in inspect.getmembers(thing) if not name.startswith("_")}
    return {name: shape(one) for name, one in called.items() if callable(one)}


def shape(called: Any) -> str:
    """Names and defaults. How types are printed differs between versions of Python."""
    given = inspect.signature(called).parameters.values()
    return ", ".join(str(one.replace(annotation=inspect.Parameter.empty)) for one in given if one.name != "self")


@pytest.mark.parametrize("module", [ri, ri.clinic, ri.attacks, ri.utility], ids=lambda module: module.__name__)
def test_defaults_are_as_they_were(module: ModuleType) -> None:
    public = {name: getattr(module, name) for name in sorted(module.__all__)}
    kept = {
        f"{name}{method}": said
        for name, thing in public.items()
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception))
        for method, said in describe_calls(thing).items()
    }
    addresses = re.compile(r" at 0x[0-9a-f]+")
    keep(f"public-{module.__name__}", {name: addresses.sub("", said) for name, said in kept.items()})
