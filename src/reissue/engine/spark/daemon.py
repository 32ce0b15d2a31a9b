"""What Spark forks the Python workers of this machine from: it does what they all need, once for all of them.

Each would otherwise import it by itself, which takes seconds of a processor, and set numba up. Before its first task a
worker reads again what its finders of modules know, archives among them, so those used here are forgotten. Spark runs
this as a program.
"""

import gc
import sys
from collections.abc import Mapping

import pandas  # pyarrow asks for it in every worker
import pyarrow.parquet
from pyspark import worker
from pyspark.daemon import manager

import reissue.engine.spark.snapshot
from reissue.arrays.compiled import warm_up

__all__ = ["pandas", "pyarrow", "reissue", "worker"]


def freeze_rest(phase: str, info: Mapping[str, int]) -> None:
    """Let a worker look only for its next task's garbage: what outlives a task are modules and kernels, which stay.

    It looks after every task. Through all that is imported and compiled this would take 80 ms, longer than most tasks
    on small tables do. While a task runs nothing is frozen, for what it holds may be garbage when it ends.
    """
    if phase == "stop" and info["generation"] == 2 and sys._getframe(1).f_code is manager.__code__:
        gc.freeze()


if __name__ == "__main__":
    warm_up()
    sys.path_importer_cache.clear()
    gc.freeze()
    gc.callbacks.append(freeze_rest)
    manager()
