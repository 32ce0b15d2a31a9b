"""`reissue warm-up`: every kernel is compiled once and kept, so that no publish waits for it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa

from reissue import clinic
from reissue.arrays.compiled import processors
from reissue.arrays.sets import distinct
from reissue.engine.identifiers import MANY, find_repeated, join_identifiers, normalize
from reissue.errors import ReissueError
from reissue.methods.registry import STRATEGIES, find_strategy
from reissue.publish.gates import NAMES
from reissue.series import Series

MONTHS = 3
PATIENTS = 400
SETTINGS: Mapping[str, Sequence[Mapping[str, object]]] = {
    "standing": [{"form": "flat"}, {"form": "told"}],
    "static": [{"k": 4, "c": 0.5}, {"k": 4, "c": 0.5, "algorithm": "incognito"}],
    "m-invariance": [{"m": 3}],
    "e-equivalence": [{"m": 3, "e": 2}],
    "cor-split": [{"m": 3, "n": 2}],
    "bay-frame": [{"k": 4, "J": 0.5, "beta": 5.0}],
    "js-reduce": [{"k": 4, "t": 0.5, "J": 0.5}],
}
"""One for each kind of kernels; of other strategies a plain k."""


def warm_up(strategies: Sequence[str], say: Callable[[str], None]) -> None:
    """Compile what these strategies (all, if none is named) and the attacks on them need; other processes find it.

    Several strategies are compiled by processes of their own, as many at a time as there are processors.
    """
    for name in strategies:
        find_strategy(name)
    if len(strategies) == 1:
        _publish_and_audit(strategies[0])
        return
    names = list(strategies or STRATEGIES)
    with ThreadPoolExecutor(processors()) as pool:
        for name in pool.map(_compile_apart, names):
            say(f"Ready: {name}")


def _compile_apart(name: str) -> str:
    done = subprocess.run([sys.executable, "-m", "reissue", "warm-up", name], capture_output=True, text=True)
    if done.returncode:
        raise ReissueError(f"The kernels of '{name}' could not be compiled: {done.stderr.strip()}")
    return name


def _compile_for_many_rows() -> None:
    """What small months do without: the kernels for identifiers, and for rows that are equal."""
    rows = np.arange(MANY, dtype=np.int32)
    names, _ = normalize(pa.chunked_array([pa.array(rows).cast(pa.string())]))
    find_repeated(names)
    join_identifiers((names, rows.astype(np.int64)), names)
    distinct([rows, rows])


def _publish_and_audit(name: str) -> None:
    """Some small months of the made-up clinic, published and attacked in a folder that goes away."""
    grows = not find_strategy(name).supports.gone
    _compile_for_many_rows()
    with tempfile.TemporaryDirectory() as folder:
        snapshots = clinic.write(folder, months=MONTHS, patients=PATIENTS, cumulative=grows)
        for number, settings in enumerate(SETTINGS.get(name, [{"k": 3}])):
            config = Path(folder) / f"{number}.toml"
            config.write_text(clinic.config(strategy=name, settings=settings), encoding="utf-8")
            with Series.from_config(config.with_suffix(".reissue"), config, seed=1) as series:
                for snapshot in snapshots:
                    series.publish(snapshot, allow=NAMES)
                series.audit()
