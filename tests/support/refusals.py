"""What a refused setting must be told with."""

from __future__ import annotations

from collections.abc import Mapping


def names(settings: Mapping[str, object]) -> str:
    """A pattern: the message is about the last of the settings.

    It begins with that setting and what it is, "c is 1.5; ..."; or, where settings do not go together, names it.
    """
    key = list(settings)[-1]
    return rf"^{key} is \S|^(?!\w+ is \S+; ).*\b{key}\b"
