"""A clinic that never was: seeded monthly snapshots of patients whose exam results change by a known matrix.

Everything an adversary could know about these people is exported beside the data: `FIRST` (how the first result
depends on sex and age) and `TRANSITIONS` (how a result moves from one month to the next).
"""

from reissue.clinic.files import config, hierarchies, write
from reissue.clinic.illness import EXAMS, FIRST, TRANSITIONS, Matrix, first_results
from reissue.clinic.months import SEXES, WARDS, ZIPS, clinic_months, month_names

__all__ = [
    "EXAMS",
    "FIRST",
    "SEXES",
    "TRANSITIONS",
    "WARDS",
    "ZIPS",
    "Matrix",
    "clinic_months",
    "config",
    "first_results",
    "hierarchies",
    "month_names",
    "write",
]
