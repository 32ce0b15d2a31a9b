"""What the recipient of a release must know to read it."""

from __future__ import annotations


def describe_reading(form: str, k: int, totals: float | None) -> tuple[str, ...]:
    """Plain sentences for `release.json`."""
    group = f"a group of at least {k} values that was formed once, without looking at who has which value"
    if form == "flat":
        values = (
            f"The value of a row was dealt to it at random, once, inside {group}; a row keeps its dealt value in every "
            "release while its true value stays the same. So counts and shares over many rows are right on average, "
            "and what a single row says about a person is not true by design.",
            "A count of n rows with a value is usually within 2 times the square root of n of the true one, and exact "
            "where the rows are whole groups.",
        )
    else:
        values = (
            f"Every class is {group}. The table 'values' says how often each value occurs in it, and that never "
            "changes. People may have left a class since, so that it can have fewer rows than values.",
            "To count people with a value, give every row the shares of its class. A count of n is usually within the "
            "square root of n of the true one. `reissue estimate` comes nearer: it learns from all classes together "
            "which rows of a class are likelier to have which of its values.",
        )
    ageing = (
        "The values of a class are those of the people it was formed of. Where leaving depends on the value, today's "
        "mix differs: weight the values so that they add up to the table 'totals', which says how many people present "
        "have each value"
    )
    if totals is None:
        return (
            *values,
            f"{ageing}, as far as it can be expected from the values of all classes and how many of their people are "
            "left. It is an estimate, made without looking at who left.",
        )
    return (
        *values,
        f"{ageing}. It lies between what can be expected from the classes and the true number with noise (two-sided "
        f"geometric, scale {2 / totals:g} for each release in which somebody left or returned), so that a small total "
        "may be below 0: take it for 0.",
    )
