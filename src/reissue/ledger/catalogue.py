"""The catalogue: which files and releases a series has, in one transactional database (SQLite or PostgreSQL)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, and_, delete, insert, select, update

from reissue.errors import LedgerDamaged
from reissue.ledger.records import PrivateFile, PublicFile, ReleaseRecord, State
from reissue.ledger.tables import FILES, METADATA, PUBLIC, RELEASES, SERIES


class Catalogue:
    """What both databases share. `place` is how messages call it."""

    place: str

    def __init__(self, engine: Engine, series: str) -> None:
        self._engine = engine
        self._series = series

    # What a database does in its own way

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent view."""
        raise NotImplementedError
        yield

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: all of it, durably, or nothing."""
        raise NotImplementedError
        yield

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other publishers out as far as the database can. Raises SeriesBusy."""
        yield

    def settle(self) -> None:
        """After a kill: make the catalogue's own check right again."""

    def needs_settling(self) -> bool:
        return False

    def damage(self) -> str | None:
        """What is wrong with the database itself, or None."""
        return None

    # What both do in the same way

    def create_tables(self, connection: Connection) -> None:
        METADATA.create_all(connection)

    def add_series(self, connection: Connection, row: dict[str, object], files: Iterable[PrivateFile]) -> None:
        """Record a new series; rows that a killed attempt left under the same id are replaced."""
        for table in (FILES, RELEASES, PUBLIC):
            connection.execute(delete(table).where(table.c.series == self._series))
        connection.execute(delete(SERIES).where(SERIES.c.id == self._series))
        connection.execute(insert(SERIES).values(id=self._series, **row))
        self.put_files(connection, files)

    def put_files(self, connection: Connection, files: Iterable[PrivateFile]) -> None:
        """Refer to these files; a file of the same role and name is no longer referred to."""
        files = list(files)
        self.drop_these(connection, files)
        for file in files:
            connection.execute(insert(FILES).values(series=self._series, **_file_row(file)))

    def drop_files(self, connection: Connection, role: str) -> None:
        connection.execute(delete(FILES).where(FILES.c.series == self._series, FILES.c.role == role))

    def drop_these(self, connection: Connection, files: Iterable[PrivateFile]) -> None:
        for file in files:
            where = and_(FILES.c.series == self._series, FILES.c.role == file.role, FILES.c.name == file.name)
            connection.execute(delete(FILES).where(where))

    def put_next_subject(self, connection: Connection, number: int) -> None:
        connection.execute(update(SERIES).where(SERIES.c.id == self._series).values(next_subject=number))

    def put_release(self, connection: Connection, record: ReleaseRecord) -> None:
        """Record a release that is not revealed yet."""
        row = {
            "number": record.number,
            "created": record.created,
            "strategy": record.strategy,
            "settings": json.dumps(dict(record.settings)),
            "seed": str(record.seed),
            "coding_version": record.coding_version,
            "counts": json.dumps(dict(record.counts)),
            "steps": json.dumps(list(record.steps), ensure_ascii=False),
            "revealed": False,
        }
        connection.execute(insert(RELEASES).values(series=self._series, **row))
        for file in record.files:
            row = {"release": record.number, "path": file.name, "sha256": file.sha256, "size": file.size}
            connection.execute(insert(PUBLIC).values(series=self._series, **row))

    def mark_revealed(self, connection: Connection, number: int) -> None:
        where = and_(RELEASES.c.series == self._series, RELEASES.c.number == number)
        connection.execute(update(RELEASES).where(where).values(revealed=True))

    def load(self) -> State:
        """Everything the catalogue says, read at one moment. O(files + releases)."""
        with self.reading() as connection:
            row = connection.execute(select(SERIES).where(SERIES.c.id == self._series)).first()
            if row is None:
                raise LedgerDamaged(
                    f"{self.place} does not know this series (id {self._series}). "
                    "Give the database with which it was created, or restore it from a backup."
                )
            files = connection.execute(
                select(FILES).where(FILES.c.series == self._series).order_by(FILES.c.role, FILES.c.name)
            ).all()
            releases = connection.execute(
                select(RELEASES).where(RELEASES.c.series == self._series).order_by(RELEASES.c.number)
            ).all()
            public = connection.execute(
                select(PUBLIC).where(PUBLIC.c.series == self._series).order_by(PUBLIC.c.release, PUBLIC.c.path)
            ).all()
        shown: dict[int, list[PublicFile]] = {}
        for one in public:
            shown.setdefault(one.release, []).append(PublicFile(one.path, one.sha256, one.size))
        return State(
            seed=int(row.seed),
            next_subject=row.next_subject,
            key_check=row.key_check,
            pointer=row.pointer,
            config_sha256=row.config_sha256,
            files={
                (one.role, one.name): PrivateFile(one.role, one.name, one.release, one.sha256, one.size, one.salt)
                for one in files
            },
            releases=tuple(
                ReleaseRecord(
                    number=one.number,
                    created=one.created,
                    strategy=one.strategy,
                    settings=json.loads(one.settings),
                    seed=int(one.seed),
                    coding_version=one.coding_version,
                    counts=json.loads(one.counts),
                    steps=tuple(json.loads(one.steps)),
                    files=tuple(shown.get(one.number, ())),
                )
                for one in releases
            ),
            waiting=tuple(one.number for one in releases if not one.revealed),
        )


def _file_row(file: PrivateFile) -> dict[str, object]:
    return {
        "role": file.role,
        "name": file.name,
        "release": file.release,
        "sha256": file.sha256,
        "size": file.size,
        "salt": file.salt,
    }
