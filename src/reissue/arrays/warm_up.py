"""Getting compiled kernels ready to run."""

from __future__ import annotations


def load() -> None:
    """Import numba and let it set itself up, by running the smallest kernel."""
    from reissue.arrays.compiled import njit

    njit(cache=True)(_nothing)()


def _nothing() -> None:
    """The smallest kernel."""
