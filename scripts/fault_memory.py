"""Puts a fault into the code of a process that has imported it: the functions that are there get other code.

So a fault costs no new process: everything is imported and every test collected once, and a copy of that process gets
the fault. What runs by importing, a default or a decorator say, is not changed in this way.
"""

from __future__ import annotations

import ast
import gc
import sys
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from fault_places import Fault, holds


def around(fault: Fault) -> ast.FunctionDef | None:
    """The outermost function that has the fault in its body."""
    source = fault.file.read_bytes()
    level: list[ast.stmt] = ast.parse(source).body
    while inner := next((one for one in level if holds(one, fault.line)), None):
        if isinstance(inner, ast.FunctionDef):
            before = source.splitlines(keepends=True)[: inner.body[0].lineno - 1]
            return inner if sum(map(len, before)) + inner.body[0].col_offset <= fault.start else None
        level = [one for one in ast.iter_child_nodes(inner) if isinstance(one, ast.stmt)]
    return None


def functions(code: CodeType) -> list[CodeType]:
    """Every function in a piece of code, outer ones first."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [*inner, *(deeper for one in inner for deeper in functions(one))]


class Living:
    """The functions and kernels of the program in this process, by file and name."""

    def __init__(self, source: Path) -> None:
        from numba.core.dispatcher import Dispatcher

        self.functions: dict[tuple[str, str], list[FunctionType]] = {}
        self.kernels: dict[FunctionType, list[Any]] = {}
        self.remembered: list[Any] = []
        for one in gc.get_objects():
            if type(one) is FunctionType and one.__code__.co_filename.startswith(str(source)):
                self.functions.setdefault((one.__code__.co_filename, one.__code__.co_qualname), []).append(one)
            elif issubclass(type(one), Dispatcher):
                self.kernels.setdefault(one.py_func, []).append(one)
            elif type(one) is _lru_cache_wrapper and str(one.__module__).startswith("reissue"):
                self.remembered.append(one)

    def plant(self, fault: Fault, place: Path) -> bool:
        """Whether this process has the fault now, all of it. `place` is the file that it imported."""
        function = around(fault)
        if function is None:
            return False
        new = compile(fault.planted(fault.file.read_bytes()), str(place), "exec", dont_inherit=True)
        first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
        code = next(one for one in functions(new) if one.co_firstlineno == first and one.co_name == function.name)
        known = self.functions.get((str(place), code.co_qualname), [])
        if not known:  # whoever imports it later reads the changed file
            return not any(getattr(module, "__file__", None) == str(place) for module in [*sys.modules.values()])
        if any(file == str(place) and name.startswith(f"{code.co_qualname}.<locals>") for file, name in self.functions):
            return False  # it made functions by importing
        for one in known:
            if len(one.__code__.co_freevars) != len(code.co_freevars):
                return False
            one.__code__ = code
            self._compile_again(one)
        for remembered in self.remembered:
            remembered.cache_clear()
        return True

    def _compile_again(self, changed: FunctionType) -> None:
        """Let a kernel, and those that it is part of, be compiled from what it says now; nothing of that is kept."""
        from reissue.arrays import compiled

        for kernel in self.kernels.get(changed, ()):
            kernel._cache._cache_file._source_stamp = ("planted", 0)
            compiled._Cache.save_overload = lambda *_: None  # type: ignore[method-assign]
        parts, known = {changed}, 0
        while known < len(parts):
            known = len(parts)
            parts |= {one for one in self.kernels if parts & set(self._called(one))}
        for part in parts:
            for kernel in self.kernels.get(part, ()):
                kernel._reset_overloads()

    def _called(self, kernel: FunctionType) -> list[FunctionType]:
        named = (getattr(kernel.__globals__.get(name), "py_func", None) for name in kernel.__code__.co_names)
        return [one for one in named if one in self.kernels]
