"""Possible worlds: what every assignment of values that fits all releases has in common."""
