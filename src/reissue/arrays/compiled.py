"""`njit` for kernels, with a cache that several processes may fill at once and that is quick to read.

numba numbers the files of its cache 1, 2, ... by looking at what its index lists, so that two processes that compile
the same kernel for different types at the same moment give both the same number: from then on every process that reads
the cache runs one kernel's code in place of the other's. Workers of Spark, and tests side by side, do just that. Here a
file is named by what it holds, so that it can only be overwritten by its equal.

numba also takes what it once compiled as long as the kernel's own file stays as it is, although the kernels that it
calls were compiled into it: after an upgrade that mends one of those, it would still run the old one. Here a kernel
belongs to the files of all the kernels it is made of, and to the constants they use. And an upgrade may rename a tuple
that an index names, which numba then fails to read: here such an index is an empty one.

numba names what it compiles by a number that every process counts from 1. Two functions of numba's own that have one
name and take the same types (the sorts behind np.sort and np.argsort do) may then get one name in two processes, and a
third that reads both kernels runs one in place of the other. Here every process counts from a number of its own.

A kernel that other kernels call is compiled for them without what only Python needs (`arrays.linking`); if Python calls
it too, it is compiled a second time.

A variable that begins as 0 is to numba the number 0 first and then any number, and a kernel that is called with it is
compiled for both: half of all that was compiled was never run. Here kernels are compiled for any number.

Before numba reads a kernel from its cache it imports all that it would need to compile one, among it SciPy's linear
algebra. Here it does so only where there is something to compile. It also compiles, in every process, the few functions
by which new kernels will count and free arrays, for which the whole compiler is read into memory: here the first kernel
that is compiled has them made.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pickle import Unpickler, UnpicklingError
from types import CodeType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.environment import _rebuild_env
from numba.core.registry import cpu_target
from numba.core.runtime import nrtdynmod
from numba.core.runtime.nrt import rtsys
from numba.core.types import unliteral

from reissue.arrays import announce

__all__ = ["njit", "processors", "warm_up"]


_LINKED = numba.version_info.short == (0, 68)
"""Whether `linking` knows the insides of this numba. Others compile kernels in their own way, which takes longer."""
_NAMES = "a number drawn by the process; kept with all names that are defined"
"""How what was compiled is named and kept. It belongs to the key of every kernel: none of an older kind is read."""


def _count_from_a_number_of_its_own() -> None:
    """Let this process name what it compiles as no other does."""
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))


_count_from_a_number_of_its_own()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_from_a_number_of_its_own)


class _Files(IndexDataCacheFile):
    """The index of a kernel's compiled forms, and a file of each."""

    def _load_index(self) -> dict[object, str]:
        """As numba's; an index that speaks of a tuple that an upgrade renamed lists nothing of use."""
        try:
            return dict(super()._load_index())
        except (AttributeError, ImportError, EOFError, UnpicklingError):
            return {}

    def save(self, key: object, data: object) -> None:
        """As numba's, but for the name."""
        overloads = self._load_index()
        name = overloads.get(key)
        if name is None:
            what = sha256(repr((self._source_stamp, str(key))).encode()).hexdigest()[:20]
            name = f"{self._index_name.removesuffix('.nbi')}.{what}.nbc"
            overloads[key] = name
            self._save_index(overloads)
        self._save_data(name, data)

    def _load_data(self, name: str) -> object:
        with open(self._data_path(name), "rb") as file:
            return _Reader(file).load()


class _Reader(Unpickler):
    """Reads a compiled kernel without importing the modules of numba that parts of it were compiled from."""

    def find_class(self, module: str, name: str) -> Any:
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: object, name: str) -> object:
    """As numba's; the names of the module serve only kernels that call Python, which none of numba's own do."""
    return _rebuild_env("numba" if module.startswith("numba.") else module, constants, name)


class _PatientRuntime(type(rtsys)):  # type: ignore[misc]
    """numba's runtime; its functions for kernels are made when one is compiled: kernels that are kept have theirs."""

    _library: Any

    @property
    def library(self) -> Any:
        with global_compiler_lock:
            if self._library is None:
                self._library = nrtdynmod.compile_nrt_functions(cpu_target.target_context)
            return self._library


