"""Long work behind a page: one piece at a time for a series, in a thread of its own, and how far it is.

Whoever ends the server ends it, too: a release is published as a whole or not at all.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from reissue.errors import ReissueError, SeriesBusy
from reissue.page.words import tell
from reissue.progress import Share

Work = Callable[[Callable[[str], None]], None]
"""Gets a callback for its stages."""

FAULT = (
    "This is a fault in Reissue, not in your data. Nothing was lost: a release is published as a whole or not at all. "
    "Please report what the terminal of `reissue serve` shows, with anything private removed."
)


class Stopped(Exception):
    """Raised inside work that changes nothing, at its next stage, if somebody wants it to end."""


class Job:
    """What is being done, or was done last. error: why it ended early, in words; None where it did not."""

    def __init__(self, title: str, work: Work, stoppable: bool) -> None:
        self.title, self.stage, self.stoppable = title, "", stoppable
        self.error: str | None = None
        self._share, self._work = Share(), work
        self.running, self.stopped = True, False

    def run(self) -> None:
        try:
            self._work(self._move)
        except Stopped:
            pass
        except ReissueError as error:
            self.error = tell(error)
        except MemoryError:
            self.error = "This machine ran out of memory. Nothing was lost; use a larger machine, or Spark."
        except Exception:
            traceback.print_exc(file=sys.stderr)
            self.error = FAULT
        finally:
            self.running = False

    def _move(self, stage: str) -> None:
        if self.stopped and self.stoppable:
            raise Stopped
        self._share.move(stage)
        self.stage = stage

    def to_dict(self) -> dict[str, object]:
        """For the page's script."""
        return {"running": self.running, "title": self.title, "stage": self.stage, "share": self._share.done}


class Bench:
    """Where the jobs of one series are done, one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.job: Job | None = None

    @property
    def busy(self) -> bool:
        return self.job is not None and self.job.running

    def refuse_busy(self) -> None:
        """Raise SeriesBusy where something is being done. A browser that comes later sees how far it is."""
        if self.job is not None and self.job.running:
            raise SeriesBusy(
                f"{self.job.title} is at work in this series, asked for by this page or another one. "
                "Wait until it has finished, then try again. Nothing was changed."
            )

    def start(self, title: str, work: Work, *, stoppable: bool = False) -> None:
        """Begin in a thread. stoppable: whether it changes nothing, so that it may be ended at any stage."""
        with self._lock:
            self.refuse_busy()
            self.job = Job(title, work, stoppable)
            threading.Thread(target=self.job.run, daemon=True, name=title).start()

    def stop(self) -> None:
        """Let the job end at its next stage, if it changes nothing."""
        if self.job is not None:
            self.job.stopped = True

    def clear(self) -> None:
        """Forget what the last job came to."""
        with self._lock:
            self.refuse_busy()
            self.job = None


@dataclass(eq=False)
class Workplace:
    """A folder that is worked on. name: as its address has it; key: where the key is with which it is sealed."""

    name: str
    path: Path
    key: str | None = None
    bench: Bench = field(default_factory=Bench)

    under: ClassVar[str]
    """Where its address begins."""

    @property
    def address(self) -> str:
        return f"{self.under}/{self.name}"
