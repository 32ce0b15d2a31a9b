"""Keys and values as TOML spells them."""

from __future__ import annotations

import json
from collections.abc import Mapping


def write_key(name: str) -> str:
    """A key as TOML spells it."""
    bare = name.replace("-", "").replace("_", "")
    return name if bare.isascii() and bare.isalnum() else write_value(name)


def write_value(value: object) -> str:
    """A value as TOML spells it: text, numbers, booleans, lists and tables of these."""
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{write_key(str(key))} = {write_value(item)}" for key, item in value.items() if item is not None
        )
        return "{ " + inner + " }" if inner else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(write_value(item) for item in value) + "]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
