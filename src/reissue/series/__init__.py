"""A series: create, open, publish, look back. It ties the layers together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reissue.lazy import export
from reissue.series.release import Release as Release
from reissue.series.series import Series as Series

if TYPE_CHECKING:
    from reissue.series.adopting import Adopted as Adopted
    from reissue.series.adopting import adopt as adopt

# Adopting imports the whole audit, and SciPy with it: half a second that publishing must not pay.
__all__, __getattr__, _ = export(__name__, {"reissue.series.adopting": "Adopted adopt"})
__all__ += ["Release", "Series"]
