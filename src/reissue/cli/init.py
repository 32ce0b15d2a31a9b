"""`init`: a series from a config, or from a config that is proposed from tables and judged by the steward."""

from __future__ import annotations

import sys
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

import click

from reissue.cli.options import ENGINE, INTERRUPTED, KEY, SERIES
from reissue.cli.terminal import tell
from reissue.errors import InputError, escape_controls

if TYPE_CHECKING:
    from reissue.schema.proposal import Proposal


@click.command()
@SERIES
@click.argument("more", metavar="[TABLE]...", nargs=-1)
@click.option("--config", type=click.Path(dir_okay=False), help="TOML file with schema and policy.")
@click.option("--from", "table", metavar="TABLE", help="Propose schema and policy from this table, and those after it.")
@click.option("--identifier", metavar="COLUMN", help="With --from: who a row is about.")
@click.option("--sensitive", metavar="COLUMN", multiple=True, help="With --from: what nobody may learn.")
@click.option("--quasi-identifier", "known", metavar="COLUMN", multiple=True, help="With --from: what outsiders know.")
@click.option("--strategy", metavar="NAME", help="With --from: this one, with promises like the proposed one's.")
@click.option("--yes", is_flag=True, help="With --from: take the proposal as it is, and ask nothing.")
@click.option("--catalogue", metavar="URL", help="Keep the catalogue in PostgreSQL (postgresql://...), not SQLite.")
@click.option("--seed", type=int, help="Fix every random choice (for tests); by default the seed is secret.")
@ENGINE
@KEY
def init(
    series: str,
    more: tuple[str, ...],
    config: str | None,
    table: str | None,
    identifier: str | None,
    sensitive: tuple[str, ...],
    known: tuple[str, ...],
    strategy: str | None,
    yes: bool,
    catalogue: str | None,
    seed: int | None,
    engine: str | None,
    key: str | None,
) -> None:
    """Create a series in the directory SERIES, by a config or from a proposal.

    --config names a config. --from looks at one or more tables instead, writes SERIES.toml (and hierarchies beside it)
    with a reason for every column, and asks before it creates the series; --yes asks nothing. A series that has no
    release yet is made anew.
    """
    from reissue.series import Series

    if (config is None) == (table is None):
        raise click.UsageError("Give either --config FILE, or --from TABLE to have a config proposed.")
    if table is None and (more or identifier or sensitive or known or strategy or yes):
        raise click.UsageError(
            "Tables, --identifier, --sensitive, --quasi-identifier, --strategy and --yes go with --from."
        )
    if table is not None:
        proposal = _agree((table, *more), identifier, sensitive, known, yes)
        if strategy is not None:
            from reissue.compare.planning import propose_policy

            proposal = replace(proposal, policy=propose_policy(strategy, proposal.policy))
        written = proposal.write_beside(series)
        tell(f"Wrote {', '.join(map(str, written))}.")
        config = str(written[0])
        if not (yes or (_is_terminal() and _ask(f"Create the series {series} by {config}", "yes").lower()[:1] == "y")):
            tell(f"Read {config}, then: reissue init {quote(series)} --config {quote(config)}")
            return
    assert config is not None
    with Series.from_config(
        series, config, catalogue=catalogue, seed=seed, key=key, engine=engine, replace_unused=True
    ) as created:
        tell(
            f"Created {series}: strategy {created.strategy.name}. "
            f"Publish with: reissue publish {quote(series)} SNAPSHOT"
        )


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _agree(
    tables: tuple[str, ...], identifier: str | None, sensitive: tuple[str, ...], known: tuple[str, ...], yes: bool
) -> Proposal:
    """The proposal, shown; on a terminal the steward may change who is who."""
    from reissue.schema import Schema

    proposal = Schema.suggest(
        *tables, identifier=identifier, sensitive=sensitive or None, quasi_identifiers=known or None
    )
    tell(_describe(proposal))
    while _is_terminal() and not yes:
        roles = proposal.schema
        defaults = [roles.identifier, ", ".join(roles.sensitive), ", ".join(roles.quasi_identifiers)]
        questions = ("Who is a row about", "What may nobody learn", "What may outsiders know")
        answers = [_ask(question, default) for question, default in zip(questions, defaults, strict=True)]
        if answers == defaults:
            break
        given = [[name.strip() for name in answer.split(",") if name.strip()] for answer in answers]
        first, secret, others = (
            names if answer != default else old
            for names, answer, default, old in zip(
                given,
                answers,
                defaults,
                ([roles.identifier], list(roles.sensitive), list(roles.quasi_identifiers)),
                strict=True,
            )
        )
        try:
            proposal = Schema.suggest(*tables, identifier=first[0], sensitive=secret, quasi_identifiers=others)
            tell(_describe(proposal))
        except InputError as error:
            tell(f"{error}\n", err=True)
    return proposal


def _ask(question: str, default: str) -> str:
    """The answer; who ends the questions gets nothing made, and no exit code that means a breach."""
    try:
        shown = escape_controls(f"{question} [{default}]" if default else question)
        return str(click.prompt(shown, default=default, show_default=False))
    except click.Abort:
        tell("\nNothing was created.", err=True)
        raise SystemExit(INTERRUPTED) from None


def _describe(proposal: Proposal) -> str:
    """A line or two per column, then what all together single out."""
    lines = [
        f"- {column.name} ({column.role}): {column.reason.removeprefix(f'{column.name}: ')}"
        for column in proposal.columns
    ]
    return "\n".join([*lines, "", proposal.describe_power(), *proposal.notes, ""])
