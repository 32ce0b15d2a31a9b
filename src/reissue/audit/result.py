"""What an audit tells: findings and breaches, as a document, as a page, as lines for a terminal; and what else to know.

What not being in a release reveals is no attack: nobody but the publisher, or who has the snapshots, knows whose rows
are missing and why. But whoever knows that somebody should be there, and how often each value occurs in all, can do
the subtraction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from reissue.arguments import check_arguments
from reissue.arrays.sets import union
from reissue.arrays.types import Int64
from reissue.audit.attacks import STATUSES, AttackResult
from reissue.audit.description import ReleaseNotes, SeriesView
from reissue.audit.document import make_document, to_plain
from reissue.audit.rates import SeriesRates
from reissue.audit.row_linkage import Traceable, find_public_table
from reissue.audit.verdict import judge, list_lines
from reissue.coding import Coding
from reissue.documents import write_json, write_text
from reissue.ledger import Ledger, ReleaseRecord, count_erased
from reissue.ledger.disk import hash_file
from reissue.ledger.records import Layout
from reissue.methods.attack import Finding, Outcome
from reissue.methods.plain_words import describe_attack
from reissue.model.observed import Observed
from reissue.schema import Schema
from reissue.showing import Shown, Sketch

if TYPE_CHECKING:
    from reissue.audit.person import Person


def find_folders(ledger: Ledger) -> list[Path]:
    """Where the releases were published, in order."""
    return [Layout(ledger.path).release(one.number) for one in ledger.releases]


def note_missing_files(ledger: Ledger, schema: Schema) -> list[str]:
    """What is not known because public files are gone: the ledger keeps no insensitive columns."""
    places = zip(ledger.releases, find_folders(ledger), strict=True) if schema.insensitive else ()
    gone = [one.name for one, folder in places if find_public_table(folder) is None]
    if not gone:
        return []
    many = f"releases {', '.join(gone)}" if len(gone) > 1 else f"release {gone[0]}"
    return [
        f"The published files of {many} are missing, so that no row could be traced by its insensitive columns "
        "there. Restore them from a backup of the series."
    ]


def note_erased(ledger: Ledger) -> list[str]:
    """Whom the ledger would not know again: for them alone a promise for life may be broken unseen."""
    erased = count_erased(ledger.shelf)
    if not erased:
        return []
    people = "1 person was erased" if erased == 1 else f"{erased:,} people were erased"
    return [
        f"{people}: neither identifier nor mark is left. Whoever of them came back since, or does, counts as somebody "
        "new, and what is found here about people who stay under one number does not cover both of theirs."
    ]


def hash_source(source: object) -> dict[str, str]:
    """The files of a release that was given, each with its SHA-256: what exactly was audited. None of a frame."""
    if not isinstance(source, str | PathLike) or not Path(source).exists():
        return {}
    path = Path(source)
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    return {str(one.relative_to(path)) if path.is_dir() else one.name: hash_file(one) for one in files}


def describe_config(path: Path) -> dict[str, str] | None:
    """Name and SHA-256 of the config that says what was audited; None if it is not there."""
    return next(({"name": name, "sha256": digest} for name, digest in hash_source(path).items()), None)


@dataclass(frozen=True)
class Absence:
    """People who were left out of a release, and the commonest value among them with its share.

    reveals: whether that share is above the limit that classes have
    """

    release: int
    people: int
    value: str
    share: float
    reveals: bool
    sentence: str

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def read_left_out(record: ReleaseRecord) -> dict[int, int]:
    """By value, the people of the snapshot who are not in the release."""
    kept = record.counts.get("left_out", {})
    assert isinstance(kept, Mapping)
    return {int(code): int(rows) for code, rows in kept.items()}


def find_absences(
    notes: Sequence[ReleaseNotes], called: Sequence[tuple[int, str]], coding: Coding, limit: float
) -> list[Absence]:
    """Of every release that left somebody out, as far as that is known. called: its number, and what people call it."""
    found = []
    for one, (number, name) in zip(notes, called, strict=True):
        if not one.left_out:
            continue
        people = sum(one.left_out.values())
        top = max(one.left_out, key=lambda code: (one.left_out[code], -code))
        share, value = one.left_out[top] / people, coding.values[top]
        who = "1 person was" if people == 1 else f"{people:,} people were"
        sentence = f"{who} left out of {name}: {100 * share:.0f}% of them have {value} (limit: {100 * limit:.0f}%)."
        if share > limit:
            sentence += " Whoever knows who is missing learns that about them. Ask for less, so that they fit a class."
        found.append(Absence(number, people, value, share, share > limit, sentence))
    return found


IN_FRAME = pa.schema(
    [
        ("attack", pa.string()),
        ("breach", pa.bool_()),
        ("level", pa.float64()),
        ("unit", pa.string()),
        ("threshold", pa.float64()),
        ("value", pa.string()),
        ("releases", pa.list_(pa.int64())),
        ("subjects", pa.list_(pa.string())),
        ("sentence", pa.string()),
    ]
)
"""What a frame of findings has of each."""
IN_REPORT = 40
"""Findings of each attack that the HTML report shows."""


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Shown):
    """What an attacker with all the releases learns, about whom.

    checked: every attack, with its outcome or the reason why it did not run; breached ones first
    release_notes, view: what the document tells beside what an attacker sees
    absences: what not being in a release reveals
    find_numbers: the numbers that a person of an identifier has had; None where the audit was not made in this process
    promised: the attacks that the strategy of the series promises to stop; policy: its limits, by name
    pairs: attributes by which rates are measured, none: chosen from the schema; None: they are not measured, where
           the values of rows are not those of people
    """

    observed: Observed
    coding: Coding
    checked: Sequence[AttackResult]
    release_notes: Sequence[ReleaseNotes]
    view: SeriesView
    traceable: Sequence[Traceable]
    thresholds: Mapping[str, object]
    thresholds_from: str
    about: Mapping[str, object]
    notes: Sequence[str]
    names_shown: bool
    risk_threshold: float
    promised: Sequence[str] = ()
    policy: Mapping[str, float] = field(default_factory=dict)
    absences: Sequence[Absence] = ()
    find_numbers: Callable[[str], Int64] | None = None
    pairs: Sequence[str] | None = None
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """What each attack found, by name; attacks that did not run are in `skipped`."""
        return {one.name: one.outcome for one in self.checked if one.outcome is not None}

    @property
    def skipped(self) -> dict[str, str]:
        """Why each of the other attacks did not run."""
        return {one.name: str(one.reason) for one in self.checked if one.outcome is None}

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for outcome in self.outcomes.values() for finding in outcome.findings)

    @property
    def breaches(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.breach)

    @property
    def subjects(self) -> int | None:
        """How many different people are in the series; None where nobody is known."""
        return self.view.people

    @cached_property
    def at_risk(self) -> Int64:
        """int64[]: different people whom a successful attack puts at risk, by number."""
        parts = [
            ids for one in self.checked if one.outcome and one.outcome.breaches for ids in one.outcome.at_risk.values()
        ]
        return union(*parts)

    @cached_property
    def rates(self) -> list[SeriesRates]:
        """How far off the rates are that readers compute; measured when first asked for."""
        return [] if self.pairs is None else self.view.measure_rates(len(self.coding.values), self.pairs)

    @property
    def naming(self) -> tuple[Traceable, ...]:
        """Insensitive columns that name rows of a single release, whatever is generalized: a breach of their own."""
        return tuple(one for one in self.traceable if one.releases[0] == one.releases[1])

    @property
    def verdict(self) -> str:
        """Whether the promise holds, and what succeeds beyond it."""
        return " ".join(list_lines(judge(self))[:2])

    def _sketch(self) -> Sketch:
        statuses = {status: [one.name for one in self.checked if one.status == status] for status in STATUSES}
        told: dict[str, object] = {status: ", ".join(names) for status, names in statuses.items() if names}
        return f"{self.about['name']}: {self.verdict}", told

    def findings_frame(self) -> pa.Table:
        """One row for each finding, those of breached attacks first; pandas and Polars take it as it is.

        `subjects` and `releases` are lists.
        """
        return pa.Table.from_pylist(
            [{key: to_plain(getattr(one, key)) for key in IN_FRAME.names} for one in self.findings], schema=IN_FRAME
        )

    @check_arguments
    def to_dict(self, *, findings: int | None = None) -> dict[str, object]:
        """The document `reissue-audit/1` (docs/audit-json.md); `findings` limits those listed of each attack."""
        return make_document(self, findings)

    @check_arguments
    def to_json(self, path: str | PathLike[str] | None = None, *, public: bool = False) -> str:
        """The document as text, also written to `path` if one is given, for its owner only unless it is public."""
        return write_json(self.to_dict(), path, public)

    @check_arguments
    def to_html(self, path: str | PathLike[str] | None = None, *, public: bool = False) -> str:
        """One self-contained offline page, also written to `path` if one is given, for its owner only unless public."""
        from reissue.report import render_audit

        return write_text(render_audit(self.to_dict(findings=IN_REPORT)), path, public)

    @check_arguments
    def look_up(self, identifier: str | int) -> Person:
        """What the series reveals about one person: their classes, what attackers see of them, who finds them."""
        from reissue.audit.person import look_up

        return look_up(self, str(identifier))

    def describe(self) -> str:
        """The audit in a few lines, for a terminal."""
        lines = [*list_lines(judge(self)), ""]
        for one in self.checked:
            lines.append(f"{one.status:9} {one.name}: {_describe_result(one)}")
            if one.outcome is not None:
                lines += [f"            - {finding.sentence}" for finding in one.outcome.breaches[:3]]
                listed = len(one.outcome.breaches)
                more = (one.outcome.total if listed == len(one.outcome.findings) else listed) - 3
                lines += [f"            - ... and {more:,} more"] if more > 0 else []
                lines += [f"            note: {note}" for note in one.outcome.notes]
        lines += [f"traceable {one.sentence}" for one in self.traceable]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _describe_result(one: AttackResult) -> str:
    words = describe_attack(one.name)
    if one.outcome is None:
        return f"{words.does} Not run: {one.reason}"
    at_risk = [len(ids) for ids in one.outcome.at_risk.values()]
    most = max(at_risk, default=0)
    people = f", up to {'1 person' if most == 1 else f'{most:,} people'} at risk in one release" if most else ""
    found = "1 finding" if one.outcome.total == 1 else f"{one.outcome.total:,} findings"
    who = f" Who could do it: {words.who[:1].lower()}{words.who[1:]}" if one.status == "breached" else ""
    return f"{words.does} {found}{people}.{who}"
