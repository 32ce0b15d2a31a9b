"""What may be changed about the schema of a series between releases: how tables are read, and that missing is a value.

Everything else is in labels that are out, or decides who is who.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from reissue.coding import Coding
from reissue.errors import SchemaError
from reissue.ledger import Ledger
from reissue.schema import Attribute, Schema
from reissue.schema.roles import join_problems
from reissue.schema.spelling import UTF_8

ELSE = "For anything else, create a new series"


def amend(ledger: Ledger, coding: Coding, schema: Schema) -> list[str]:
    """Let the series read tables as `schema` says from now on; a sentence for each change. Needs the publisher's lock.

    What cannot be changed is refused with the reason, and then nothing is changed.
    """
    now = Schema.from_stored(cast("Mapping[str, object]", ledger.meta["schema"]))
    problems = _find_problems(now, schema)
    if problems:
        raise SchemaError(join_problems("The schema of a series that has begun", problems))
    changes = _list_changes(now, schema)
    if changes:
        hierarchies = {
            name: hierarchy.with_missing() if schema.takes_missing(name) else hierarchy
            for name, hierarchy in coding.hierarchies.items()
        }
        numbers = {
            name: replace(number, missing=number.missing or schema.takes_missing(name))
            for name, number in coding.numbers.items()
        }
        amended = Coding(schema, coding.version + 1, hierarchies, numbers, coding.value_labels)
        ledger.add_coding(amended.version, amended.to_dict(), {**ledger.meta, "schema": schema.to_dict()})
    return changes


def _find_problems(now: Schema, schema: Schema) -> list[str]:
    problems = []
    for role, why in (
        ("identifier", "it says who is who in every release"),
        ("sensitive", "promises were made about these columns"),
        ("insensitive", "they are in every release that is out"),
        ("bins", "values are published by these bins"),
    ):
        if getattr(now, role) != getattr(schema, role):
            problems.append(f"{role} cannot be changed: {why}. {ELSE}.")
    before, after = now.spelling.encoding, schema.spelling.encoding
    if before != after and UTF_8 not in (before, after):
        problems.append(
            f"spelling.encoding is {before} and stays it: in another, identifiers and values with accents "
            f"would be others than those that are out. {ELSE}."
        )
    if list(now.quasi_identifiers) != list(schema.quasi_identifiers):
        problems.append(
            f"quasi_identifiers are {', '.join(now.quasi_identifiers)}, in this order, and stay so: every box "
            f"that is out has these sides. {ELSE}."
        )
        return problems
    for name, attribute in now.quasi_identifiers.items():
        if _describe(attribute) != _describe(schema.quasi_identifiers[name]):
            problems.append(
                f"quasi_identifiers.{name}: how it is coded is in every label that is out. Values are added by "
                f"`reissue extend`. {ELSE}."
            )
    problems += [
        f"{name}: missing has been a value of its own, and may be out as such: it stays one."
        for name in (*now.quasi_identifiers, *now.sensitive)
        if now.takes_missing(name) and not schema.takes_missing(name)
    ]
    return problems


def _describe(attribute: Attribute) -> dict[str, object]:
    return {key: value for key, value in attribute.to_dict().items() if key != "missing"}


def _list_changes(now: Schema, schema: Schema) -> list[str]:
    fresh = [
        name
        for name in (*now.quasi_identifiers, *now.sensitive)
        if schema.takes_missing(name) and not now.takes_missing(name)
    ]
    changes = [f"Missing is a value of its own from now on, in: {', '.join(fresh)}."] if fresh else []
    before, after = now.spelling.to_dict(), schema.spelling.to_dict()
    changes += [
        f"{'labels' if key == 'labels' else f'spelling.{key}'} is {after.get(key, 'as usual')} from now on."
        for key in dict.fromkeys((*before, *after))
        if before.get(key) != after.get(key)
    ]
    return changes
