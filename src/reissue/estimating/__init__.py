"""Counts and rates from the public files of a release, with intervals; and weights for other statistics programs.

- reading:   a release folder as rows: boxes in codes, and values or classes of values
- asking:    what a query asks for, in codes
- spreading: which part of a row's box lies in a query
- intervals: the count, the rate, and how far off they may be
"""

from __future__ import annotations

from reissue.estimating.answering import Estimate, estimate, weights

__all__ = ["Estimate", "estimate", "weights"]
