"""The process that helps another to compile what a strategy needs for the first time (see `arrays.sharing`).

What that is, is kept in `kernels.json`, written by `scripts/record-kernels`: every kernel in the order in which it was
needed, with the types it was compiled for. One that is not there, or not as it is now, is compiled by who needs it.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
from numba.core.dispatcher import Dispatcher

from reissue.arrays.compiled import KERNELS, PYTHON, njit
from reissue.arrays.sharing import Agreement, join_claims

types: Any = numba.types
STEPS = ("first", "next", "audit")


def help_compiling(listed: str, strategy: str, step: str, folder: str) -> None:
    """Compile what nobody has begun, from the last kernel to the first; end with the process that asked for it."""
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    claims = Agreement(Path(folder), lambda: True)
    join_claims(claims)
    for kernel in reversed(list_kernels(Path(listed), strategy, step)):
        try:
            compile_kernel(kernel, claims)
        except Exception:  # whoever needs it compiles it, and is told
            claims.give_up()


def _end_with_parent(folder: str) -> None:
    """Nothing ever comes from the parent, but the end of its input does."""
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def list_kernels(listed: Path, strategy: str, step: str) -> list[list[Any]]:
    """[module, kernel, use, types] of each in the order in which it is needed; what earlier steps need comes before."""
    found = json.loads(listed.read_text(encoding="utf-8"))
    steps = found["steps"].get(strategy, {})
    numbers = [number for one in STEPS[: STEPS.index(step) + 1] for number in steps.get(one, ())]
    return [found["kernels"][number] for number in dict.fromkeys(numbers)]


def compile_kernel(kernel: Sequence[Any], claims: Agreement) -> None:
    """Compile and keep it, unless it is kept or somebody has begun."""
    module, name, use, kinds = kernel
    found = getattr(import_module(module), name)
    dispatcher: Any = found if isinstance(found, Dispatcher) else njit(cache=True)(found)
    form = {PYTHON: dispatcher, KERNELS: vars(dispatcher).get("for_kernels")}[use]
    signature = tuple(read_type(kind) for kind in kinds)
    place = form._cache.place(signature, form.targetctx)
    if claims.is_open(place) and not form._cache.is_kept(signature, form.targetctx):
        form.compile(signature)


def write_type(kind: Any) -> Any:
    """A type of numba's as JSON: a name; "int64[1C]" for an array, with an r if it is only read; a list for a tuple."""
    if isinstance(kind, types.Array):
        return f"{kind.dtype.name}[{kind.ndim}{kind.layout}{'' if kind.mutable else 'r'}]"
    if isinstance(kind, types.BaseNamedTuple):
        home = kind.instance_class
        return [f"{home.__module__}:{home.__qualname__}", *map(write_type, kind)]
    if isinstance(kind, types.BaseTuple):
        return ["", *map(write_type, kind)]
    if isinstance(kind, types.Number | types.Boolean):
        return str(kind.name)
    raise TypeError(f"{kind!r} is not a type that kernels are called with")


def read_type(written: Any) -> Any:
    """The type of numba's that was written."""
    if isinstance(written, str):
        name, _, array = written.partition("[")
        kind = types.boolean if name == "bool" else getattr(types, name)
        return types.Array(kind, int(array[0]), array[1], readonly="r" in array[2:]) if array else kind
    name, *kinds = written
    parts = tuple(read_type(kind) for kind in kinds)
    if not name:
        return types.BaseTuple.from_types(parts)
    module, _, home = name.partition(":")
    return types.BaseTuple.from_types(parts, getattr(import_module(module), home))
