"""What is done to a series between releases: new values for its hierarchies, and caches proved right or mended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from reissue.arguments import describe_given, list_items
from reissue.coding import Coding
from reissue.documents import write_zip
from reissue.engine.identifiers import normalize
from reissue.engine.read import find
from reissue.errors import (
    LedgerDamaged,
    SchemaError,
    SeriesError,
    SettingsError,
    SnapshotError,
    list_releases,
    show_text,
)
from reissue.hierarchy import Hierarchy
from reissue.history.past_releases import Identities, PastReleases, compare_caches, is_readable, rebuild_caches
from reissue.ledger import Damage, Event, Ledger, Receipt, ReleaseRecord, part_name, read_events
from reissue.ledger.disk import hash_file
from reissue.ledger.records import Layout
from reissue.methods.registry import ADOPTED
from reissue.methods.strategy import Strategy
from reissue.model.release import Table
from reissue.schema import Schema


def read_assignments(assignments: Sequence[str]) -> list[tuple[str, str, Hierarchy]]:
    """(column, file, its hierarchy) of `COLUMN=FILE` arguments."""
    read = []
    for assignment in assignments:
        column, equals, file = assignment.partition("=")
        if not equals:
            raise SchemaError(f"'{assignment}' is not COLUMN=FILE, for example zip=zip2.csv.")
        read.append((column, file, Hierarchy.from_file(file)))
    return read


def forget(
    ledger: Ledger, schema: Schema, identifiers: Sequence[object], file: str | Path | None, erase: bool
) -> Receipt:
    """Forget these people and those whom the file names: all of them, in one transaction, or nobody."""
    wanted, sha256 = [one for given in identifiers for one in list_identifiers(given)], None
    if file is not None:
        wanted += _read_identifiers(Path(file), schema)
        sha256 = hash_file(Path(file))
    if not wanted:
        raise SeriesError("Nobody was named. Give identifiers, or a file of them.")
    with ledger.publisher():
        receipt = ledger.forget(wanted, erase=erase, sha256=sha256)
        if receipt.unknown:
            raise SeriesError(_explain_unknown(ledger, receipt.unknown))
    return receipt


def list_identifiers(given: object) -> list[str]:
    """One identifier, or those of a list, a set, an array or a column, as a snapshot with them would be read."""
    items = (given,) if isinstance(given, str | int) else list_items(given)
    try:
        column = pa.array([None] if items is None else items, None if items else pa.string())
        text, bad = normalize(pa.chunked_array([column]))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        text, bad = pa.array([None]), np.zeros(1, dtype=np.int64)
    if len(bad) or text.null_count or isinstance(given, bool):
        raise SettingsError(
            f"The identifier is {describe_given(given)}; give texts or whole numbers, one by one or in a list. For a "
            "file of them say file=. Nobody was forgotten."
        )
    return [str(one) for one in text.to_pylist()]


def _read_identifiers(path: Path, schema: Schema) -> list[str]:
    found = find(path, [schema.identifier], encoding=schema.spelling.encoding)
    if schema.identifier not in found.table.column_names:
        raise SnapshotError(f"{path} has no column '{schema.identifier}', which names people in this series.")
    text, bad = normalize(found.table.column(schema.identifier))
    if len(bad) or text.null_count:
        raise SnapshotError(
            f"{path}: column '{schema.identifier}' has rows without an identifier; nobody was forgotten."
        )
    return [str(one) for one in text.to_pylist()]


def _explain_unknown(ledger: Ledger, unknown: Sequence[str]) -> str:
    near = Identities.read(ledger).near(unknown[0])
    unknown = [show_text(one) for one in unknown[:3]] + list(unknown[3:])
    hint = f"did you mean '{show_text(near)}'?" if near else "was it erased before?"
    if len(unknown) == 1:
        return (
            f"'{unknown[0]}' is not known to this series. Identifiers are matched exactly; {hint} Nobody was forgotten."
        )
    shown = ", ".join(f"'{one}'" for one in unknown[:3]) + (
        f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
    )
    return (
        f"{len(unknown):,} identifiers are not known to this series: {shown}. They are matched exactly; {hint} Nobody "
        "was forgotten: correct them or take them out."
    )


def describe_receipt(receipt: Receipt, strategy: Strategy) -> list[str]:
    """What was done, in sentences."""
    people = "1 person" if receipt.people == 1 else f"{receipt.people:,} people"
    done = f"{'Erased' if receipt.erased else 'Forgot'} {people} at {receipt.created}."
    before = [f"{receipt.before:,} had been forgotten before."] if receipt.before else []
    file = [f"SHA-256 of the file that named them: {receipt.sha256}"] if receipt.sha256 else []
    if receipt.people == 0:
        return ["All of them had been forgotten before; nothing was changed."]
    if not receipt.erased:
        kept = "What the series promised about them stays in force, without the name: a one-way mark knows them again."
        return [done, *before, kept, *file]
    lost = (
        "Not even a mark is left. If they come back they count as new: values, classes and beliefs that were shown "
        "about them no longer bind what is published about them, and no audit will notice."
    )
    grows = (
        f"An erased person counts as gone, and {strategy.name} is for tables that nobody leaves: if the last release "
        "had one of them, go on with another strategy (publish --strategy), or with a new series."
    )
    return [done, *before, lost, *([] if strategy.supports.gone else [grows]), *file]


def extend(ledger: Ledger, coding: Coding, additions: Sequence[tuple[str, Hierarchy]]) -> list[bool]:
    """Whether each addition held anything new. All are checked before any is kept. Needs the publisher's lock."""
    codings = [coding]
    for column, hierarchy in additions:
        codings.append(codings[-1].extend(column, hierarchy))
    grown = [after is not before for before, after in pairwise(codings)]
    for after, new in zip(codings[1:], grown, strict=True):
        if new:
            ledger.add_coding(after.version, after.to_dict())
    return grown


