"""From tables to a proposal: who is meant, what nobody may learn, what outsiders may know, what to leave out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from reissue.engine.profile import SAMPLE, ColumnProfile, TableProfile, profile
from reissue.engine.read import Source, missing_column
from reissue.errors import SchemaError
from reissue.schema.proposal import Proposal, ProposedColumn
from reissue.schema.spelling import UTF_8
from reissue.suggest.choosing import choose_identifier, choose_sensitive, judge_column
from reissue.suggest.clues import (
    AGE,
    BORN,
    OUTSIDERS,
    UNKNOWN,
    find_date_form,
    find_missing_codes,
    has_commas,
    rank,
    words_of,
)
from reissue.suggest.coding import Spelled, code_column, find_top_share

MOST = 8
"""Quasi-identifiers that are proposed: strategies generalize all of them, and every further one costs detail."""


OTHER_LETTERS = (
    "The table is not UTF-8, so its letters are read as those of Windows in Western Europe (windows-1252): look "
    "whether accents and umlauts are right, or change the encoding."
)


def suggest(
    tables: Sequence[Source],
    *,
    identifier: str | None = None,
    sensitive: str | Sequence[str] | None = None,
    quasi_identifiers: Sequence[str] | None = None,
) -> Proposal:
    """Propose a schema and policy from snapshots, oldest first; roles that are given stay as they are. O(rows)."""
    if not tables:
        raise SchemaError("Give at least one table to propose a schema from.")
    table = profile(tables, UNKNOWN)
    secrets = [sensitive] if isinstance(sensitive, str) else list(sensitive or ())
    _refuse_unknown([*([identifier] if identifier else []), *secrets, *(quasi_identifiers or ())], table)
    spelled = {column.name: spell(column) for column in table.columns.values()}
    chosen = choose_identifier(table, identifier, [*secrets, *(quasi_identifiers or ())])
    hidden = secrets or [choose_sensitive(spelled, {chosen.name, *(quasi_identifiers or ())})]
    known = _choose_known(table, spelled, {chosen.name, *hidden}, quasi_identifiers)
    columns = tuple(
        chosen
        if name == chosen.name
        else _propose_sensitive(spelled[name], bool(secrets))
        if name in hidden
        else known[name]
        for name in table.columns
    )
    names = [column.name for column in columns if column.role == "quasi-identifier"]
    if not names:
        told = f"{table.names[-1]}: no column is left that outsiders may know."
        raise SchemaError(f"{told} Name some with --quasi-identifier.", page=f"{told} Choose at least one.")
    forms = [form for name in names if (form := spelled[name].date_form)]
    policy, notes = propose_policy([spelled[name] for name in hidden])
    return Proposal(
        sources=table.names,
        rows=table.rows,
        columns=columns,
        alone=table.count_alone(names),
        pairs=table.count_alone_in_pairs(names),
        sample=min(table.rows, SAMPLE),
        spelling={
            **({"decimal": ","} if any(spelled[name].commas for name in (*names, *hidden)) else {}),
            **({"dates": forms[0]} if forms else {}),
            **({"encoding": table.encoding} if table.encoding != UTF_8 else {}),
        },
        policy=policy,
        notes=(*([OTHER_LETTERS] if table.encoding != UTF_8 else []), *notes),
    )


def _refuse_unknown(names: Sequence[str], table: TableProfile) -> None:
    for name in names:
        if name not in table.columns:
            raise SchemaError(f"{table.names[-1]}: {missing_column(name, list(table.columns))}")


def spell(column: ColumnProfile) -> Spelled:
    """The column with what its values hint at."""
    missing = find_missing_codes(column)
    text = column.kind == "text" and column.whole
    form = find_date_form(column, missing) if column.kind in ("text", "int") and column.whole else None
    return Spelled(column, missing, form, text and form is None and has_commas(column, missing))


def _choose_known(
    table: TableProfile, spelled: Mapping[str, Spelled], taken: set[str], given: Sequence[str] | None
) -> dict[str, ProposedColumn]:
    """What all other columns may be; at most MOST quasi-identifiers, those that outsiders most often know."""
    found: dict[str, ProposedColumn] = {}
    others = [one for name, one in spelled.items() if name not in taken]
    born = [one.name for one in others if rank(one.name, BORN) is not None]
    for one in others:
        alone = table.count_alone([one.name]) if one.column.whole else None
        refused = judge_column(one, table.rows, born) if given is None else None
        if given is not None and one.name not in given:
            refused = "it was not named as a quasi-identifier."
        found[one.name] = _warn_of_ages(code_column(one, alone, table.rows, refused), born)
    if given is None:
        _drop_twins(table, found)
        _drop_many(found)
    return found


def _warn_of_ages(column: ProposedColumn, born: Sequence[str]) -> ProposedColumn:
    """An age is another one every year, which outsiders see, and a gate may stop."""
    if column.role != "quasi-identifier" or born or not set(words_of(column.name)) & set(AGE):
        return column
    return replace(column, reason=f"{column.reason} It changes every year: the year of birth would not.")


def _drop_twins(table: TableProfile, found: dict[str, ProposedColumn]) -> None:
    """Of two columns that always change together, one is enough."""
    kept: list[ProposedColumn] = []
    for column in [column for column in found.values() if column.role == "quasi-identifier"]:
        twin = next((other for other in kept if table.are_twins(other.name, column.name)), None)
        if twin is None:
            kept.append(column)
        else:
            found[column.name] = _leave(column, f"it says the same as {twin.name}, value for value.")


def _drop_many(found: dict[str, ProposedColumn]) -> None:
    def order(column: ProposedColumn) -> tuple[int, int]:
        place = rank(column.name, OUTSIDERS)
        return (len(OUTSIDERS) if place is None else place, column.distinct)

    chosen = sorted((one for one in found.values() if one.role == "quasi-identifier"), key=order)
    for column in chosen[MOST:]:
        found[column.name] = _leave(
            column,
            f"{MOST} other columns are likelier to be known to outsiders, and every further quasi-identifier costs "
            "detail. Add it if its readers need it.",
        )


def _leave(column: ProposedColumn, reason: str) -> ProposedColumn:
    return ProposedColumn(
        name=column.name, role="left out", reason=reason, distinct=column.distinct, alone=column.alone
    )


def _propose_sensitive(one: Spelled, given: bool) -> ProposedColumn:
    edges = one.bins()
    why = "named by you" if given else "its name says so" if one.is_secret else "chosen by its values"
    share = f"{100 * find_top_share(one):.0f}%"
    reason = f"nobody may learn it ({why}); {one.column.distinct:,} values, the most frequent in {share} of rows."
    if edges:
        reason += " A release shows bins of about equally many people."
    return ProposedColumn(
        name=one.name,
        role="sensitive",
        reason=reason + one.tell_missing(),
        bins=tuple(edges),
        missing=one.missing,
        nulls=one.column.nulls > 0,
        distinct=one.column.distinct,
    )


def propose_policy(secrets: Sequence[Spelled]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Standing, with limits that the most frequent value and the number of values leave room for."""
    share, values = max(map(find_top_share, secrets)), max(one.count_values() for one in secrets)
    if values < 2:
        raise SchemaError(f"'{secrets[0].name}' has only one value: there is nothing to protect. Name another column.")
    policy: dict[str, object] = {"strategy": "standing"}
    notes = ["Everybody belongs to one class for life: no attack of the audit gains by a second release."]
    if values < 4:
        policy["l"] = values
    if share > 0.32:
        policy["c"] = min(0.95, math.ceil(share * 1.2 * 20) / 20)
        notes.append(
            f"{100 * share:.0f}% of people have the same value, so c is {policy['c']}: nothing hides what most people "
            "have. Group or choose sensitive values so that none is above a third, and c = 0.4 can hold."
        )
    return policy, tuple(notes)
