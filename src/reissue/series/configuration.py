"""`reissue.toml`: what a series was created with, for people to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reissue.schema import Attribute, Categorical, Schema
from reissue.schema.toml import write_key, write_value


def write_config(
    schema: Schema,
    policy: Mapping[str, object],
    formats: Sequence[str],
    on_change: str,
    engine: Mapping[str, object],
    fragments: int,
    others: Mapping[str, Mapping[str, object]],
) -> str:
    """The config as TOML; others: more sections. Hierarchies are named, not listed: their content is in the ledger."""
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
    ]
    for name, section in others.items():
        if section:
            lines += ["", f"[{name}]", *(f"{write_key(key)} = {write_value(value)}" for key, value in section.items())]
    return "\n".join(lines) + "\n"


def _bins(schema: Schema) -> list[str]:
    bins = [f"{write_key(name)} = {write_value(bins.to_dict())}" for name, bins in schema.bins.items()]
    spelled = [f"{write_key(key)} = {write_value(value)}" for key, value in schema.spelling.to_dict().items()]
    return [
        *(["[schema.bins]", *bins, ""] if bins else []),
        *(["[schema.spelling]", *spelled, ""] if spelled else []),
    ]


def summarize_attribute(attribute: Attribute) -> Mapping[str, object]:
    """The attribute without the content of its hierarchy."""
    if isinstance(attribute, Categorical) and attribute.hierarchy.rule is None:
        return {"hierarchy": f"{len(attribute.hierarchy.leaves)} values, kept in the ledger"}
    return {key: value for key, value in attribute.to_dict().items() if key != "values"}
