"""Which column identifies people, which one nobody may learn, and which ones are better left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reissue.engine.profile import ColumnProfile, TableProfile
from reissue.errors import SchemaError
from reissue.schema.proposal import ProposedColumn
from reissue.suggest.clues import AGE, EVENTS, MARKS, NAMES, OUTSIDERS, PEOPLE, SECRETS, is_free_text, rank, words_of
from reissue.suggest.coding import Spelled, find_top_share

MOST_VALUES = 1_000
"""A column of text with more values is proposed neither as a category nor as sensitive."""
LARGEST = 1_000_000_000
MOST_FREQUENT = 0.9
"""A column of which more people have one value is sensitive only if nothing else can be."""


def choose_identifier(table: TableProfile, given: str | None, taken: Sequence[str]) -> ProposedColumn:
    """The column whose values are all different: by its name, and of several the one whose people come again."""
    if given is not None:
        column = table.columns[given]
        if column.repeated or column.nulls:
            raise SchemaError(f"{table.names[-1]}: {_describe_repeats(column)}")
        return _identify(column, "named by you; every row has its own value.")
    unique = [
        column
        for column in table.columns.values()
        if not column.repeated and not column.nulls and column.kind in ("text", "int") and column.name not in taken
    ]
    marked = [column for column in unique if rank(column.name, PEOPLE + EVENTS + MARKS) is not None]
    likely = marked or [column for column in unique if column.distinct >= 20 and rank(column.name, SECRETS) is None]
    if not likely:
        raise SchemaError(f"{table.names[-1]}: {_tell_no_identifier(table)}")

    def order(column: ColumnProfile) -> tuple[float, int]:
        place = rank(column.name, PEOPLE + EVENTS + MARKS)
        return (round(column.distinct / column.rows, 3), len(PEOPLE + EVENTS + MARKS) if place is None else place)

    best = min(likely, key=order)
    why = "every row has its own value" + (", and its name says so." if best in marked else ".")
    if len(table.names) > 1 and best.distinct < best.rows:
        why += f" {best.rows - best.distinct:,} rows are about people of an earlier table."
    return _identify(best, why)


def _identify(column: ColumnProfile, why: str) -> ProposedColumn:
    reason = f"{column.name}: {why} It is never published."
    return ProposedColumn(name=column.name, role="identifier", reason=reason, distinct=column.distinct)


def _describe_repeats(column: ColumnProfile) -> str:
    if not column.repeated and not column.nulls:
        return (
            f"column '{column.name}' cannot be the identifier: it holds neither text nor whole numbers. Name another "
            "column with --identifier."
        )
    return (
        f"column '{column.name}' cannot be the identifier: {column.repeated:,} rows repeat a value and "
        f"{column.nulls:,} are empty. Keep one row per person, or name another column with --identifier."
    )


def _tell_no_identifier(table: TableProfile) -> str:
    near = [one for one in table.columns.values() if rank(one.name, PEOPLE + EVENTS + MARKS) is not None]
    if near:
        return _describe_repeats(min(near, key=lambda column: column.repeated))
    return (
        "no column tells people apart: in each some value stands in several rows. A series has to recognize people "
        "from table to table. Add a column with one identifier per person, or name one with --identifier."
    )


def choose_sensitive(spelled: Mapping[str, Spelled], taken: set[str]) -> str:
    """The column that nobody may learn: by its name, if its values leave room for a promise; else by its values.

    A name counts for more than room: with little of it the policy allows a larger c or fewer values. Only where nearly
    everybody has one value there is nothing to promise.
    """
    fit = [one for one in spelled.values() if one.name not in taken and _may_be_sensitive(one)]

    def order(one: Spelled) -> tuple[int, int, float]:
        place, share = rank(one.name, SECRETS), find_top_share(one)
        roomy = share <= 0.32 and one.count_values() >= 4
        if place is not None:
            return (0 if roomy else 1 if share <= MOST_FREQUENT else 3, place, share)
        return (2 if roomy else 4, int(rank(one.name, OUTSIDERS) is not None), share)

    if not fit:
        raise SchemaError(
            "No column looks like something that nobody may learn: all are unique, constant or text. Name it with "
            "--sensitive."
        )
    return min(fit, key=order).name


def _may_be_sensitive(one: Spelled) -> bool:
    column = one.column
    if not column.whole or column.kind in ("date", "other") or one.date_form or one.count_values() < 2:
        return False
    if set(words_of(one.name)) & {*NAMES, *MARKS, *PEOPLE}:
        return False
    if column.kind in ("int", "float") or one.commas:
        return one.is_secret
    return column.distinct <= max(MOST_VALUES, 20) and column.distinct <= max(4, 0.2 * column.rows)


def judge_column(one: Spelled, rows: int, born: Sequence[str]) -> str | None:
    """Why a column is left out; None if it may be a quasi-identifier."""
    column = one.column
    known = rank(one.name, OUTSIDERS) is not None
    words = set(words_of(one.name))
    if column.kind == "other":
        return "its type cannot be published: lists, bytes, or moments with a time of day."
    if one.count_values() <= 1 and column.whole:
        return "all its values are the same."
    if words & set(NAMES):
        return "its name says that it identifies people directly."
    if words & {*MARKS, *PEOPLE} and column.distinct > max(20, 0.2 * column.rows):
        return f"it identifies people: {column.distinct:,} different values in {column.rows:,} rows."
    if one.is_secret and not known:
        return "nobody may learn it, as its name says; name it with --sensitive to publish it jointly with the other."
    if born and words & set(AGE):
        return f"{born[0]} says the same, and does not change every year."
    return _judge_values(one, known, rows)


def _judge_values(one: Spelled, known: bool, rows: int) -> str | None:
    column = one.column
    number = column.kind in ("int", "float") or one.commas
    dated = column.kind == "date" or one.date_form is not None
    if not number and not dated and is_free_text(column, rows):
        return "it is free text, which nobody can generalize and anybody may recognize."
    if column.distinct > max(20, 0.5 * column.rows) and not (dated or (known and number)):
        return (
            f"nearly every row has its own value ({column.distinct:,} in {column.rows:,} rows): it identifies people."
        )
    if not number and not dated and (not column.whole or column.distinct > MOST_VALUES) and not one.is_prefixed:
        return f"{column.distinct:,} different texts are too many to propose groups: give it a hierarchy to publish it."
    if number and one.largest > LARGEST:
        return "its numbers are too large to be measurements, and may identify people."
    return None
