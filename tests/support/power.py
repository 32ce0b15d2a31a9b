"""A disk that forgets what was not forced onto it: what is done to a folder is watched, and every power cut replayed.

Of a file only the content of its last fsync is sure to survive, of a folder only the names of its own last fsync; all
else may survive, be lost, or be torn. A rename is one step, in both folders or in none, as in all file systems with a
journal. SQLite's own files are taken at its word: what it commits with synchronous=EXTRA
stays, and what it does not commit is rolled back.
"""

from __future__ import annotations

import hashlib
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CATALOGUE = "catalogue.sqlite"
EXTRA = 3

Tree = dict[str, bytes | None]
"""Path below the folder -> content; None: a folder."""


@dataclass
class State:
    """Names of every folder and contents of every file, both by inode."""

    names: dict[int, dict[str, int]] = field(default_factory=dict)
    contents: dict[int, bytes] = field(default_factory=dict)

    def copy(self) -> State:
        return State({folder: dict(names) for folder, names in self.names.items()}, dict(self.contents))


Move = tuple[int, str, int, str, int]
"""A rename: folder and name before, folder and name after, and the inode that it is about."""


@dataclass(frozen=True)
class Moment:
    """An instant at which the power may fail: what was done last, what is in the folder, what is sure to stay.

    moves: renames between folders neither of which was forced to disk since
    """

    event: str
    now: State
    sure: State
    moves: tuple[Move, ...]