def _start_runtime(target: Any) -> None:
    """Let numba's runtime be there for kernels that are kept."""
    if not _LINKED:
        rtsys.initialize(target)
        return
    with global_compiler_lock:
        if not rtsys._init:
            usual, nrtdynmod.compile_nrt_functions = nrtdynmod.compile_nrt_functions, lambda target: None
            try:
                rtsys.initialize(target)
            finally:
                nrtdynmod.compile_nrt_functions = usual
            rtsys.__class__ = _PatientRuntime


class _Cache(FunctionCache):
    """What was compiled of one kernel."""

    def __init__(self, kernel: Callable[..., object], use: str) -> None:
        super().__init__(kernel)
        self._use = use
        self._cache_file.__class__ = _Files

    def _index_key(self, signature: object, codegen: Any) -> tuple[object, ...]:
        return (*super()._index_key(signature, codegen), _NAMES, self._use, _made_of(self._py_func))

    def load_overload(self, signature: object, target: Any) -> object:
        """As numba's, but for the refreshing of `target`, which compiling does anyway."""
        _start_runtime(target)
        with self._guard_against_spurious_io_errors():
            kept = self._load_overload(signature, target)
            if kept is None:
                announce(compiling=True)
            return kept

    def save_overload(self, signature: object, data: object) -> None:
        super().save_overload(signature, data)
        announce(compiling=False)


def _made_of(kernel: Any) -> str:
    """A digest of what is compiled into a kernel: kernels it calls, however deep, constants, and fields of tuples."""
    parts, seen, left = [], {kernel}, [kernel]
    while left:
        kernel = left.pop()
        for name in sorted(_names(kernel.__code__).union(map(str, kernel.__annotations__.values()))):
            value = kernel.__globals__.get(name)
            if isinstance(value, Dispatcher) and value.py_func not in seen:
                seen.add(value.py_func)
                left.append(value.py_func)
                parts.append(repr(vars(value)["_cache"]._cache_file._source_stamp))
            elif isinstance(value, bool | int | float | str | tuple | np.generic):
                parts.append(f"{name} = {value!r}")
            elif isinstance(value, type) and issubclass(value, tuple):
                parts.append(f"{name}: {getattr(value, '_fields', ())}")
    return sha256("\n".join(parts).encode()).hexdigest()


def _names(code: CodeType) -> set[str]:
    """What a piece of code, or a piece within it, may look up in its module."""
    return {*code.co_names}.union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _compile_for_kernels(dispatcher: Any, kernel: Callable[..., object], options: dict[str, Any]) -> Any:
    """A form of the kernel for kernels that call it, which give it numbers, whatever these are; not for Python."""
    inner: Any = numba.njit(**{**options, "no_cpython_wrapper": True})(kernel)
    find_template = inner.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return find_template([unliteral(one) for one in args], {name: unliteral(one) for name, one in kws.items()})

    dispatcher.get_call_template = get_call_template
    dispatcher.get_overload = inner.get_overload
    dispatcher._compiling_counter = inner._compiling_counter
    return inner


def _link_kernels(dispatcher: Any) -> None:
    """Compile what the kernel calls without making machine code of it."""
    from reissue.arrays.linking import linking_kernels

    compile_one = dispatcher.compile

    def compile_kernel(signature: object) -> Any:
        with linking_kernels(dispatcher.targetctx):
            return compile_one(signature)

    dispatcher.compile = compile_kernel


if TYPE_CHECKING:  # what it decorates keeps its type
    from numba import njit
else:

    def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., object]], Any]:
        """numba's decorator; `cache=True` keeps what was compiled for other processes."""

        def compiled(kernel: Callable[..., object]) -> Any:
            dispatcher = numba.njit(**options)(kernel)
            inner = _compile_for_kernels(dispatcher, kernel, options)
            for one in (dispatcher, inner):
                if _LINKED:
                    _link_kernels(one)
                if cache:
                    one._cache = _Cache(kernel, "for kernels" if one is inner else "for Python")
            return dispatcher

        return compiled


@cache
def warm_up() -> None:
    """Let numba set itself up, by running the smallest kernel: once in a process."""
    njit(cache=True)(_nothing)()


def _nothing() -> None:
    """The smallest kernel."""


@cache
def processors() -> int:
    """How many threads of this process can work at once: the processors it may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
