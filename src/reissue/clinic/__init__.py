"""A clinic that never was: seeded monthly snapshots of patients whose exam results change by a known matrix.

Everything an adversary could know about these people is exported beside the data: `first_results` (how the first result
depends on sex, age and weight; `FIRST` where it hardly does) and `next_results` (how a result moves from one month to
the next, by `TRANSITIONS`).
"""

from reissue.clinic.files import config, hierarchies, write
from reissue.clinic.illness import EXAMS, FIRST, TRANSITIONS, Dependence, Matrix, first_results, next_results
from reissue.clinic.months import SEXES, WARDS, ZIPS, clinic_months, month_names

__all__ = [
    "EXAMS",
    "FIRST",
    "SEXES",
    "TRANSITIONS",
    "WARDS",
    "ZIPS",
    "Dependence",
    "Matrix",
    "clinic_months",
    "config",
    "first_results",
    "hierarchies",
    "month_names",
    "next_results",
    "write",
]
