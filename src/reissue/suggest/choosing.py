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
            raise _refuse_repeats(table, column)
        return _identify(column, "named by you; every row has its own value.")
    unique = [
        column
        for column in table.columns.values()
        if not column.repeated and not column.nulls and column.kind in ("text", "int") and column.name not in taken
    ]
    marked = [column for column in unique if rank(column.name, PEOPLE + EVENTS + MARKS) is not None]
    likely = marked or [column for column in unique if column.distinct >= 20 and rank(column.name, SECRETS) is None]
    if not likely:
        raise _refuse_repetition(table)

    def order(column: ColumnProfile) -> tuple[float, int]:
        place = rank(column.name, PEOPLE + EVENTS + MARKS)
        return (round(column.distinct / column.rows, 3), len(PEOPLE + EVENTS + MARKS) if place is None else place)

    best = min(likely, key=order)
    why = "every row has its own value" + (", and its name says so." if best in marked else ".")
    if len(table.names) > 1 and best.distinct < best.rows:
        why += f" {best.rows - best.distinct:,} rows are about people of an earlier table."
    if rank(best.name, PEOPLE) is None:
        several = [one.name for one in table.columns.values() if one.repeated and rank(one.name, PEOPLE) is not None]
        if several:
            why = f"{why.rstrip('.')}. Each row counts as a person: whoever has several rows by '{several[0]}' is "
            why += "protected row by row, not as one."
    return _identify(best, why)


def _identify(column: ColumnProfile, why: str) -> ProposedColumn:
    reason = f"{column.name}: {why} It is never published."
    return ProposedColumn(name=column.name, role="identifier", reason=reason, distinct=column.distinct)


def _refuse_repeats(table: TableProfile, column: ColumnProfile) -> SchemaError:
    """Why this column cannot say who a row is about."""
    told = f"{table.names[-1]}: column '{column.name}' cannot be the identifier:"
    if not column.repeated and not column.nulls:
        told += " it holds neither text nor whole numbers."
        return SchemaError(f"{told} Name another column with --identifier.", page=f"{told} Choose another column.")
    told += f" {column.repeated:,} rows repeat a value and {column.nulls:,} are empty. Keep one row per person"
    return SchemaError(f"{told}, or name another column with --identifier.", page=f"{told}, or choose another column.")


def _refuse_repetition(table: TableProfile) -> SchemaError:
    near = [one for one in table.columns.values() if rank(one.name, PEOPLE + EVENTS + MARKS) is not None]
    if near:
        return _refuse_repeats(table, min(near, key=lambda column: column.repeated))
    told = (
        f"{table.names[-1]}: no column tells people apart: in each some value stands in several rows. A series has to "
        "recognize people from table to table. Add a column with one identifier per person"
    )
    return SchemaError(f"{told}, or name one with --identifier.", page=f"{told}, and drop the table again.")


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
        told = "No column looks like something that nobody may learn: all are unique, constant or text."
        raise SchemaError(
            f"{told} Name it with --sensitive.", page=f"{told} Give it to the table, in groups if it has many values."
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
        return "nobody may learn it, as its name says; make it sensitive, too, to publish it jointly with the other."
    if born and words & set(AGE):
        return f"it says the same as {born[0]}, which does not change every year."
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
