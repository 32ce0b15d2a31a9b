"""Gates before the commit: what is probably a mistake stops publish, unless the steward allows it by name.

One list says everything about a gate: its name, its threshold, its check. A check returns a sentence with the numbers
and what to do, or nothing. Attacks and guarantees are not gates: nobody can allow those. One gate tells what a change
of strategy cannot keep, because earlier releases were made otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from reissue.errors import GateStopped, SettingsError, did_you_mean
from reissue.ledger import ReleaseRecord
from reissue.publish.changes import ColumnTraits

LEAST = 10
"""A share of fewer rows than this says nothing: a table of thirty may have lost two by chance."""

SHOWN = 3
"""How many examples a sentence names."""

MISSING_CODES = frozenset(
    ("na", "n/a", "n.a.", "nan", "null", "nil", "unknown", "unk", "missing", "unspecified", "not known", "not stated")
).union(("not available", "keine angabe", "unbekannt", "#n/a", "#null!", "?", "-", "--", ".", "*"))
"""What programs and people write where nothing is known, in small letters."""

MISSING_NUMBERS = frozenset({"9", "99", "999", "9999", "-1", "-9", "-99", "-999", "-9999"})
"""The same in questionnaires; among other numbers they may be values."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GateInput:
    """What gates look at. counts: of the rows, and once it is made of the release; last: the record before, if any.

    values: the sensitive values with (rows, the first of them), one entry of each for each of the columns `sensitive`
    same: the release made of a snapshot with the same fingerprint; respelled, changed: as `SnapshotTraits`
    lost: what standing classes cannot keep of people whom another strategy published before, in words; "" if nothing
    """

    counts: Mapping[str, int]
    fingerprint: str
    values: Mapping[tuple[str | None, ...], tuple[int, int]]
    sensitive: Sequence[str]
    columns: Sequence[ColumnTraits]
    respelled: Mapping[str, int]
    changed: Mapping[str, int]
    same: ReleaseRecord | None
    last: ReleaseRecord | None
    stands: bool
    lost: str = ""

    @property
    def rows(self) -> int:
        return self.counts["snapshot"]

    @property
    def name_before(self) -> str:
        return "" if self.last is None else self.last.name

    @property
    def known(self) -> int:
        """People of the snapshot who were published before."""
        return self.rows - self.counts["new"]

    def last_count(self, name: str) -> int:
        """A count of the last release; 0 where there is none."""
        rows = {} if self.last is None else self.last.counts["rows"]
        return int(str(rows.get(name, 0))) if isinstance(rows, Mapping) else 0


@dataclass(frozen=True)
class Gate:
    """One gate. limit: its threshold unless the config says otherwise, a share; None: it has none.

    after: whether it looks at the finished release, or at the snapshot alone
    """

    name: str
    about: str
    limit: float | None
    check: Callable[[GateInput, float], str | None]
    after: Literal["snapshot", "release"] = "snapshot"


@dataclass(frozen=True)
class Stop:
    """A gate that stops publish. overridable: whether `--allow` opens it; allowed: whether it did."""

    gate: str
    sentence: str
    overridable: bool = True
    allowed: bool = False

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def _check_columns(case: GateInput, limit: float) -> str | None:
    found = []
    for one in case.columns:
        if one.named:
            found.append(f"'{one.name}' holds the person's own identifier in {one.named:,} of {one.rows:,} rows")
        elif one.alone >= LEAST and one.alone > limit * one.rows:
            found.append(f"'{one.name}' has a value of its own in {one.alone:,} of {one.rows:,} rows")
    if not found:
        return None
    made = case.counts.get("counterfeits", 0)
    betrayed = f" It would also give the {made:,} counterfeits away, which repeat values." if made else ""
    return (
        f"The insensitive column {'; '.join(found)} (at most {limit:.0%}). It goes out as it is and names the rows, "
        f"whatever else is generalized.{betrayed} Take it out of the schema's insensitive columns, or make it coarser."
    )


def _check_rows(case: GateInput, limit: float) -> str | None:
    before = case.last_count("snapshot")
    if before - case.rows < LEAST or case.rows >= (1 - limit) * before:
        return None
    return (
        f"The snapshot has {case.rows:,} rows; that of release {case.name_before} had {before:,}. Is the export "
        f"complete? (More than {limit:.0%} are missing.)"
    )


def _check_same(case: GateInput, limit: float) -> str | None:
    if case.same is None:
        return None
    return (
        f"This snapshot has been published already, as release {case.same.name} on {case.same.created[:10]}: the "
        "same people with the same values. Is it the file that was meant?"
    )


