"""Getting compiled kernels ready to run."""

from __future__ import annotations

import sys

_BLAS = "scipy.linalg.cython_blas"


def load() -> None:
    """Import numba and let it set itself up, without SciPy's linear algebra: half of the time it takes otherwise.

    Before the first kernel runs, numba asks whether SciPy can do linear algebra, by importing all of it. No kernel here
    does any. Kernels of others that do are not affected: numba is told the answer, and imports what they need when it
    compiles them. To be called where no other thread is importing SciPy.
    """
    if _BLAS in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[_BLAS] = None  # type: ignore[assignment]  # "there is no such module"
    try:
        from reissue.core.compiled import njit

        njit(cache=True)(_nothing)()
    finally:
        del sys.modules[_BLAS]
    from numba.np import arraymath

    if hasattr(arraymath, "_HAVE_BLAS"):
        arraymath._HAVE_BLAS = True


def _nothing() -> None:
    """The smallest kernel."""
