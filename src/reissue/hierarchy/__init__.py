"""A hierarchy is a taxonomy of one attribute: values at the bottom, groups of values above them, `*` on top."""

from reissue.hierarchy.links import MISSING, RANGE, ROOT
from reissue.hierarchy.taxonomy import Hierarchy

__all__ = ["MISSING", "RANGE", "ROOT", "Hierarchy"]