def _check_known(case: GateInput, limit: float) -> str | None:
    if case.last is None or case.known or not case.counts["gone"]:
        return None
    return (
        f"None of the {case.rows:,} people were ever published, and all {case.counts['gone']:,} of release "
        f"{case.name_before} are gone. If they are the same people under other identifiers, nothing protects them. "
        "Use the identifiers of the earlier snapshots; for other people, begin a new series."
    )


def _check_changed(case: GateInput, limit: float) -> str | None:
    changed = case.counts["changed"]
    if changed < LEAST // 2 or changed <= limit * case.known:
        return None
    where = ", ".join(f"'{name}' of {count:,}" for name, count in case.changed.items() if count > changed / 2)
    return (
        f"{changed:,} of the {case.known:,} people who were published before have changed{where and ': '}{where}. Is a "
        "column written in another way than it was, or sorted apart from the others? Is it about the visit, not the "
        "person (give each visit an identifier of its own, or leave the column out)?"
    )


def _check_spelling(case: GateInput, limit: float) -> str | None:
    found = {n: count for n, count in case.respelled.items() if count >= LEAST and count > limit * case.known}
    if not found:
        return None
    columns = "; ".join(f"'{name}' of {count:,} people" for name, count in found.items())
    return (
        f"Values differ from before only in zeros in front, capitals or a '.0' at the end: {columns}. To others they "
        "would read as changed. Export the column as text (spreadsheets drop zeros), as it was before."
    )


def _check_missing(case: GateInput, limit: float) -> str | None:
    found: dict[str, int] = {}
    for place, column in enumerate(case.sensitive):
        counts: dict[str, int] = {}
        for labels, (rows, _) in case.values.items():
            label = labels[place]
            if label is not None:
                counts[label] = counts.get(label, 0) + rows
        numeric = sum(label.lstrip("-").replace(".", "", 1).isdigit() for label in counts)
        few_numbers = numeric <= sum(label in MISSING_NUMBERS for label in counts)
        found |= {
            f"{column} = '{label}' ({rows:,} rows)": rows
            for label, rows in counts.items()
            if label.strip().lower() in MISSING_CODES or (few_numbers and label in MISSING_NUMBERS)
        }
    if not found:
        return None
    return (
        f"Codes for a missing value count as values of their own: {', '.join(found)}. A class with them looks more "
        "diverse than it is: whoever is known to have been treated has another of its values. Leave these rows out, "
        "or write nothing in these cells and decide with `missing` in the schema."
    )


def _check_alike(case: GateInput, limit: float) -> str | None:
    found: list[str] = []
    for place, column in enumerate(case.sensitive):
        by_word: dict[str, list[str]] = {}
        for label in sorted({labels[place] for labels in case.values} - {None}, key=str):
            by_word.setdefault(str(label).casefold(), []).append(f"'{label}'")
        found += [f"{' and '.join(twins)} in '{column}'" for twins in by_word.values() if len(twins) > 1]
    if not found:
        return None
    more = f" (and {len(found) - SHOWN} more)" if len(found) > SHOWN else ""
    return (
        f"Values differ only in capitals: {', '.join(found[:SHOWN])}{more}. They count as different values, so a class "
        "with both looks more diverse than it is. Write them alike."
    )


def _check_values(case: GateInput, limit: float) -> str | None:
    distinct = len(case.values)
    if distinct < 2 * LEAST or distinct <= limit * case.rows:
        return None
    return (
        f"The sensitive column {' and '.join(case.sensitive)} has {distinct:,} different values in {case.rows:,} rows. "
        "Values that hardly anybody shares name their rows, and counting them as diverse means little. Group them "
        "(`bins` for numbers), or is it the wrong column?"
    )


def _check_share(name: str, sentence: str) -> Callable[[GateInput, float], str | None]:
    def check(case: GateInput, limit: float) -> str | None:
        count = case.counts.get(name, 0)
        if count < LEAST or count <= limit * case.rows or (case.stands and name == "suppressed"):
            return None
        return sentence.format(count=count, rows=case.rows, share=count / case.rows, limit=limit)

    return check


def _check_blended(case: GateInput, limit: float) -> str | None:
    blended, waiting = case.counts.get("blended", 0), case.counts["suppressed"] if case.stands else 0
    if blended + waiting < LEAST or blended + waiting <= limit * case.rows:
        return None
    return (
        f"{blended:,} people share a class with made-up values and {waiting:,} wait for a class, together "
        f"{(blended + waiting) / case.rows:.1%} of {case.rows:,} rows (at most {limit:.0%}): newcomers are too few or "
        "too alike. Publish less often, so that more come at once, or lower k."
    )


