"""What Spark forks the Python workers of this machine from: it imports what they all need, once for all of them.

Each would otherwise import it by itself, which takes seconds of a processor. Spark runs it as a program.
"""

import numba
import pandas  # pyarrow asks for it in every worker
import pyarrow.parquet
from pyspark import worker
from pyspark.daemon import manager

import reissue.engine.spark.snapshot

__all__ = ["numba", "pandas", "pyarrow", "reissue", "worker"]

if __name__ == "__main__":
    manager()
