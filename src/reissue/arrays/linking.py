"""What is compiled of a kernel: machine code where Python calls it, only the makings of it where other kernels do.

numba optimizes every kernel by itself and turns it into machine code, with two functions by which Python and C could
call it. Then it puts the kernel into each of those that call it and optimizes it there again, and so on upwards: most
of the time went into what was never run. Here a kernel that kernels call waits as it is, until the outermost one, which
Python calls, is optimized with all that it is made of, once.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import codegen as code_generation
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment

__all__ = ["linking_kernels"]

_parse_bitcode: Any = vars(code_generation)["ll"].parse_bitcode
_ENVIRONMENT = "_ZN08NumbaEnv"
"""How the names of variables begin that hold what a kernel needs of Python: the constants of its errors."""


@contextmanager
def linking_kernels(target: Any) -> Iterator[None]:
    """Let what is compiled or loaded meanwhile wait until it is run; other users of numba notice nothing of it."""
    with global_compiler_lock:
        collects, codegen = gc.isenabled(), target.codegen()
        usual = codegen._library_class, target.create_cfunc_wrapper
        codegen._library_class, target.create_cfunc_wrapper = _LinkedKernel, _leave_out
        gc.disable()  # a compiler's many objects are looked through again and again, and are needed until it is done
        try:
            yield
        finally:
            if collects:
                gc.enable()
            codegen._library_class, target.create_cfunc_wrapper = usual


def _leave_out(*_: object) -> None:
    """What C would call a kernel by: nobody does."""


class _LinkedKernel(JITCodeLibrary):
    """A kernel and all that is linked into it; optimized, and made into machine code, when its address is asked for."""

    _codegen: Any
    _runs = False
    _kept_bitcode = b""

    @property
    def codegen(self) -> Any:
        """What takes the environments of a kernel: this library, which hands them on once it has machine code."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """As the code generator's; what only waits gets its environments when it is part of what runs."""
        if self._runs:
            self._codegen.set_env(name, environment)

    def finalize(self) -> None:
        """Link what the kernel calls. Kernels that call themselves find themselves by address, so these run at once."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True
        if any(one.name.startswith(RuntimeLinker.PREFIX) for one in self._final_module.global_variables):
            self._run()

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function, or 0 if there is no such function."""
        self._ensure_finalized()
        if not self._runs:
            if all(one.name != name or one.is_declaration for one in self._final_module.functions):
                return 0
            self._run()
        return int(super().get_pointer_to_function(name))

    def serialize_using_object_code(self) -> tuple[object, ...]:
        """As numba's, with the names of what is defined; what only waits has no machine code to be kept."""
        self._ensure_finalized()
        if not self._runs:
            return tuple(self.serialize_using_bitcode())
        name, kind, data = super().serialize_using_object_code()
        module = self._final_module
        named = (*module.functions, *module.global_variables)
        return name, kind, (*data, [one.name for one in named if not one.is_declaration])

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        kept = codegen.create_library(name)
        if kind == "bitcode":
            kept._final_module = _parse_bitcode(data)
            kept._finalized = True
            return kept
        code, kept._kept_bitcode, names = data
        kept.enable_object_caching()
        kept._set_compiled_object(code)
        kept._finalize_final_module()
        kept._codegen._engine._defined_symbols.update(names)
        return kept

    def _get_module_for_linking(self) -> Any:
        """As numba's; of a kernel that was kept it is read when it is asked for, which is hardly ever."""
        if self._shared_module is None and self._kept_bitcode:
            self._shared_module = _parse_bitcode(self._kept_bitcode)
        return super()._get_module_for_linking()

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        self._runs = True

    def _run(self) -> None:
        """Optimize the kernel with all that it is made of, and make machine code of it."""
        self._codegen._check_llvm_bugs()
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name) if variable.name.startswith(_ENVIRONMENT) else None
            if environment is not None:
                self._codegen.set_env(variable.name, environment)