@dataclass
class Disk:
    """What happens below `root` while it is `watched`."""

    root: Path
    moments: list[Moment] = field(default_factory=list)
    renames: list[tuple[str, bool]] = field(default_factory=list)  # the new name, whether its content was sure
    events: list[str] = field(default_factory=list)
    levels: set[int] = field(default_factory=set)
    _moves: list[Move] = field(default_factory=list)
    _sure: State = field(default_factory=State)
    _held: dict[int, int] = field(default_factory=dict)

    # Watching

    @contextmanager
    def watched(self) -> Iterator[None]:
        """All that exists now is sure; from now on only what is forced to disk."""
        self._sure = self._look()
        with pytest.MonkeyPatch.context() as patch:
            for name in ("replace", "rename", "unlink", "remove", "mkdir", "rmdir"):
                patch.setattr(os, name, self._noting(name, getattr(os, name)))
            patch.setattr(os, "fsync", self._forcing(os.fsync))
            patch.setattr(sqlite3, "connect", self._connecting(sqlite3.connect))
            try:
                self._note("begun")
                yield
                self._note("done")
            finally:
                for handle in self._held.values():
                    os.close(handle)
                self._held.clear()

    def _noting(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            if "dir_fd" not in options and not self._called(args[0]).startswith(self.root.name):
                return call(*args, **options)
            told = f"{name} {' -> '.join(self._called(one) for one in args[:2] if isinstance(one, str | os.PathLike))}"
            self._note(f"before {told}")
            if name in ("replace", "rename"):
                self._note_rename(Path(args[0]), Path(args[1]))
            result = call(*args, **options)
            self._note(told)
            return result

        return run

    def _forcing(self, call: Callable[[int], None]) -> Callable[[int], None]:
        def run(handle: int) -> None:
            inode = os.fstat(handle).st_ino
            self._note(f"before fsync {inode}")
            call(handle)
            now = self._look()
            if inode in now.names:
                self._sure.names[inode] = dict(now.names[inode])
                self._settle(inode)
            elif inode in now.contents:
                self._sure.contents[inode] = now.contents[inode]
            self._note(f"fsync {self._called(os.readlink(f'/proc/self/fd/{handle}'))}")

        return run

    def _connecting(self, connect: Callable[..., Any]) -> Callable[..., Any]:
        disk = self

        class Watched(sqlite3.Connection):
            def execute(self, statement: str, *more: Any) -> sqlite3.Cursor:
                if statement != "COMMIT":
                    return super().execute(statement, *more)
                [(level,)] = super().execute("PRAGMA synchronous").fetchall()
                disk.levels.add(level)
                disk._note("before COMMIT")
                cursor = super().execute(statement)
                disk._note("COMMIT")
                return cursor

        return lambda *args, **options: connect(*args, factory=Watched, **options)

    def _settle(self, folder: int) -> None:
        """Renames into or out of a folder that was forced to disk are sure in the other folder, too."""
        for move in [move for move in self._moves if folder in (move[0], move[2])]:
            before, name, after, new, inode = move
            self._moves.remove(move)
            if folder != before and self._sure.names.get(before, {}).get(name) == inode:
                del self._sure.names[before][name]
            if folder != after:
                self._sure.names.setdefault(after, {})[new] = inode

    def _note_rename(self, source: Path, target: Path) -> None:
        now, inode = self._look(), source.stat().st_ino
        folders = source.parent.stat().st_ino, target.parent.stat().st_ino
        if folders[0] != folders[1]:
            self._moves.append((folders[0], source.name, folders[1], target.name, inode))
        files = list(_below(now, inode)) if inode in now.names else [inode]
        sure = all(self._sure.contents.get(one) == now.contents[one] for one in files)
        self.renames.append((self._called(target), sure))

    def _note(self, event: str) -> None:
        self.events.append(event)
        self.moments.append(Moment(event, self._look(), self._sure.copy(), tuple(self._moves)))

    def _look(self) -> State:
        """Everything below the root. Inodes are held on to, so that no number is given to another file meanwhile."""
        state = State()
        for folder, folders, files in os.walk(self.root):
            names = state.names.setdefault(os.stat(folder).st_ino, {})
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                inode = os.stat(path).st_ino
                names[name] = inode
                if inode not in self._held:
                    self._held[inode] = os.open(path, os.O_PATH)
                if name in files:
                    state.contents[inode] = Path(path).read_bytes()
                if name.startswith(CATALOGUE):
                    self._sure.contents[inode] = state.contents[inode]
            sure = self._sure.names.get(os.stat(folder).st_ino)
            if sure is not None:  # SQLite forces its own names to disk, and their removal
                for name in {*names, *sure}:
                    if name.startswith(CATALOGUE):
                        sure.pop(name, None)
                        sure |= {name: names[name]} if name in names else {}
        return state

    def _called(self, path: object) -> str:
        return os.path.relpath(os.path.abspath(os.fspath(path)), self.root.parent)  # type: ignore[call-overload]

    # Replaying

    def outages(self) -> Iterator[tuple[str, Moment, Tree]]:
        """Every different folder that a power cut could leave, with what it is called and the moment it happens at."""
        seen: set[str] = set()
        last: dict[int, bytes] = {}
        for number, moment in enumerate(self.moments):
            last |= moment.now.contents
            for name, tree in self._fates(moment, last, number):
                digest = hashlib.sha256(repr((sorted(tree.items()), moment.event == "done")).encode()).hexdigest()
                if digest not in seen:
                    seen.add(digest)
                    yield f"{moment.event}, {name}", moment, tree

    def _fates(self, moment: Moment, last: dict[int, bytes], seed: int) -> Iterator[tuple[str, Tree]]:
        now, sure = moment.now, moment.sure
        root = os.stat(self.root).st_ino
        chance = random.Random(seed)

        def kept(inode: int) -> bytes:
            return sure.contents.get(inode, b"")

        def written(inode: int) -> bytes:
            return last.get(inode, b"")

        def torn(inode: int) -> bytes:
            whole = written(inode)
            if sure.contents.get(inode) == whole:
                return whole
            return chance.choice([kept(inode), whole, whole[: len(whole) // 2], b"\0" * len(whole)])

        done = {end: chance.random() < 0.5 for move in moment.moves for end in (move[:2], move[2:4])}
        done |= {move[2:4]: done[move[:2]] for move in moment.moves}

        def some_names(folder: int) -> dict[str, int]:
            before, after = sure.names.get(folder, {}), now.names.get(folder, {})
            mixed: dict[str, int] = {}
            for name in sorted({*before, *after}):
                chosen = after if done.get((folder, name), chance.random() < 0.5) else before
                if name in chosen:
                    mixed[name] = chosen[name]
            return mixed

        def old_names(folder: int) -> dict[str, int]:
            return sure.names.get(folder, {})

        def new_names(folder: int) -> dict[str, int]:
            return now.names.get(folder, sure.names.get(folder, {}))

        folders = {*now.names, *sure.names}

        def tree(names: Callable[[int], dict[str, int]], content: Callable[[int], bytes]) -> Tree:
            found: Tree = {}

            def fill(folder: int, path: str) -> None:
                for name, inode in sorted(names(folder).items()):
                    if inode in folders:
                        found[path + name] = None
                        fill(inode, f"{path}{name}/")
                    else:
                        settled = kept if name.startswith(CATALOGUE) else content
                        found[path + name] = settled(inode)

            fill(root, "")
            return found

        yield "all else lost", tree(old_names, kept)
        yield "names kept, contents lost", tree(new_names, kept)
        yield "contents kept, names lost", tree(old_names, written)
        yield "some of it torn", tree(some_names, torn)


def _below(state: State, folder: int) -> Iterator[int]:
    """The files in a folder and in those below; who holds a lock is no matter of a power cut."""
    for name, inode in state.names[folder].items():
        if inode in state.names:
            yield from _below(state, inode)
        elif name != "lock":
            yield inode


def put_back(tree: Tree, folder: Path) -> Path:
    """The files and folders of a tree, made anew, for their owner only."""
    folder.mkdir(parents=True)
    for path, content in tree.items():
        if content is None:
            (folder / path).mkdir(mode=0o700)
        else:
            (folder / path).touch(mode=0o600)
            (folder / path).write_bytes(content)
    return folder
