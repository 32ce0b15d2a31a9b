"""`reissue.toml`: what a series was created with, for people to read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from reissue.schema import Attribute, Categorical, Schema


def config_text(
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
        f"identifier = {toml_value(schema.identifier)}",
        f"sensitive = {toml_value(list(schema.sensitive))}",
        f"insensitive = {toml_value(list(schema.insensitive))}",
        f"missing = {toml_value(schema.missing)}",
        "",
        "[schema.quasi_identifiers]",
        *(
            f"{toml_key(name)} = {toml_value(summary(attribute))}"
            for name, attribute in schema.quasi_identifiers.items()
        ),
        "",
        *_bins(schema),
        "[policy]",
        *(f"{toml_key(key)} = {toml_value(value)}" for key, value in policy.items() if value is not None),
        f"on_change = {toml_value(on_change)}",
        "",
        "[output]",
        f"formats = {toml_value(list(formats))}",
        "",
        "[engine]",
        *(f"{toml_key(key)} = {toml_value(value)}" for key, value in engine.items()),
        *([f"fragments = {fragments}"] if fragments else []),
        *(
            ["", "[audit]", *(f"{toml_key(key)} = {toml_value(value)}" for key, value in audit.items())]
            if audit
            else []
        ),
    ]
    return "\n".join(lines) + "\n"


def _bins(schema: Schema) -> list[str]:
    bins = [f"{toml_key(name)} = {toml_value(bins.to_dict())}" for name, bins in schema.bins.items()]
    return ["[schema.bins]", *bins, ""] if bins else []


def summary(attribute: Attribute) -> Mapping[str, object]:
    """The attribute without the content of its hierarchy."""
    if isinstance(attribute, Categorical) and attribute.hierarchy.rule is None:
        return {"hierarchy": f"{len(attribute.hierarchy.leaves)} values, kept in the ledger"}
    return {key: value for key, value in attribute.to_dict().items() if key != "values"}


def toml_key(name: str) -> str:
    """A key as TOML spells it."""
    bare = name.replace("-", "").replace("_", "")
    return name if bare.isascii() and bare.isalnum() else toml_value(name)


def toml_value(value: object) -> str:
    """A value as TOML spells it: text, numbers, booleans, lists and tables of these."""
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{toml_key(str(key))} = {toml_value(item)}" for key, item in value.items() if item is not None
        )
        return "{ " + inner + " }" if inner else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
