"""Series: the one object a steward works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reissue.arguments import check_engine, check_methods
from reissue.coding import Coding
from reissue.hierarchy import Hierarchy
from reissue.history.past_releases import Definitions
from reissue.ledger import REBUILD, Damage, Event, Ledger, Receipt, ReleaseRecord
from reissue.methods.registry import ADOPTED, restore_strategy
from reissue.methods.strategy import Strategy
from reissue.schema import Schema
from reissue.series.creating import NewSeries, change_strategy, find_key
from reissue.series.release import FORMATS, Attempt, Release, begin_reading, check_table, make_executor
from reissue.showing import Shown, Sketch

if TYPE_CHECKING:
    import pyarrow as pa

    from reissue.audit import Audit
    from reissue.engine.read import Source
    from reissue.series.preview import Preview


@check_methods
class Series(Shown):
    """The releases of one table, and the ledger that keeps them private side by side.

    Use it as a context manager, or call `close`. Every method that changes the series is all or nothing.
    """

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self.path = path
        self._ledger = ledger
        self._definitions = Definitions(ledger)

    @classmethod
    def create(
        cls,
        path: str | Path,
        schema: Schema,
        strategy: Strategy,
        *,
        seed: int | None = None,
        catalogue: str | None = None,
        key: str | bytes | None = None,
        formats: Sequence[str] = FORMATS,
        on_change: str = "refuse",
        engine: str | Mapping[str, object] = "embedded",
        fragments: int | None = None,
        audit: Mapping[str, object] | None = None,
        gates: Mapping[str, float] | None = None,
    ) -> Series:
        """Create an empty series in a new directory.

        seed: fixes every random choice; by default a secret one is drawn. catalogue: a postgresql:// URL instead of
        SQLite. key: encrypts the ledger; 32 bytes, or where to find them ("env:NAME", "file:PATH"). engine: where
        releases are made, "embedded" (this machine) or "spark"; a mapping may also say `master` and Spark's own
        `settings`. fragments: into how many parts the table is divided for the life of the series; by default one
        for every two million rows of the first release. audit: what its audits look for unless they are told otherwise:
        `attacks`, thresholds and limits. gates: thresholds of the gates before a release, by name.
        """
        new = NewSeries(
            schema=schema,
            strategy=strategy,
            seed=seed,
            catalogue=catalogue,
            key=key,
            formats=formats,
            on_change=on_change,
            engine=engine,
            fragments=fragments,
            audit=audit or {},
            gates=gates or {},
        )
        return cls(Path(path), new.create(Path(path)))

    @classmethod
    def from_config(
        cls,
        path: str | Path,
        config: str | Path,
        *,
        seed: int | None = None,
        catalogue: str | None = None,
        key: str | bytes | None = None,
        engine: str | None = None,
        replace_unused: bool = False,
    ) -> Series:
        """Create a series as a TOML file says; what is given here wins over the file.

        replace_unused: a series in the same place that has never had a release is made anew.
        """
        new = NewSeries.from_config(config, seed=seed, catalogue=catalogue, key=key, engine=engine)
        return cls(Path(path), new.replace(Path(path)) if replace_unused else new.create(Path(path)))

    @classmethod
    def open(cls, path: str | Path, *, key: str | bytes | None = None, catalogue: str | None = None) -> Series:
        """Open a series; what a killed run left is rolled forward or discarded first.

        catalogue: the PostgreSQL URL again, if its password is not in PGPASSWORD or ~/.pgpass.
        """
        return cls(Path(path), Ledger.open(Path(path), key=find_key(key), catalogue_url=catalogue))

    def close(self) -> None:
        self._ledger.close()

    def _sketch(self) -> Sketch:
        names = [release.name for release in self.releases]
        return str(self.path), {"strategy": self.strategy.name, "releases": len(names), "last": (names or ["none"])[-1]}

    def __enter__(self) -> Series:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def schema(self) -> Schema:
        return self._definitions.schema

    @property
    def config_edited(self) -> bool:
        """Whether somebody edited the series' reissue.toml, which tells, but does not decide, what holds."""
        return self._ledger.config_edited

    @property
    def upgraded(self) -> str:
        """What was done to an older version's ledger since it was opened, if it was upgraded."""
        return self._ledger.upgraded

    def upgrade(self, *, back: bool = False) -> None:
        """Bring an older version's ledger to today's format, as any change does; back: undo it, if it was the last."""
        self._ledger.upgrade(back)

    @property
    def strategy(self) -> Strategy:
        """The strategy of the next release: that of the last one, or at first the one the series was created with."""
        return self._find_strategy(self._ledger.releases)

    def _find_strategy(self, releases: Sequence[ReleaseRecord]) -> Strategy:
        if releases and releases[-1].strategy != ADOPTED:
            return restore_strategy(releases[-1].strategy, releases[-1].settings)
        settings = dict(_mapping(self._ledger.meta["policy"]))
        return restore_strategy(str(settings.pop("strategy")), settings)

    @property
    def engine(self) -> Mapping[str, object]:
        """Where releases are made unless publish says otherwise: its `name` and settings."""
        return _mapping(self._ledger.meta.get("engine", {"name": "embedded"}))

    @property
    def coding(self) -> Coding:
        """The codes of the series as of now."""
        return self._definitions.coding

    @property
    def releases(self) -> list[Release]:
        """Everything published so far, in order."""
        return [self._release(record) for record in self._ledger.releases]

    def publish(
        self,
        snapshot: Source,
        *,
        strategy: Strategy | None = None,
        on_change: str | None = None,
        formats: Sequence[str] | None = None,
        engine: str | None = None,
        table: str | None = None,
        allow: Sequence[str] = (),
        label: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Release:
        """Publish the next release: all of it, or nothing.

        snapshot: a path, or any Arrow-compatible frame; for Spark also a folder of Parquet files, "table:NAME" or one
        of its own frames. strategy: changes the series' strategy from this release on. engine: where this release is
        made ("embedded" or "spark"); the release is the same on both. table: a new Spark table that gets the release
        once it is published. allow: names of gates that may not stop it, which are kept in the log. label: what people
        call the release; by default the name of the snapshot's file.
        """
        chosen = check_engine({**self.engine, "name": engine} if engine else self.engine)
        check_table(table, chosen)
        asked = Attempt(on_change=on_change, formats=formats, allow=allow, label=label, progress=progress)
        with self._ledger.publisher():
            if self._ledger.has_older_caches:
                from reissue.series.upkeep import mend_caches

                mend_caches(self._ledger, self.strategy, self.coding)
            executor = make_executor(self._ledger, chosen, table, snapshot, self.schema)
            attempt = asked.prepare(self._ledger, self.coding, strategy or self.strategy, snapshot, executor)
            record, coding = attempt.run(snapshot)
            self._definitions.keep(coding)
            return self._release(record)

    def preview(
        self,
        snapshot: Source,
        *,
        strategy: Strategy | None = None,
        on_change: str | None = None,
        allow: Sequence[str] = (),
        label: str | None = None,
        audit: bool = True,
        attacks: Sequence[str] | None = None,
        names: bool = True,
        early: Callable[[Preview], None] | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Preview:
        """The next release as `publish` would make it, and what the series would then give away; nothing is written.

        It is made and checked in this machine's memory, whatever the engine. audit: whether to attack the series with
        it and without it, by `attacks` if some are named: most of the time. early: gets the preview before that.
        """
        from reissue.publish.embedded import Embedded
        from reissue.series.preview import audit_twice, make_preview

        self._ledger.refresh()
        executor = Embedded(self._ledger, begin_reading(snapshot, self.schema))
        asked = Attempt(on_change=on_change, allow=allow, label=label, progress=progress)
        attempt = asked.prepare(self._ledger, self.coding, strategy or self.strategy, snapshot, executor)
        draft = attempt.draft(snapshot)
        parts = (self._release(draft.record), next(reversed(self.releases), None), draft.stops)
        if early is not None:
            early(make_preview(*parts, ()))
        unseen, say = executor.show_unseen(draft.record), attempt.progress
        audits = audit_twice(self._ledger, draft, attempt.strategy, unseen, attacks, names, say) if audit else ()
        return make_preview(*parts, audits)

    def log(self) -> list[Event]:
        """Everything done to the series, oldest first: publish, withdraw, forget, extend; when and by whom."""
        from reissue.series.upkeep import list_events

        return list_events(self._ledger)

    def withdraw(self, reason: str | None = None, *, not_handed_out: bool = False) -> Release:
        """Take the last release back, if you state that nobody outside has it; what it was. All of it, or nothing.

        The ledger keeps the fact and the reason. The number is not given again; its label is.
        """
        from reissue.series.upkeep import withdraw

        with self._ledger.publisher():
            return self._release(withdraw(self._ledger, reason, not_handed_out, self._find_strategy))

    def pack(self, number: int | str | None, file: str | Path) -> Release:
        """Write the public files of a release, by its number or label (None: the last), as one zip file to hand out."""
        from reissue.series.upkeep import pack

        return self._release(pack(self._ledger, number, Path(file)))

    def changed_strategy(self, name: str | None, settings: Sequence[str]) -> Strategy | None:
        """The strategy that `--strategy NAME --set KEY=VALUE` asks for; None if neither is given."""
        return change_strategy(self.strategy, name, settings)

    def membership(self, number: int) -> pa.Table:
        """Private: who was in which class of release `number` with which value.

        Columns subject (the identifier; null for counterfeits and forgotten people), number (the surrogate), class,
        value, counterfeit.
        """
        from reissue.series.release import list_members

        return list_members(self._ledger, number, self.coding)

    def audit(
        self,
        *,
        attacks: Sequence[str] | None = None,
        names: bool = True,
        progress: Callable[[str], None] | None = None,
        engine: str | None = None,
        **thresholds: object,
    ) -> Audit:
        """Attack the series in every way that applies: `audit.findings`, `audit.breaches`, `audit.to_html(path)`.

        attacks: only these, by name. thresholds (k=5, c=0.5, ...) instead of those of the policy; for both, what the
        series was created with (`audit`) holds where nothing is given. names: show people by identifier. engine: where
        attacks run that can be divided ("embedded" or "spark"); the audit is the same on both.
        """
        from reissue.audit import audit_series
        from reissue.audit.attacks import resolve_request

        chosen, settings = resolve_request(_mapping(self._ledger.meta.get("audit", {})), attacks, thresholds)
        return audit_series(
            self._ledger,
            self.coding,
            self.strategy,
            check_engine({**self.engine, "name": engine} if engine else self.engine),
            attacks=chosen,
            names=names,
            progress=progress,
            **settings,  # type: ignore[arg-type]
        )

    def verify(self, *, rebuild: bool = False) -> list[Damage]:
        """Re-hash every file; with `rebuild` also prove the caches right, and mend them if they are not."""
        damages = list(self._ledger.verify())
        if rebuild and all(damage.remedy == REBUILD for damage in damages):
            from reissue.series.upkeep import mend_caches

            with self._ledger.publisher():
                damages = mend_caches(self._ledger, self.strategy, self.coding)
        return damages

    def forget(self, *identifiers: object, file: str | Path | None = None, erase: bool = False) -> Receipt:
        """Delete the only link from people to the ledger's numbers, all at once; what was promised stays in force.

        identifiers: one by one, or in a list or column. file: a table with more of them. A one-way mark is left, by
        which a returner is known again; erase: not even that.
        """
        from reissue.series.upkeep import forget

        return forget(self._ledger, self.schema, identifiers, file, erase)

    def extend(self, column: str, hierarchy: Hierarchy) -> None:
        """Add the values of `hierarchy` to that column's; earlier releases stay valid."""
        from reissue.series.upkeep import extend

        with self._ledger.publisher():
            extend(self._ledger, self.coding, [(column, hierarchy)])

    def extend_from_files(self, assignments: Sequence[str]) -> list[str]:
        """Extend from `COLUMN=FILE` arguments; a sentence for each. All are checked before any is kept."""
        from reissue.series.upkeep import extend_as_given, read_assignments

        given = read_assignments(assignments)
        with self._ledger.publisher():
            return extend_as_given(self._ledger, self.coding, given)

    def amend(self, schema: Schema) -> list[str]:
        """Change how tables are read from now on (`missing`, spelling, labels); what is out stays what it is."""
        from reissue.series.amending import amend

        with self._ledger.publisher():
            return amend(self._ledger, self.coding, schema)

    def _release(self, record: ReleaseRecord) -> Release:
        return Release.from_record(self.path, record)


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value
