"""`reissue.toml`: what a series was created with, for people to read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from reissue.schema import Attribute, Categorical, Schema


def write_config(
    schema: Schema,
    policy: Mapping[str, object],
    formats: Sequence[str],
    on_change: str,
    engine: Mapping[str, object],
    fragments: int,
    audit: Mapping[str, object],
) -> str:
    """The config as TOML. Hierarchies are named, not listed: their content is in the ledger."""
    lines = [
        "# What this series was created with, for people to read. Reissue itself reads the ledger in private/.",
        "",
        "[schema]",
        f"identifier = {write_value(schema.identifier)}",
        f"sensitive = {write_value(list(schema.sensitive))}",
        f"insensitive = {write_value(list(schema.insensitive))}",
        f"missing = {write_value(schema.missing)}",
        "",
        "[schema.quasi_identifiers]",
        *(
            f"{write_key(name)} = {write_value(summarize_attribute(attribute))}"
            for name, attribute in schema.quasi_identifiers.items()
        ),
        "",
        *_bins(schema),
        "[policy]",
        *(f"{write_key(key)} = {write_value(value)}" for key, value in policy.items() if value is not None),
        f"on_change = {write_value(on_change)}",
        "",
        "[output]",
        f"formats = {write_value(list(formats))}",
        "",
        "[engine]",
        *(f"{write_key(key)} = {write_value(value)}" for key, value in engine.items()),
        *([f"fragments = {fragments}"] if fragments else []),
        *(
            ["", "[audit]", *(f"{write_key(key)} = {write_value(value)}" for key, value in audit.items())]
            if audit
            else []
        ),
    ]
    return "\n".join(lines) + "\n"


def _bins(schema: Schema) -> list[str]:
    bins = [f"{write_key(name)} = {write_value(bins.to_dict())}" for name, bins in schema.bins.items()]
    return ["[schema.bins]", *bins, ""] if bins else []


def summarize_attribute(attribute: Attribute) -> Mapping[str, object]:
    """The attribute without the content of its hierarchy."""
    if isinstance(attribute, Categorical) and attribute.hierarchy.rule is None:
        return {"hierarchy": f"{len(attribute.hierarchy.leaves)} values, kept in the ledger"}
    return {key: value for key, value in attribute.to_dict().items() if key != "values"}


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
