"""From files to a series as an attacker sees it: labels become boxes, rows classes, snapshots members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.sets import difference, sorted_unique
from reissue.arrays.types import Bool, Int32, Int64
from reissue.audit.description import ReleaseNotes
from reissue.audit.foreign.labels import PLAIN_NUMBER, Told, learn_labels, list_held, quote, read_intervals
from reissue.audit.foreign.matching import BY_CONTENT, Matched, match_by_content, match_by_order, match_exactly
from reissue.audit.foreign.reading import Published, read_published, refuse_long_labels
from reissue.coding import Coding, CodingWords
from reissue.coding.codes import join_labels
from reissue.engine.identifiers import join_identifiers, refuse_lookalikes
from reissue.engine.snapshot import Snapshot, load
from reissue.engine.text import Text
from reissue.errors import ReleaseError, SettingsError
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from reissue.model.observed import Members, Observed, ObservedRelease
from reissue.model.release import Coded
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.engine.read import Source

MATCHES = ("order", "content")


@dataclass(frozen=True, eq=False)
class ForeignSeries:
    """Releases ready to be attacked; `identifiers` by subject number, empty where nobody is known."""

    observed: Observed
    release_notes: list[ReleaseNotes]
    coding: Coding
    identifiers: list[str]
    notes: list[str]
    snapshots: list[Snapshot] = field(default_factory=list)


def read_series(
    releases: Sequence[Source],
    schema: Schema,
    snapshots: Sequence[Source] | None,
    match: str,
    names: bool,
    progress: Callable[[str], None],
) -> ForeignSeries:
    """Read everything, let the coding learn it, and put people into classes where snapshots are given."""
    if isinstance(releases, str) or not releases:
        raise SettingsError("Give the releases as a list of files or frames, oldest first; received none.")
    if match not in MATCHES:
        raise SettingsError(f"match is {match!r}; it must be one of: {', '.join(MATCHES)}.")
    if snapshots and len(snapshots) != len(releases):
        raise SettingsError(
            f"The releases given are {len(releases)}, the snapshots {len(snapshots)}; give the snapshot of every "
            "release, in the same order, or none."
        )
    progress("read")
    published = [read_published(source, schema, number) for number, source in enumerate(releases, start=1)]
    if snapshots:
        _refuse_standing(published)
    loaded = [load(source, schema) for source in snapshots or ()]
    coding = learn_coding(schema, published, loaded)
    notes = [note for one in published for note in one.notes]
    shown = [_make_release(number, one, coding, notes) for number, one in enumerate(published, start=1)]
    progress("match")
    subjects, identifiers = _number_people(loaded, schema.identifier)
    seen, known = [], []
    for i, (one, (release, row_class)) in enumerate(zip(published, shown, strict=True)):
        about = ReleaseNotes(
            one.name, int((row_class < 0).sum()), insensitive=_keep_insensitive(one, row_class), about=one.about
        )
        if loaded:
            codes, values = loaded[i].encode(coding)
            coded = Coded(subjects[i], codes, values, coding.domains, len(coding.values))
            found = _match_people(one, release, row_class, coded, coding, match, notes)
            release = replace(release, members=_make_members(coded, found))
            absent = values[found.classes < 0]
            about = replace(
                about,
                ambiguous=found.ambiguous,
                coded=coded,
                suppressed=len(absent),
                left_out=dict(zip(*(one.tolist() for one in np.unique(absent, return_counts=True)), strict=True)),
            )
        seen.append(release)
        known.append(about)
    words = CodingWords(coding, (lambda n: identifiers[n]) if names else (lambda n: f"subject {n}"))
    observed = Observed(seen, coding.domains, len(coding.values), words)
    if not loaded:
        notes.append("No snapshots were given, so nobody's class is known: attacks that need members did not run.")
    return ForeignSeries(observed, known, coding, identifiers, list(dict.fromkeys(notes)), loaded)


def _refuse_standing(published: Sequence[Published]) -> None:
    """Who is in which standing class is in no file, whatever snapshots say: only the ledger knows."""
    for one in published:
        if one.about.get("style") in ("flat", "told"):
            raise ReleaseError(
                f"{one.name}: its classes stand for life, and the files do not tell who is in which. Audit the series "
                "itself (reissue audit SERIES), or leave the snapshots out."
            )


def learn_coding(schema: Schema, published: Sequence[Published], loaded: Sequence[Snapshot]) -> Coding:
    """The coding after everything was read; labels of suppressed rows teach nothing."""
    coding = Coding.start(schema)
    for snapshot in loaded:
        coding = coding.learn(snapshot.seen)
    labels: dict[str, dict[str, None]] = {name: {} for name in coding.attributes}
    values = dict.fromkeys(coding.value_labels)
    for one in published:
        refuse_long_labels(one)
        for name, text in one.labels.items():
            labels[name] |= {str(text.labels[place]): None for place in np.flatnonzero(text.counts).tolist()}
        if one.counts is None:
            fresh = _find_distinct(one.sensitive, schema, ~one.suppressed)
        else:
            fresh = _find_distinct(one.counts[1], schema, np.ones(len(one.counts[2]), dtype=np.bool_))
        values |= dict.fromkeys(fresh)
    coding = learn_labels(coding, {name: list(found) for name, found in labels.items()}, _locate_labels(published))
    new = [value for value in values if value not in coding.value_lookup]
    if not new:
        return coding
    return replace(coding, version=coding.version + 1, value_labels=(*coding.value_labels, *sorted(new)))


def _locate_labels(published: Sequence[Published]) -> Told:
    """Labels told with the first row (from 1) in which they stand."""

    def told(name: str, label: str) -> str:
        for one in published:
            text = one.labels[name]
            places = [place for place in np.flatnonzero(text.counts).tolist() if str(text.labels[place]) == label]
            if places:
                return f"{quote(label)} in row {int(text.first[places].min()) + 1:,} of {one.name}"
        return quote(label)

    return told


def _find_distinct(table: Mapping[str, Text], schema: Schema, rows: Bool) -> list[tuple[str, ...]]:
    columns = [table[name] for name in schema.sensitive]
    index = np.stack([text.index for text in columns], axis=1)[rows]
    found = np.unique(index, axis=0)
    return [tuple(str(t.labels[i]) for t, i in zip(columns, row, strict=True)) for row in found.tolist()]


def encode_values(table: Mapping[str, Text], coding: Coding) -> Int32:
    """int32[rows]: the value of each row, -1 for labels that only suppressed rows have."""
    columns = [table[name] for name in coding.schema.sensitive]
    index = np.stack([text.index for text in columns], axis=1)
    found, inverse = np.unique(index, axis=0, return_inverse=True)
    lookup = coding.value_lookup
    codes = [
        lookup.get(tuple(str(t.labels[i]) for t, i in zip(columns, row, strict=True)), -1) for row in found.tolist()
    ]
    return np.array(codes, dtype=np.int32)[inverse.reshape(-1)]


def read_boxes(one: Published, coding: Coding, notes: list[str]) -> Int32:
    """int32[rows, attributes, 2]: what the labels of each row cover."""
    boxes = np.empty((one.rows, len(coding.attributes), 2), dtype=np.int32)
    for a, name in enumerate(coding.attributes):
        text = one.labels[name]
        read = np.zeros((len(text.labels), 2), dtype=np.int32)
        used = np.flatnonzero(text.counts)
        labels = [str(text.labels[place]) for place in used.tolist()]
        read[used], told = read_intervals(coding, name, labels, _locate_labels([one]))
        notes += [f"{one.name}: {note}" for note in told]
        boxes[:, a] = read[text.index]
    return boxes


def _make_release(number: int, one: Published, coding: Coding, notes: list[str]) -> tuple[ObservedRelease, Int32]:
    """(the release without members, int32[rows of the file]: the class of each row, -1 if suppressed)."""
    boxes = read_boxes(one, coding, notes)
    if one.about.get("style") == "told":
        return _make_told(number, one, boxes, coding)
    if one.counts is not None:
        return _make_anatomized(number, one, boxes[:, :, 0], coding)
    hidden = one.suppressed
    classes = number_classes(one, hidden)
    count = int(classes.max(initial=-1)) + 1
    first = np.zeros(count, dtype=np.int64)
    first[classes[~hidden][::-1]] = np.flatnonzero(~hidden)[::-1]
    if not np.array_equal(boxes[~hidden], boxes[first[classes[~hidden]]]):
        raise ReleaseError(f"{one.name}: rows of one class differ in their labels. The file was altered.")
    values = encode_values(one.sensitive, coding)
    return ObservedRelease(number, boxes[first], classes[~hidden], values[~hidden]), classes


def number_classes(one: Published, hidden: Bool) -> Int32:
    """int32[rows]: the class of each row: its number in the file, or rows with identical labels; -1 if suppressed."""
    if one.classes is not None:
        key: Int64 = one.classes.astype(np.int64)
    else:
        key = np.zeros(one.rows, dtype=np.int64)
        for text in one.labels.values():  # dense after each step, so that it cannot overflow
            key = np.unique(key * (len(text.labels) + 1) + text.index, return_inverse=True)[1].reshape(-1)
    classes = np.full(one.rows, -1, dtype=np.int32)
    classes[~hidden] = np.unique(key[~hidden], return_inverse=True)[1].reshape(-1)
    return classes


def _make_anatomized(number: int, one: Published, codes: Int32, coding: Coding) -> tuple[ObservedRelease, Int32]:
    assert one.counts is not None and one.classes is not None  # noqa: PT018
    their_classes, sensitive, counts = one.counts
    count = int(one.classes.max()) + 1
    if int(their_classes.max(initial=-1)) + 1 != count:
        raise ReleaseError(f"{one.name}: the two tables name different classes.")
    values = encode_values(sensitive, coding)
    boxes = widen_to_nodes(bounding_boxes(np.asfortranarray(codes), one.classes, count), coding.domains)
    rows = np.repeat(their_classes, counts), np.repeat(values, counts)
    return ObservedRelease(number, boxes, *rows, anatomized=True), one.classes


def _make_told(number: int, one: Published, boxes: Int32, coding: Coding) -> tuple[ObservedRelease, Int32]:
    """Classes with all their values, and the box around those of their rows."""
    ends = np.asfortranarray(np.concatenate([boxes[:, :, 0], boxes[:, :, 1]]))
    assert one.classes is not None
    release, _ = _make_anatomized(number, replace(one, classes=np.tile(one.classes, 2)), ends, coding)
    return replace(release, anatomized=False), one.classes


def _keep_insensitive(one: Published, classes: Int32) -> dict[str, Text]:
    """The insensitive columns of the rows that are not suppressed."""
    return {name: Text(text.labels, text.index[classes >= 0]) for name, text in one.insensitive.items()}


def _number_people(loaded: Sequence[Snapshot], column: str) -> tuple[list[Int64], list[str]]:
    """Subject numbers by order of first appearance, and the identifier of each; refused if they seem altered."""
    known: pa.Array = pa.array([], pa.large_string())
    subjects: list[Int64] = []
    for snapshot in loaded:
        numbers = join_identifiers((known, np.arange(len(known), dtype=np.int64)), snapshot.identifiers).copy()
        new = np.flatnonzero(numbers < 0)
        gone = difference(sorted_unique(subjects[-1]), sorted_unique(numbers)) if subjects else new[:0]
        before = known, np.arange(len(known))
        refuse_lookalikes(snapshot.identifiers, numbers < 0, gone, before, f"{snapshot.name}: column '{column}'")
        numbers[new] = len(known) + np.arange(len(new))
        known = pa.concat_arrays([known, snapshot.identifiers_at(new).cast(pa.large_string())])
        subjects.append(numbers)
    return subjects, [str(name) for name in known.to_pylist()]


def _match_people(
    one: Published,
    release: ObservedRelease,
    row_class: Int32,
    coded: Coded,
    coding: Coding,
    match: str,
    notes: list[str],
) -> Matched:
    if one.counts is not None:
        rows = _encode_exactly(one, coding), row_class
        found = match_exactly(rows, (release.classes, release.values), coded.codes, coded.values)
        notes.append(f"{one.name}: people were matched by their exact quasi-identifiers and the values of each class.")
    elif match == "content" or one.ours or one.counted:
        found = match_by_content(release.boxes, release.classes, release.values, coded.codes, coded.values)
        notes.append(f"{one.name}: rows and people were matched by content.")
    else:
        values = np.full(len(row_class), -1, dtype=np.int32)
        values[row_class >= 0] = release.values
        told = _explain_misfits(one, coded, coding)
        try:
            return match_by_order(release.boxes, row_class, values, coded.codes, coded.values, told)
        except ReleaseError as error:
            raise ReleaseError(f"{one.name}: {error}") from None
    if (found.classes < 0).all():
        raise ReleaseError(f"{one.name}: nobody of its snapshot fits any of its rows. Is it the right snapshot?")
    out = int((found.classes < 0).sum())
    if found.ambiguous:
        notes.append(
            f"{one.name}: {found.ambiguous:,} people fit rows of several classes; a consistent choice was made, so "
            "findings about them may be about somebody alike."
        )
    if found.unmatched:
        notes.append(f"{one.name}: {found.unmatched:,} rows fit nobody: counterfeits, or rows of another snapshot.")
    if out:
        notes.append(f"{one.name}: {out:,} people of the snapshot fit no row and count as suppressed.")
    return found


def _encode_exactly(one: Published, coding: Coding) -> Int32:
    """int32[rows, attributes]: the codes that an anatomized release shows."""
    codes = np.empty((one.rows, len(coding.attributes)), dtype=np.int32)
    for a, name in enumerate(coding.attributes):
        text = one.labels[name]
        codes[:, a] = np.array([coding.parse(a, str(label))[0] for label in text.labels], dtype=np.int32)[text.index]
    return codes


def _explain_misfits(one: Published, coded: Coded, coding: Coding) -> Callable[[int, int | None], str]:
    def told(row: int, a: int | None) -> str:
        if a is None:
            columns = coding.schema.sensitive
            says = join_labels([str(one.sensitive[c].labels[one.sensitive[c].index[row]]) for c in columns])
            name, has = ", ".join(columns), coding.values[coded.values[row]]
            what = f"says {says!r} in '{name}', but row {row + 1} of the snapshot has {has!r}"
        else:
            name = coding.attributes[a]
            label = str(one.labels[name].labels[one.labels[name].index[row]])
            exact = int(coded.codes[row, a])
            has = f"row {row + 1} of the snapshot has {coding.label(a, exact, exact)!r}"
            what = f"says {label!r} in '{name}', which holds {list_held(coding, name, label)}, but {has}"
            if name in coding.numbers and PLAIN_NUMBER.fullmatch(label.strip()):
                what += (
                    ". A single number that is not the person's own is an average (microaggregation) or was altered: "
                    "no label says whom it holds. Audit without this column, or give ranges"
                )
        return f"row {row + 1} {what}. If the rows are in another order, {BY_CONTENT}."

    return told


def _make_members(coded: Coded, found: Matched) -> Members:
    inside = np.flatnonzero(found.classes >= 0)
    inside = inside[np.argsort(coded.subjects[inside], kind="stable")]
    return Members(coded.subjects[inside], found.classes[inside], coded.codes[inside], coded.values[inside])
