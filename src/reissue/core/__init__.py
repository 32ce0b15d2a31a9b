"""Pure functions on arrays: boxes, groups, partitions, orders, flows and cuts. No files, no tables, no settings."""

from reissue.core.cache import find_place

find_place()
