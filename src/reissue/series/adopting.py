"""Take releases already published with another tool into a new series, so that the next one is safe given them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reissue.arguments import check_arguments
from reissue.arrays.types import Int32, Int64
from reissue.audit.foreign.series import ForeignSeries, read_series
from reissue.audit.result import Audit
from reissue.coding import Coding
from reissue.documents import write_json
from reissue.errors import ReissueError, SettingsError
from reissue.history.past_releases import fold_caches
from reissue.history.public_files import FORMAT, README, describe_column, read_description
from reissue.ledger import Ledger, ReleaseRecord
from reissue.ledger.creation import finish, is_draft, remove_unfinished
from reissue.ledger.records import Layout
from reissue.methods.registry import ADOPTED
from reissue.methods.strategy import Strategy
from reissue.model.boxes import widen_to_nodes
from reissue.model.observed import ObservedRelease
from reissue.model.overlap import LastSeen, Turnover
from reissue.model.release import Coded, Facts, Table, derive_seed
from reissue.schema import Config, Schema, read_config
from reissue.series.creating import NewSeries
from reissue.series.outlook import Outlook, advise, look_ahead, recommend
from reissue.series.series import Series
from reissue.utility import measure

if TYPE_CHECKING:
    from reissue.engine.read import Source


@dataclass(frozen=True, eq=False)
class Adopted:
    """The new series, open, and what the adopted releases tell already: that cannot be undone.

    outlooks: what one more release would add, by strategy, the policy's first; none where nothing is at risk yet
    """

    series: Series
    audit: Audit
    outlooks: Sequence[Outlook] = ()

    @property
    def warning(self) -> str | None:
        """Why the policy cannot go on from these releases; None where it can, as far as can be seen."""
        outcome = self.audit.outcomes.get("association")
        strategy = self.series.strategy
        changed = int(outcome.measures.get("changed_signatures", 0.0)) if outcome else 0
        if not changed or not strategy.thresholds().get("invariant"):
            return None
        return (
            f"'{strategy.name}' promises that the values shown with a person never change, and for {changed:,} people "
            "they did already: it will refuse the next release. Nothing saves what is out."
        )

    def to_json(self) -> str:
        """The audit as JSON, with `adopted`: why the policy cannot go on, what one more release would add, what to do.

        Those who read `reissue-audit/1` find all of it as ever.
        """
        tried = [
            {"strategy": one.strategy, "newly_exposed": one.newly_exposed, "refusal": one.refusal}
            for one in self.outlooks
        ]
        advice = recommend(self.outlooks) if self.outlooks else None
        adopted = {"warning": self.warning, "tried": tried, "advice": advice}
        return write_json({**self.audit.to_dict(), "adopted": adopted}, None)

    def describe(self) -> str:
        """For a terminal."""
        count = len(self.series.releases)
        lines = [f"Adopted {count} {'release' if count == 1 else 'releases'} into {self.series.path}."]
        lines += [f"Warning: {self.warning}"] if self.warning else []
        lines += advise(self.outlooks, self.audit)
        if self.audit.breaches:
            lines.append("What they reveal already cannot be undone; it is reported here once:")
        return "\n".join([*lines, self.audit.describe()])


@check_arguments
def adopt(
    path: str | PathLike[str],
    releases: Sequence[Source],
    snapshots: Sequence[Source],
    *,
    config: str | Path | None = None,
    schema: Schema | None = None,
    strategy: Strategy | None = None,
    match: str = "order",
    names: bool = True,
    seed: int | None = None,
    catalogue: str | None = None,
    key: str | bytes | None = None,
    progress: Callable[[str], None] | None = None,
) -> Adopted:
    """Create a series whose ledger holds these releases as facts. All of them, or no series at all.

    Give either a config, or schema and strategy; the strategy is that of the next release. match: see `audit`.
    """
    if (config is None) == (schema is None or strategy is None):
        raise SettingsError("Give either config, or schema and strategy.")
    if not snapshots:
        raise SettingsError("Give the snapshot of every release: without them nobody knows whom to protect.")
    target = Path(path)
    layout = Layout(target.absolute())
    if target.exists() and any(target.iterdir() if target.is_dir() else [target]) and not is_draft(layout):
        raise SettingsError(f"{target} exists already. Adoption makes a new series.")
    made, say = not target.exists(), progress or (lambda stage: None)
    used = schema or _refuse_divided(read_config(str(config)), str(config)).schema
    foreign = read_series(releases, used, snapshots, match, names, say)
    say("write")
    new = _plan(config, used, strategy, seed, catalogue, key)
    try:
        with new.create(target) as ledger:
            _adopt_all(ledger, new.strategy, foreign, releases)
        finish(layout)
    except BaseException:
        with suppress(ReissueError):  # somebody else is at it; or the next attempt removes what is left
            remove_unfinished(layout, made=made)
        raise
    series = Series.open(target, key=key)
    before = series.audit(names=names, progress=say)
    return Adopted(series, before, look_ahead(series, snapshots[-1], before, say) if before.breaches else ())


def _refuse_divided(config: Config, path: str) -> Config:
    """Nobody of releases that are out is in a fragment: to ask for some must not be passed over."""
    if config.engine.get("fragments", 1) != 1:
        raise SettingsError(
            f"{path}: engine.fragments is {config.engine['fragments']}, but a series that adopts releases is worked on "
            "as a whole. Leave it out."
        )
    return config


def _plan(
    config: str | Path | None,
    schema: Schema,
    strategy: Strategy | None,
    seed: int | None,
    catalogue: str | None,
    key: str | bytes | None,
) -> NewSeries:
    """The series to be; nobody can open it before all releases are in."""
    if config is not None:
        new = NewSeries.from_config(config, seed=seed, catalogue=catalogue, key=key, engine=None)
        return replace(new, unfinished=True)
    assert strategy is not None
    return NewSeries(schema=schema, strategy=strategy, seed=seed, catalogue=catalogue, key=key, unfinished=True)


def _adopt_all(ledger: Ledger, strategy: Strategy, foreign: ForeignSeries, sources: Sequence[Source]) -> None:
    coding, first = foreign.coding, ledger.next_subject
    caches: dict[str, Table] = {}
    previous: Facts | None = None
    known, seen = 0, LastSeen(len(coding.domains))
    with ledger.publisher():
        for position, release in enumerate(foreign.observed.releases):
            coded = foreign.release_notes[position].coded
            assert coded is not None and release.members is not None  # noqa: PT018
            facts = make_adopted_facts(release, coding, first)
            stage = ledger.stage(release.number)
            _write_public(stage.public, sources[position], foreign, position)
            stage.facts(facts)
            caches = fold_caches(strategy, caches, previous, facts)
            stage.caches(caches)
            new = np.flatnonzero(coded.subjects >= known)
            stage.identities(foreign.snapshots[position].identifiers_at(new), coded.subjects[new] + first)
            known = max(known, int(coded.subjects.max(initial=-1)) + 1)
            if coding.version not in ledger.coding_versions:
                stage.coding(coding.version, coding.to_dict())
            stage.commit(_record(ledger, release, facts, coded, coding, foreign, seen.add(release.members)))
            previous = facts


def make_adopted_facts(release: ObservedRelease, coding: Coding, first: int) -> Facts:
    """The facts of an adopted release. Rows that fit nobody are kept as counterfeits, with negative numbers.

    Boxes are widened to nodes of their hierarchies, as the ledger keeps them.
    """
    members = release.members
    assert members is not None
    boxes = widen_to_nodes(np.maximum(release.boxes, np.iinfo(np.int32).min), coding.domains)
    classes, values = _rows_of_nobody(release)
    fakes = -1 - np.arange(len(classes), dtype=np.int64)[::-1]
    codes = np.concatenate([boxes[classes, :, 0].reshape(len(classes), len(coding.domains)), members.codes])
    return Facts(
        number=release.number,
        boxes=boxes,
        subjects=np.concatenate([fakes, members.subjects + first]),
        classes=np.concatenate([classes, members.classes]).astype(np.int32),
        values=np.concatenate([values, members.values]).astype(np.int32),
        codes=np.asfortranarray(codes.astype(np.int32)),
        anatomized=release.anatomized,
    )


def _rows_of_nobody(release: ObservedRelease) -> tuple[Int32, Int32]:
    """(class, value) of each published row beyond those of the members."""
    members = release.members
    assert members is not None
    width = int(max(release.values.max(initial=0), members.values.max(initial=0))) + 1
    key, inverse = np.unique(
        np.concatenate([release.classes, members.classes]).astype(np.int64) * width
        + np.concatenate([release.values, members.values]),
        return_inverse=True,
    )
    shown = np.bincount(inverse[: len(release.classes)], minlength=len(key))
    beyond: Int64 = np.maximum(0, shown - np.bincount(inverse[len(release.classes) :], minlength=len(key)))
    rest = np.repeat(key, beyond)
    return (rest // width).astype(np.int32), (rest % width).astype(np.int32)


def _write_public(folder: Path, source: Source, foreign: ForeignSeries, position: int) -> None:
    """The release as it was given, and a release.json that says how to read it."""
    from reissue.engine.output import write_table
    from reissue.engine.read import find
    from reissue.engine.workbook import find_reader

    path = Path(source) if isinstance(source, str | PathLike) else None
    about: dict[str, object]
    if path is not None and path.is_dir():  # one of ours, from another series: its own description stays true
        for file in sorted(path.iterdir()):
            if file.name != README:
                shutil.copyfile(file, folder / file.name)
        about = {**read_description(path), "number": position + 1}
    elif path is not None and path.is_file() and find_reader(path) is None:
        with path.open("rb") as opened:
            suffix = ".parquet" if opened.read(4) in (b"PAR1", b"PARE") else ".csv"
        shutil.copyfile(path, folder / f"release{suffix}")
        about = _description(foreign, position, f"release{suffix}")
    else:
        write_table(find(source, None).table, folder / "release.parquet", "parquet")
        about = _description(foreign, position, "release.parquet")
    (folder / README).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _description(foreign: ForeignSeries, position: int, file: str) -> dict[str, object]:
    release, coding = foreign.observed.releases[position], foreign.coding
    return {
        "format": FORMAT,
        "number": release.number,
        "style": "generalized",
        "strategy": ADOPTED,
        "parameters": {},
        "counts": {
            "rows": len(release.classes),
            "classes": release.class_count,
            "smallest_class": int(release.people.min(initial=len(release.classes))),
            "largest_class": int(release.people.max(initial=0)),
        },
        "columns": [
            *(describe_column(coding, d.name) for d in coding.domains),
            *({"name": name, "role": "sensitive"} for name in coding.schema.sensitive),
        ],
        "files": [file],
    }


def _record(
    ledger: Ledger,
    release: ObservedRelease,
    facts: Facts,
    coded: Coded,
    coding: Coding,
    foreign: ForeignSeries,
    changes: Turnover,
) -> ReleaseRecord:
    known = foreign.release_notes[release.number - 1]
    cost = measure(facts, coded)
    rows = {
        "snapshot": len(coded),
        "published": len(facts.subjects),
        "classes": facts.class_count,
        "suppressed": known.suppressed,
        "counterfeits": int((~facts.real).sum()),
        "new": changes.new,
        "gone": changes.gone,
        "back": changes.back,
        "changed": changes.changed_quasi_identifiers + changes.changed_value,
    }
    costs = {
        "ail": cost.ail,
        "gcp": cost.gcp_share,
        "discernibility": cost.discernibility_share,
        "class_size": cost.class_size,
    }
    steps = [
        f"1. Adopted {known.name}: {len(release.classes):,} rows in {release.class_count:,} classes, published before.",
        *(f"{i}. {note}" for i, note in enumerate(foreign.notes, start=2)),
    ]
    return ReleaseRecord(
        number=release.number,
        strategy=ADOPTED,
        settings={},
        seed=derive_seed(ledger.seed, release.number),
        coding_version=coding.version,
        counts={"rows": rows, "utility": costs},
        steps=steps,
    )
