"""Getting the compiler ready while something else waits for the disk."""

from __future__ import annotations

from threading import Thread


def warm_up() -> None:
    """Load numba in the background: it takes about a second of a fresh process, whichever kernel runs first.

    Reading and decoding a snapshot runs outside the interpreter, so both go on side by side.
    """
    Thread(target=_load, name="warm-up").start()


def _load() -> None:
    from reissue.core.warmth import touch

    touch(1)
