"""A release as its publisher asks for it and sees it: where it is, what it cost, and who was in which class."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reissue.arguments import check_arguments
from reissue.coding import Coding
from reissue.errors import SeriesError, SettingsError, import_extra, list_releases
from reissue.ledger import Ledger, ReleaseRecord
from reissue.methods.strategy import Strategy
from reissue.schema import Schema
from reissue.showing import Shown, Sketch

if TYPE_CHECKING:
    from reissue.engine.output import Format
    from reissue.engine.read import Source
    from reissue.engine.snapshot import Ahead
    from reissue.publish.executor import Executor
    from reissue.publish.publishing import Publishing


FORMATS: tuple[Format, ...] = ("parquet", "csv")
ON_CHANGE = ("refuse", "new-subject")


@dataclass(frozen=True, repr=False)
class Release(Shown):
    """One published release of a series.

    number:   1, 2, ...
    path:     the directory to hand out
    strategy, settings: what made it
    counts:   rows in, rows out, classes, suppressed rows, counterfeits, new / gone / back / changed subjects
    utility:  measures of what the release still tells
    steps:    numbered plain sentences of what was done (private: they count counterfeits)
    label:    what people call it; None: by its number
    allowed:  gates that would have stopped it; user: who published it
    warnings: what went wrong once it was committed
    """

    number: int
    path: Path
    created: str
    strategy: str
    settings: Mapping[str, object]
    counts: Mapping[str, int]
    utility: Mapping[str, float]
    steps: tuple[str, ...]
    label: str | None = None
    allowed: tuple[str, ...] = ()
    user: str = ""
    warnings: tuple[str, ...] = ()

    @staticmethod
    def from_record(series: Path, record: ReleaseRecord) -> Release:
        """As the ledger of the series in that folder has it."""
        rows, utility = record.counts["rows"], record.counts["utility"]
        assert isinstance(rows, Mapping) and isinstance(utility, Mapping)  # noqa: PT018
        return Release(
            number=record.number,
            path=series / "releases" / f"{record.number:04d}",
            created=record.created,
            strategy=record.strategy,
            settings=record.settings,
            counts={key: int(str(value)) for key, value in rows.items()},
            utility={key: float(str(value)) for key, value in utility.items()},
            steps=tuple(record.steps),
            label=record.label,
            allowed=tuple(to_strings(record.counts.get("allowed", []))),
            user=str(record.counts.get("user", "")),
            warnings=record.warnings,
        )

    @property
    def missing(self) -> bool:
        """Whether its directory is not there any more. What it told, and what the ledger knows of it, stays."""
        return not self.path.is_dir()

    @property
    def name(self) -> str:
        """Its label, or its number."""
        return self.label or str(self.number)

    def _sketch(self) -> Sketch:
        counts = {"rows": self.counts.get("published"), "classes": self.counts.get("classes")}
        return self.name, {"strategy": self.strategy, **counts, "folder": self.path}

    @check_arguments
    def to_arrow(self, table: str | None = None) -> pa.Table:
        """The rows as outsiders get them. table: another table of the release by its file's name, such as "values"."""
        from reissue.audit.row_linkage import find_public_table
        from reissue.engine.read import find

        files = [self.path / f"{table}{suffix}" for suffix in (".parquet", ".csv")]
        found = find_public_table(self.path) if table is None else next(filter(Path.exists, files), None)
        if found is None:
            what = f"table '{table}'" if table else "table"
            raise SeriesError(f"{self.path} holds no {what}. `reissue verify` says what is missing from the series.")
        return find(found, None).table

    def to_polars(self, table: str | None = None) -> Any:
        """The same as a frame of Polars, which must be installed."""
        return _import_library("polars").DataFrame(self.to_arrow(table))

    def to_pandas(self, table: str | None = None) -> Any:
        """The same as a frame of pandas, which must be installed."""
        _import_library("pandas")
        return self.to_arrow(table).to_pandas()

    def to_dict(self) -> dict[str, object]:
        """JSON-able."""
        lists = {name: list(getattr(self, name)) for name in ("steps", "allowed", "warnings")}
        return {**asdict(self), "path": str(self.path), **lists}

    def describe(self) -> str:
        """The release in a few lines, for a terminal."""
        settings = _describe_settings(self.settings)
        by = f", by {self.user}" if self.user else ""
        lines = [f"Release {self.name} ({self.created}{by}), {self.strategy} {settings}".rstrip(), *self.steps]
        lines += [f"Allowed: {', '.join(self.allowed)}"] if self.allowed else []
        return "\n  ".join([*lines, f"Missing: {self.path}" if self.missing else f"Hand out: {self.path}"])


def _import_library(name: str) -> Any:
    """A library for frames that Reissue itself does not use."""
    return import_extra(name, f"{name} is not installed: pip install {name}, or use to_arrow().")


def _describe_settings(settings: Mapping[str, object]) -> str:
    """k=5, knowledge=(values=estimate); settings that are not set are left out."""
    shown = {
        key: f"({_describe_settings(value)})" if isinstance(value, Mapping) else value
        for key, value in settings.items()
    }
    return ", ".join(f"{key}={value}" for key, value in shown.items() if value is not None)


