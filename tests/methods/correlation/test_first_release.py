"""The first release has no earlier classes: nothing is unsafe, and what says so need not be compiled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.arrays.types import NO_CODES
from reissue.methods.correlation.cor_partition import RowTrails, repair_classes
from reissue.model.domain import Domain


def test_all_classes_stay_as_they_were_dealt() -> None:
    rng = np.random.default_rng(1)
    classes = rng.permutation(np.repeat(np.arange(6), 3)).astype(np.int32)
    values = np.empty(18, dtype=np.int32)
    for one in range(6):
        values[classes == one] = np.arange(3)
    dealt = (classes, np.zeros(18, np.int32), values, rng.integers(0, 9, (18, 1), dtype=np.int32))
    nowhere = np.zeros(18, dtype=np.int64)
    nobody = RowTrails(nowhere, nowhere, NO_CODES, NO_CODES)
    somebody_else = replace(nobody, groups=np.zeros(1, np.int32), sizes=np.full(1, 3, np.int32))
    short, long = (repair_classes(*dealt, [Domain("age", 0, 8)], past, 2) for past in (nobody, somebody_else))
    assert short.classes.tolist() == long.classes.tolist() == classes.tolist()
    assert short.classes.dtype == long.classes.dtype
    assert short.lacking.tolist() == long.lacking.tolist() == [False] * 6
    assert (short.count, short.unsafe, short.merged) == (long.count, long.unsafe, long.merged) == (6, 0, 0)