def _check_lost(case: GateInput, limit: float) -> str | None:
    if not case.lost:
        return None
    return f"{case.lost} This concerns {case.counts.get('lost_before', 0):,} people, and no later release mends it."


GATES = (
    Gate("near-unique", "an insensitive column names rows", 0.05, _check_columns),
    Gate("few-rows", "rows fell by more than this share", 0.5, _check_rows),
    Gate("same-snapshot", "the snapshot has been published already", None, _check_same),
    Gate("nobody-known", "nobody was ever published before", None, _check_known),
    Gate("all-changed", "more than this share of known people changed", 0.9, _check_changed),
    Gate("reformatted", "values of this share of known people are only spelled differently", 0.05, _check_spelling),
    Gate("missing-codes", "codes for missing values count as sensitive values", None, _check_missing),
    Gate("alike-values", "sensitive values differ only in capitals", None, _check_alike),
    Gate("many-values", "the sensitive column has more values than this share of the rows", 0.5, _check_values),
    Gate(
        "suppressed",
        "more than this share of the rows is left out",
        0.05,
        _check_share(
            "suppressed",
            "{count:,} of {rows:,} rows ({share:.1%}; at most {limit:.0%}) would be left out. Recipients would count "
            "too few people. Ask for less (a lower k or l, a higher c), or group rare values.",
        ),
        "release",
    ),
    Gate(
        "counterfeits",
        "counterfeits are more than this share of the rows",
        0.05,
        _check_share(
            "counterfeits",
            "{count:,} counterfeits for {rows:,} rows ({share:.1%}; at most {limit:.0%}): recipients would count "
            "people who do not exist. Lower m, or go on with standing, which needs none.",
        ),
        "release",
    ),
    Gate(
        "blended",
        "people beside made-up values, and waiting, are more than this share",
        0.05,
        _check_blended,
        "release",
    ),
    Gate(
        "lost-before",
        "beside releases of another strategy, standing cannot keep c for people published before",
        None,
        _check_lost,
        "release",
    ),
)
"""All gates, in the order in which they are told."""

NAMES = tuple(gate.name for gate in GATES)


def find_stops(
    case: GateInput, limits: Mapping[str, float], allow: Sequence[str], after: Literal["snapshot", "release"]
) -> list[Stop]:
    """Every gate of this time that stops the release, also those that are allowed."""
    found = []
    for gate in GATES:
        near = gate.name == "near-unique" and after == "release" and bool(case.counts.get("counterfeits"))
        if gate.after != after and not near:
            continue
        sentence = gate.check(case, limits.get(gate.name, gate.limit or 0.0))
        if sentence is not None:
            found.append(Stop(gate.name, sentence, not near, gate.name in allow and not near))
    return found


def refuse_stops(stops: Sequence[Stop]) -> None:
    """Raise GateStopped if a gate stops the release that is not allowed."""
    closed = [stop for stop in stops if not stop.allowed]
    if not closed:
        return
    many = "a gate" if len(closed) == 1 else f"{len(closed)} gates"
    told = [f"Nothing was published, {many} stopped it:", *(f"- {stop.gate}: {stop.sentence}" for stop in closed)]
    flags = [told[0], *(f"{line} {_tell_flag(stop)}" for line, stop in zip(told[1:], closed, strict=True))]
    asked = "Preview the snapshot again: each gate is then a question, and what is meant can be ticked."
    raise GateStopped("\n".join(flags), tuple(stop.gate for stop in closed), page="\n".join([*told, asked]))


def _tell_flag(stop: Stop) -> str:
    if stop.overridable:
        return f"If it is meant: --allow {stop.gate}."
    return "This cannot be allowed where counterfeits are made."


def check_allow(allow: Sequence[str]) -> tuple[str, ...]:
    """The names of gates, each once."""
    allow = [allow] if isinstance(allow, str) else allow
    for name in allow:
        if name not in NAMES:
            raise SettingsError(f"'{name}' is no gate; the gates are {', '.join(NAMES)}.{did_you_mean(name, NAMES)}")
    return tuple(name for name in NAMES if name in allow)


def check_limits(section: Mapping[str, object]) -> dict[str, float]:
    """The thresholds of a config's [gates]."""
    known = {gate.name: gate for gate in GATES if gate.limit is not None}
    for name, value in section.items():
        if name not in known:
            raise SettingsError(f"[gates] '{name}' has no threshold; {', '.join(known)} do.{did_you_mean(name, known)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise SettingsError(f"[gates] {name} is {value!r}; it is a share of rows, from 0 to 1.")
    return {name: float(str(value)) for name, value in section.items()}
