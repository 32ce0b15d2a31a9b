"""A series: create, open, publish, look back. It ties the layers together."""

from reissue.series.adopting import Adopted, adopt
from reissue.series.release import Release
from reissue.series.series import Series

__all__ = ["Adopted", "Release", "Series", "adopt"]