def list_members(ledger: Ledger, number: int, coding: Coding) -> pa.Table:
    """Columns subject, number, class, value, counterfeit of one release; subject is null where nobody is named.

    Where classes stand for life, class is that one, beside the box that the row shows and the value dealt to it.
    """
    labels = {record.number: record.label for record in ledger.releases}
    if number not in labels:
        raise SeriesError(f"There is no release {number}; the series has {list_releases(labels)}.")
    facts = ledger.facts(number)
    identifiers, known = ledger.identities()
    subject = pa.nulls(len(facts.subjects), pa.string())
    if len(known):  # everybody may have been forgotten
        order = np.argsort(known, kind="stable")
        where = order[np.minimum(np.searchsorted(known[order], facts.subjects), len(order) - 1)]
        subject = pa.array(identifiers).take(pa.array(where, mask=known[where] != facts.subjects))
    values = pa.array(coding.values, pa.string()).take(pa.array(facts.values))
    kept = facts.standing
    columns = {
        "subject": subject,
        "number": facts.subjects,
        "class": facts.classes if kept is None else kept.standing,
        "value": values,
        "counterfeit": ~facts.real,
    }
    if kept is not None:
        columns |= {"box": facts.classes, "dealt": pa.array(coding.values, pa.string()).take(pa.array(kept.dealt))}
    return pa.table(columns)


def check_formats(formats: Sequence[str]) -> list[Format]:
    """The formats, each once and in one order."""
    formats = [formats] if isinstance(formats, str) else formats
    if not formats or any(name not in FORMATS for name in formats):
        raise SettingsError(f"Releases are written as parquet, csv or both; received {list(formats)!r}.")
    return [name for name in FORMATS if name in formats]


def choose_label(label: str | None, snapshot: object, used: Sequence[str]) -> str | None:
    """The label that is asked for; else the name of the snapshot's file, unless it is used already."""
    if label is None:
        named = isinstance(snapshot, str | Path) and not re.match(r"table:|[a-z0-9]+://", str(snapshot))
        stem = Path(str(snapshot)).name.partition(".")[0].strip() if named else ""
        return stem if stem and stem not in used else None
    if not label.strip() or len(label) > 80 or not label.isprintable():
        raise SettingsError(
            f"The label {label!r} is empty, longer than 80 characters, or not printable. Choose another."
        )
    if label.strip() in used:
        raise SettingsError(f"The label '{label.strip()}' is that of an earlier release. Choose another.")
    return label.strip()


def check_on_change(on_change: str) -> str:
    """What is done with changed rows."""
    if on_change not in ON_CHANGE:
        raise SettingsError(f"on_change is {on_change!r}; it must be one of: {', '.join(ON_CHANGE)}.")
    return on_change


def to_strings(value: object) -> Sequence[str]:
    """A list as TOML or JSON gives it, as one of text."""
    assert isinstance(value, Sequence)
    return [str(item) for item in value]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What is asked of one publish or preview; what is None is as the series was created."""

    on_change: str | None = None
    formats: Sequence[str] | None = None
    allow: Sequence[str] = ()
    label: str | None = None
    progress: Callable[[str], None] | None = None

    def prepare(
        self, ledger: Ledger, coding: Coding, strategy: Strategy, snapshot: Source, executor: Executor
    ) -> Publishing:
        """Everything checked and put together, before the snapshot is looked at."""
        from reissue.publish.gates import check_allow, check_limits
        from reissue.publish.publishing import Publishing

        meta = ledger.meta
        limits = meta.get("gates", {})
        assert isinstance(limits, Mapping)
        return Publishing(
            coding=coding,
            ledger=ledger,
            strategy=strategy,
            on_change=check_on_change(self.on_change or str(meta["on_change"])),
            formats=check_formats(self.formats or to_strings(meta["formats"])),
            progress=self.progress or (lambda stage: None),
            executor=executor,
            limits=check_limits(limits),
            allow=check_allow(self.allow),
            label=choose_label(self.label, snapshot, [str(one.label) for one in ledger.releases]),
        )


def begin_reading(snapshot: Source, schema: Schema) -> Ahead:
    """Read the snapshot beside the slowest imports."""
    from reissue.engine.snapshot import Ahead

    ahead = Ahead(snapshot, schema)
    from reissue.arrays.compiled import warm_up  # imports numba

    warm_up()
    return ahead


def check_table(table: str | None, engine: Mapping[str, object]) -> None:
    """Refuse a table for an engine that has none."""
    if table and engine["name"] != "spark":
        raise SettingsError("Only Spark writes tables: publish on the engine 'spark', or leave the table out.")


def make_executor(
    ledger: Ledger, engine: Mapping[str, object], table: str | None, snapshot: Source, schema: Schema
) -> Executor:
    """Where a release is made on that engine; on this machine its snapshot is read from now on."""
    if engine["name"] == "spark":
        from reissue.publish.spark.executor import OnSpark

        return OnSpark(ledger, engine, table)
    ahead = begin_reading(snapshot, schema)
    from reissue.publish.embedded import Embedded

    return Embedded(ledger, ahead)