def extend_as_given(ledger: Ledger, coding: Coding, given: Sequence[tuple[str, str, Hierarchy]]) -> list[str]:
    """A sentence for each (column, file, its hierarchy). Needs the publisher's lock."""
    grown = extend(ledger, coding, [(column, hierarchy) for column, _, hierarchy in given])
    return [
        f"Extended {column} by {file}." if new else f"{file} holds nothing new for {column}; nothing was changed."
        for (column, file, _), new in zip(given, grown, strict=True)
    ]


def list_events(ledger: Ledger) -> list[Event]:
    """Releases and what was done beside them, in the order in which it was committed."""
    published = [
        Event(
            "adopt" if record.strategy == ADOPTED else "publish",
            record.created,
            str(record.counts.get("user", "")),
            {"release": record.number, "label": record.label, "allowed": record.counts.get("allowed", [])},
            (record.number,),
        )
        for record in ledger.releases
    ]
    return sorted([*published, *read_events(ledger.shelf)], key=lambda event: event.place)


def withdraw(
    ledger: Ledger,
    reason: str | None,
    not_handed_out: bool,
    find_strategy: Callable[[Sequence[ReleaseRecord]], Strategy],
) -> ReleaseRecord:
    """Take the last release back and return what it was. Needs the publisher's lock."""
    if not ledger.releases:
        raise SeriesError("Nothing has been published, so there is nothing to withdraw.")
    last = ledger.releases[-1]
    if last.strategy == ADOPTED:
        raise SeriesError(f"Release {last.name} was published with another tool and adopted: it cannot be withdrawn.")
    if not not_handed_out:
        told = (
            f"Release {last.name} may have been handed out, and what was handed out cannot be taken "
            "back: the ledger must remember it, so that the next release is safe in view of it. Ask recipients to "
            "delete it, and publish a corrected snapshot as the next release. Only if nobody outside has it"
        )
        raise SeriesError(f"{told}: --not-handed-out (not_handed_out=True).", page=f"{told}, tick that nobody has.")
    why = "It was not handed out." if reason is None else reason.strip()
    if not why:
        raise SettingsError("Say why the release is withdrawn: the ledger keeps the reason.")
    ledger.withdraw(why, _rebuild_before(ledger, last, find_strategy))
    return last


