"""Compare strategies on one's own snapshots: who is broken by what, at what cost, and which one to take."""

from __future__ import annotations

from reissue.compare.comparing import Comparison, compare, compare_config

__all__ = ["Comparison", "compare", "compare_config"]
