"""Tables people write, checked: every problem in plain words, with its key, what was received and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from reissue.errors import SchemaError, did_you_mean

HINTS = {
    "identifier": "Name the column that identifies a person.",
    "quasi_identifiers": "List the columns an attacker may know.",
    "sensitive": "Name the column nobody may learn.",
}


Table = TypeVar("Table", bound=BaseModel)


class Strict(BaseModel):
    """A table that takes only the keys it knows, and no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


def read_table(model: type[Table], given: object, path: str, example: str) -> Table:
    """The table, or an error; `example` shows how to write one."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"{path}: received {given!r}. Write {example}.")
    table, problems = validate(model, dict(given), path)
    if table is None:
        raise SchemaError(" ".join(problems))
    return table


def validate(model: type[Table], given: dict[str, object], path: str) -> tuple[Table | None, list[str]]:
    """(the table, or None if something is wrong with it; what is wrong)."""
    try:
        return model.model_validate(given), []
    except ValidationError as error:
        allowed = tuple(model.model_fields)
        return None, [_sentence(details, path, allowed) for details in error.errors(include_url=False)]


def _sentence(error: ErrorDetails, path: str, allowed: tuple[str, ...]) -> str:
    """One problem in plain words: key, what was received, what is allowed."""
    key = ".".join(str(part) for part in error["loc"])
    where = f"{path}.{key}" if path else key
    if error["type"] == "missing":
        return f"{where}: missing. {HINTS.get(key, 'Add it.')}"
    if error["type"] == "extra_forbidden":
        return tell_unknown(where, allowed, "key")
    received = error["input"]
    if error["type"] == "literal_error":
        choices = str(error.get("ctx", {}).get("expected", "")).replace("'", '"')
        near = did_you_mean(received, [choice.strip(' "') for choice in choices.replace(" or ", ",").split(",")])
        return f"{where}: received {received!r}.{near} Allowed: {choices}."
    wanted = error["msg"].removeprefix("Value error, ").replace("Input should", "It should")
    return f"{where}: received {received!r}. {wanted}."


def tell_unknown(where: str, allowed: Iterable[str], kind: str) -> str:
    """An unknown key or section, with the nearest known one."""
    allowed = [name for name in allowed if name != "taxonomy"]  # only in stored schemas
    return f"{where}: unknown {kind}.{did_you_mean(where.rpartition('.')[2], allowed)} Allowed: {', '.join(allowed)}."
