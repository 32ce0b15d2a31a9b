"""Tiny tables for the page: one row per person, values in turn, so that any eight neighbours have four."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = {"identifier": "patient", "sensitive": "diagnosis", "quasi_identifiers": {"age": {"type": "int"}}}
VALUES = ("flu", "asthma", "gout", "hiv")


def table(people: range) -> pa.Table:
    return pa.table(
        {
            "patient": [f"p{one}" for one in people],
            "age": [20 + one % 60 for one in people],
            "diagnosis": [VALUES[one % 4] for one in people],
        }
    )


def csv(people: range) -> bytes:
    rows = [f"p{one},{20 + one % 60},{VALUES[one % 4]}" for one in people]
    return "\n".join(["patient,age,diagnosis", *rows, ""]).encode()
