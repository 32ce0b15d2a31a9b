"""What the page has in hand: for each series its jobs, the last audit and the snapshot that waits for approval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from starlette.exceptions import HTTPException

from reissue.ledger.disk import explain_os_errors, make_private_folder, names_in, remove_tree
from reissue.ledger.keys import read_key
from reissue.ledger.records import Layout
from reissue.ledger.system import move
from reissue.page.drafts import SeriesDraft
from reissue.page.jobs import Workplace
from reissue.page.uploads import find_waiting, sweep

if TYPE_CHECKING:
    from reissue.audit import Audit
    from reissue.audit.person import Person
    from reissue.ledger import Damage
    from reissue.series import Series

DRAFTS = ".reissue-drafts"
"""The folder of tables whose series is not made yet."""


@dataclass(eq=False)
class Desk(Workplace):
    """One series. audited, verified: the releases that audit and damages are about.

    preview: of the snapshot that waits, the document `reissue-preview/1`; published: the release made of the last one
    """

    audit: Audit | None = None
    audited: tuple[int, ...] = ()
    person: Person | None = None
    damages: list[Damage] | None = None
    verified: tuple[int, ...] = ()
    preview: dict[str, object] | None = None
    published: int | None = None

    under: ClassVar[str] = "/series"

    @property
    def uploads(self) -> Path:
        """Where a snapshot waits."""
        return Layout(self.path).uploads

    def take(self, table: Path) -> None:
        """Let a table wait as the next snapshot."""
        with explain_os_errors("Keeping the file"):
            make_private_folder(self.uploads)
            move(table, self.uploads / table.name)

    def find_key(self) -> bytes | None:
        """The key itself, read where it is."""
        return None if self.key is None else read_key(self.key)

    def open(self) -> Series:
        """The series, for one request or one job: none is shared by threads."""
        from reissue.series import Series

        return Series.open(self.path, key=self.key)


class Office:
    """All series of a server. home: where new ones are made; key: of those that are encrypted.

    limit: the bytes of the largest file that is taken
    """

    def __init__(self, home: Path, series: Iterable[Path], key: str | None = None, limit: int = 4 << 30) -> None:
        self.home, self.key, self.limit = home, key, limit
        self._desks: dict[str, Desk] = {}
        self._drafts: dict[str, SeriesDraft] = {}
        for path in series:
            self.add(path)

    def find_key(self) -> bytes | None:
        """The key itself, read where it is."""
        return None if self.key is None else read_key(self.key)

    @property
    def desks(self) -> Mapping[str, Desk]:
        return self._desks

    def add(self, path: Path) -> Desk:
        """A desk for a series; one that has a desk keeps it."""
        for desk in self._desks.values():
            if desk.path.resolve() == path.resolve():
                return desk
        plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in path.name) or "series"
        same = sum(name == plain or name.startswith(f"{plain}~") for name in self._desks)
        desk = Desk(f"{plain}~{same + 1}" if same else plain, path, self.key)
        sweep(desk.uploads)
        self._desks[desk.name] = desk
        return desk

    @property
    def drafts(self) -> Mapping[str, SeriesDraft]:
        """Series that are being prepared: also those of a server that was ended."""
        for name in names_in(self.home / DRAFTS):
            if name not in self._drafts and find_waiting(self.home / DRAFTS / name):
                sweep(self.home / DRAFTS / name)
                self._drafts[name] = SeriesDraft(name, self.home / DRAFTS / name, self.key)
        return self._drafts

    def add_draft(self, name: str) -> SeriesDraft:
        with explain_os_errors("Making a private folder"):
            make_private_folder(self.home / DRAFTS)
        return self._drafts.setdefault(name, SeriesDraft(name, self.home / DRAFTS / name, self.key))

    def find_draft(self, name: str) -> SeriesDraft:
        if name not in self.drafts:
            raise HTTPException(404, "This series is not being prepared any more.")
        return self._drafts[name]

    def drop_draft(self, draft: SeriesDraft) -> None:
        """Forget it, with its folder."""
        remove_tree(draft.path)
        self._drafts.pop(draft.name, None)
        with suppress(OSError):  # others are being prepared
            (self.home / DRAFTS).rmdir()

    def find(self, name: str) -> Desk:
        if name not in self._desks:
            raise HTTPException(404, "There is no such series on this page.")
        return self._desks[name]


def find_series(folder: Path) -> list[Path]:
    """The series that lie in a folder."""
    return sorted(path.parent.parent for path in folder.glob("*/private/series.json"))
