"""Before workers of a cluster are given anything to do: do they have this Reissue, and do they share the folder?"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from reissue.engine.spark.tasks import unwrap_errors
from reissue.errors import SettingsError

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Spark

WorkerReport = tuple[str, str, str | None, str | None, str]
"""A host, its Python, the version of its Reissue, the token that it read, and the name of the file that it wrote."""


@dataclass(frozen=True)
class Expected:
    """What every worker should have: this Reissue, and the folder with the token in it."""

    folder: Path
    token: str
    reissue: str

    def refuse(self, reports: Sequence[WorkerReport]) -> None:
        """Raise SettingsError with every host that lacks something."""
        lacks = sorted({f"{report[0]} {lack}" for report in reports for lack in self._lacks(report)})
        if lacks:
            raise SettingsError(f"Spark's workers cannot do this yet: {'; '.join(lacks)}. Nothing was changed.")

    def _lacks(self, report: WorkerReport) -> list[str]:
        (_, python, reissue, token, written), lacks = report, []
        if reissue is None:
            lacks.append(
                f"has no Reissue in its Python {python} (install Reissue {self.reissue} there, or send an environment "
                "with `spark-submit --archives`)"
            )
        elif reissue != self.reissue:
            lacks.append(f"has Reissue {reissue}, but this is {self.reissue} (install the same version)")
        shared = f"the folder {self.folder.parent} (mount it at the same path on every worker, readable and writable)"
        if token != self.token:
            lacks.append(f"does not see {shared}")
        elif not (self.folder / written).is_file():
            lacks.append(f"cannot write to {shared}")
        return lacks


def check_workers(spark: Spark, folder: Path) -> None:
    """Raise SettingsError if a worker lacks Reissue, has another version, or does not share the folder.

    One small job, only where workers are not this machine's own. It may not meet every worker of a large cluster.
    """
    context = spark.session.sparkContext
    master = context.master or "local"
    if master.startswith("local") and not master.startswith("local-cluster"):
        return
    with tempfile.TemporaryDirectory(prefix="preflight-", dir=folder) as name:
        expected = Expected(Path(name), secrets.token_hex(8), version("reissue"))
        (expected.folder / "token").write_text(expected.token)
        count = 2 * max(1, context.defaultParallelism)
        with unwrap_errors():
            reports = context.parallelize(range(count), count).map(_look_around(name)).collect()
        expected.refuse(reports)


def _look_around(folder: str) -> Callable[[int], WorkerReport]:
    """What runs on a worker. It is sent by value, since a worker without Reissue could not import it by name."""

    def look(task: int) -> WorkerReport:
        import os
        import platform
        import socket
        from importlib import metadata

        host, token = socket.gethostname(), None
        written = f"{host}-{os.getpid()}-{task}"
        try:
            installed: str | None = metadata.version("reissue")
        except metadata.PackageNotFoundError:
            installed = None
        try:
            with open(os.path.join(folder, "token")) as file:
                token = file.read()
            with open(os.path.join(folder, written), "w") as file:
                file.write(host)
        except OSError:
            pass
        return host, platform.python_version(), installed, token, written

    return look
