"""What a person reads: one offline HTML page, drawn from a plain document and from nothing else.

Needs the extra `report` (jinja2, altair, vl-convert-python); without it a `MissingExtra` says what to install.
"""

from __future__ import annotations

from reissue.report.pages import draw_comparison, prepare_audit, prepare_comparison, render_audit, render_comparison
from reissue.report.render import require

__all__ = ["draw_comparison", "prepare_audit", "prepare_comparison", "render_audit", "render_comparison", "require"]
