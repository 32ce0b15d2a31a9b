"""Audit any series: what an attacker with all the releases learns, about whom."""

from __future__ import annotations

import sys
from types import ModuleType

from reissue.audit.auditing import audit, audit_series
from reissue.audit.result import Audit

__all__ = ["Audit", "audit", "audit_series"]


class _Callable(ModuleType):
    """`reissue.audit` is a function to its users; once this package is imported, its name is the package's, too."""

    __call__ = staticmethod(audit)


sys.modules[__name__].__class__ = _Callable
__doc__ = audit.__doc__ or ""  # what `help(reissue.audit)` shows is about the function
