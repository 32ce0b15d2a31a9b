"""The diseases of the worked examples of Amiri et al. (2019), and how they follow each other."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Float64

BRONCHITIS, ALZHEIMER, CANCER_1, ULCER, FLU, DIABETES_1, CANCER_2, GERD, DEPRESSION = range(9)
TABLE_7 = {  # P(disease at t2 | disease at t1): GERD, Depression, Cancer-II
    FLU: (0.005, 0.001, 0.0001),
    ULCER: (0.3, 0.01, 0.001),
    CANCER_1: (0.002, 0.1, 0.6),
    BRONCHITIS: (0.002, 0.003, 0.002),
    ALZHEIMER: (0.002, 0.1, 0.002),
    DIABETES_1: (0.005, 0.001, 0.0001),
}


def table_7() -> Float64:
    moves = np.zeros((9, 9))
    for disease, (gerd, depression, cancer) in TABLE_7.items():
        moves[disease, [GERD, DEPRESSION, CANCER_2]] = gerd, depression, cancer
    return moves
