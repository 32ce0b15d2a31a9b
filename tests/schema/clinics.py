"""A clinic's schema, built in Python."""

from __future__ import annotations

from reissue.schema import Numeric, Schema


def clinic(**changes: object) -> Schema:
    given: dict[str, object] = {
        "identifier": "patient",
        "quasi_identifiers": {"age": Numeric()},
        "sensitive": "diagnosis",
    }
    return Schema(**{**given, **changes})  # type: ignore[arg-type]
