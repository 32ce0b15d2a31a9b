"""What a person reads: one offline HTML page, drawn from a plain document and from nothing else.

Needs the extra `report` (jinja2, altair, vl-convert-python); without it a `MissingExtra` says what to install.
"""

from __future__ import annotations

from reissue.report.audit import audit_html
from reissue.report.comparison import comparison_html, comparison_picture
from reissue.report.render import require

__all__ = ["audit_html", "comparison_html", "comparison_picture", "require"]
