"""Prior sets of possible values: what an attacker can rule out about single people before any release (S_r)."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.errors import InputError
from reissue.model.observed import Names
from reissue.model.small_files import MANY, read_small


@dataclass(frozen=True, eq=False)
class PriorSets:
    """subjects: int64[n], values: int32[n]: what is possible for whom; unmatched: how many people are unknown."""

    subjects: Int64
    values: Int32
    unmatched: int = 0

    def excludes(self, subjects: Int64, values: Int32) -> Bool:
        """bool[n]: whether a person's set is known and lacks the value."""
        width = 1 + int(max(self.values.max(initial=0), values.max(initial=0)))
        allowed = np.isin(subjects * width + values, self.subjects * width + self.values)
        return np.asarray(np.isin(subjects, self.subjects) & ~allowed, dtype=np.bool_)


def read_prior_sets(path: str, names: Names) -> PriorSets:
    """A CSV with the columns subject and value, a line for each value that is possible for a person."""
    try:
        text = read_small(Path(path), MANY).decode("utf-8-sig")
        lines = list(csv.DictReader(io.StringIO(text, newline="")))
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"The file {path} cannot be read: {reason}. Check its path and form.") from error
    for column in ("subject", "value"):
        if lines and column not in lines[0]:
            raise InputError(f"{Path(path).name} has no column '{column}'; it needs subject and value.")
    code = {label: i for i, label in enumerate(names.values)}
    wrong = next((line["value"] for line in lines if line["value"] not in code), None)
    if wrong is not None:
        raise InputError(f"{Path(path).name}: the series knows no value {wrong!r}. Correct the label.")
    subjects = np.asarray(names.numbers([line["subject"] for line in lines]), dtype=np.int64)
    values = np.array([code[line["value"]] for line in lines], dtype=np.int32)
    known = subjects >= 0
    return PriorSets(
        subjects[known], values[known], len({line["subject"] for line in lines}) - len(set(subjects[known]))
    )
