"""Figures 2 and 4 of Byun et al. 2006, as another tool would have written them, and the people behind them."""

from __future__ import annotations

import pyarrow as pa

from tests.support.hospital import FIGURE_1, FIGURE_3, frame

FIRST = pa.table(
    {
        "age": ["21-23", "21-23", "52-57", "52-57"],
        "gender": ["Male", "Male", "*", "*"],
        "diagnosis": ["Asthma", "Flu", "Alzheimer", "Diabetes"],
    }
)

SECOND = pa.table(
    {
        "age": ["[21, 28[", "[21, 28[", "52-53", "57-59", "[21, 28[", "52-53", "57-59"],
        "gender": ["Person", "Person", "Male", "Female", "Person", "Male", "Female"],
        "diagnosis": ["Asthma", "Flu", "Alzheimer", "Diabetes", "Cancer", "Hepatitis", "Flu"],
    }
)

SNAPSHOTS = [frame(FIGURE_1), frame(FIGURE_3)]
