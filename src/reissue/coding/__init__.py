"""The stable codes of a series: integers for quasi-identifiers and sensitive values, and the labels that name them."""

from reissue.coding.codes import Coding, CodingNames, CodingWords
from reissue.coding.learning import NumericSummary, SnapshotSummary
from reissue.coding.numeric import LARGEST_CODE, MISSING_CODE, Kind, NumericCoding
from reissue.hierarchy import MISSING

__all__ = [
    "LARGEST_CODE",
    "MISSING",
    "MISSING_CODE",
    "Coding",
    "CodingNames",
    "CodingWords",
    "Kind",
    "NumericCoding",
    "NumericSummary",
    "SnapshotSummary",
]