def pack(ledger: Ledger, name: int | str | None, target: Path) -> ReleaseRecord:
    """Exactly the public files of a release as a zip file, each compared with its hash; the same one every time.

    name: its label or number; by default the last one
    """
    if not ledger.releases:
        raise SeriesError("Nothing has been published yet, so there is nothing to hand out.")
    record = ledger.releases[-1] if name is None else _find(ledger.releases, name)
    content = {}
    for file in record.files:
        path = Layout(ledger.path).release(record.number) / file.name
        if not path.is_file() or hash_file(path) != file.sha256:
            raise LedgerDamaged(
                f"{path} is missing, or not what was published: it must not be handed out. Restore it from a backup of "
                "the series."
            )
        content[file.name] = path
    write_zip(content, target)
    return record


def _find(releases: Sequence[ReleaseRecord], name: int | str) -> ReleaseRecord:
    """The release of this label; without one, of this number."""
    found = [one for one in releases if one.label == name] or [one for one in releases if str(one.number) == str(name)]
    if not found:
        labels = {one.number: one.label for one in releases}
        raise SeriesError(f"There is no release {name}; the series has {list_releases(labels)}.")
    return found[0]


def _rebuild_before(
    ledger: Ledger, last: ReleaseRecord, find_strategy: Callable[[Sequence[ReleaseRecord]], Strategy]
) -> dict[str, Table]:
    """The caches as they were before the last release, in the coding that will be the latest then. O(rows of all)."""
    shelf, releases = ledger.shelf, ledger.releases[:-1]
    if not releases:
        return {}
    before = replace(shelf, state=replace(shelf.state, releases=tuple(releases)))
    codings = shelf.state.of_role("coding")
    stays = len(codings) - (codings[-1].release == last.number)
    coding = Coding.from_dict(ledger.coding(int(codings[stays - 1].name)))
    found: dict[str, Table] = {}
    for fragment in before.fragments:
        own = rebuild_caches(find_strategy(releases), PastReleases(before, coding, fragment, counted=True))
        found |= {part_name(name, fragment): table for name, table in own.items()}
    return found


def mend_caches(ledger: Ledger, strategy: Strategy, coding: Coding) -> list[Damage]:
    """Rebuild every cache from the facts, and put it in the place of one that differs. Needs the publisher's lock.

    Where a hierarchy was extended since, they are still in the codes of the last release, or already in today's.
    Those that an older version made may differ and be right: of them only what cannot be read is damaged.
    """
    wrong: list[str] = []
    right: dict[str, Table] = {}
    older, differ = ledger.has_older_caches, False
    then = ledger.releases[-1].coding_version if ledger.releases else coding.version
    codings = [coding] if then == coding.version else [coding, Coding.from_dict(ledger.coding(then))]
    for fragment in ledger.shelf.fragments:
        kept = ledger.shelf.caches(fragment)
        rebuilt = [rebuild_caches(strategy, PastReleases(ledger.shelf, one, fragment, counted=True)) for one in codings]
        found, own = min(((compare_caches(one, kept), one) for one in rebuilt), key=lambda tried: len(tried[0]))
        differ |= bool(found)
        wrong += [name for name in found if name in kept and not is_readable(kept[name])] if older else found
        right |= {part_name(name, fragment): table for name, table in own.items()}
    if differ:
        ledger.replace_caches(right)
    reason, remedy = "it was damaged, or did not follow from the facts.", "It has been rebuilt; nothing is left to do."
    return [Damage(file=f"cache {name}", reason=reason, remedy=remedy) for name in wrong]
