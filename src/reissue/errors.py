"""Everything Reissue raises, in one tree.

ReissueError                     exit code
├── InputError                   2   a file or table the user gave is wrong
│   ├── SchemaError              2   the config, schema or a hierarchy is wrong
│   ├── SettingsError            2   a strategy's or attack's setting is out of range
│   ├── SnapshotError            2   the snapshot does not fit the schema
│   ├── ChangeError              2   the snapshot changed in a way the strategy cannot protect
│   └── ReleaseError             2   a published release cannot be read
├── SeriesError                  2   the series cannot be used as asked
│   ├── SeriesBusy               2   another publisher is at work
│   ├── LedgerDamaged            2   a private file is missing or altered
│   └── KeyMissing               2   the ledger is encrypted and the key is absent or wrong
├── MissingExtra                 2   an optional part is not installed
├── EngineFailed                 2   Spark could not finish its work
├── GateStopped                  5   a gate stopped publish: probably a mistake; nothing changed
├── InfeasiblePolicy             3   no safe release exists under this policy
└── GuaranteeBroken              3   the finished release failed its own check; nothing was published

The command line returns 1 for a breach that an audit found, 70 for any other exception (a fault in Reissue), and 130
when it was interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, NoReturn


class ReissueError(Exception):
    """Base of all errors a caller may want to catch; `exit_code` is what the command line returns.

    page: the message for who works with the steward's page, where the remedy is another one: what to press there
    """

    exit_code = 2

    def __init__(self, *arguments: object, page: str | None = None) -> None:
        super().__init__(*(escape_controls(one) if isinstance(one, str) else one for one in arguments))
        self.page = None if page is None else escape_controls(page)


_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escape_controls(text: str) -> str:
    """The text with control characters shown, not obeyed: values and names may hold escapes of a terminal.

    Ends of lines stay, since messages have several; `show_text` is for what comes from a table.
    """
    return _CONTROLS.sub(lambda one: one[0].encode("unicode_escape").decode(), text)


def escape_json(text: str) -> str:
    """The same for a JSON document, which means what it meant: JSON itself escapes the ASCII ones only."""
    return _CONTROLS.sub(lambda one: f"\\u{ord(one[0]):04x}", text)


def show_text(text: str) -> str:
    """Something from a table, for a message: on one line, without control characters."""
    return escape_controls(text).replace("\n", "\\n")


class InputError(ReissueError):
    """Something the user handed in is wrong; the message names the place, the value and the remedy."""


class SchemaError(InputError):
    """The config, the schema or a hierarchy is wrong."""


class SettingsError(InputError):
    """A strategy's or attack's setting is out of range."""


class SnapshotError(InputError):
    """The snapshot does not fit the schema."""


class ChangeError(InputError):
    """The snapshot changed in a way that the strategy cannot protect."""


class ReleaseError(InputError):
    """A published release cannot be read."""


class SeriesError(ReissueError):
    """The series cannot be used as asked."""


class SeriesBusy(SeriesError):
    """Another publisher holds the series."""


class LedgerDamaged(SeriesError):
    """A private file is missing or is not what the catalogue says it is."""


class KeyMissing(SeriesError):
    """The ledger is encrypted and the key is absent or wrong."""


class MissingExtra(ReissueError):
    """An optional part is not installed; the message says what to install."""


def import_extra(module: str, needed: str) -> Any:
    """A module of an optional part, or a MissingExtra that says what is needed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(needed) from error


class EngineFailed(ReissueError):
    """Spark could not finish its work: a worker died, memory or disk ran out, the cluster went away."""


class GateStopped(ReissueError):
    """A gate stopped publish, since the snapshot is probably not what was meant; `gates` names those that did."""

    exit_code = 5

    def __init__(self, message: str, gates: tuple[str, ...] = (), *, page: str | None = None) -> None:
        super().__init__(message, page=page)
        self.gates = gates


class InfeasiblePolicy(ReissueError):
    """No safe release exists under this policy; the message gives the nearest feasible parameters.

    Strategies know values by code only: they write "{value:17}", and the series puts the value's label in its place.
    """

    exit_code = 3


class GuaranteeBroken(ReissueError):
    """The finished release failed its own check. Nothing was published."""

    exit_code = 3


def list_releases(labels: Mapping[int, str | None]) -> str:
    """ "1 (2024-01), 2": by their numbers, where a number is asked for. labels: of each number, if it has one."""
    return ", ".join(f"{number} ({label})" if label else str(number) for number, label in labels.items()) or "none"


def did_you_mean(received: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: " Did you mean 'k'?", or nothing if no known name is near."""
    from difflib import get_close_matches

    names, sought = list(known), str(received)
    near = [name for name in names if name.lower() == sought.lower()] or get_close_matches(sought, names, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def refuse_release(reason: str) -> NoReturn:
    """Refuse a finished release that failed its own check."""
    raise GuaranteeBroken(
        f"The finished release failed its own check: {reason}. Nothing was published. This is a fault in Reissue, not "
        "in your data: please report it with the output of `reissue log`."
    )
