"""Strategies: each makes the next release of a series under its guarantee. One file each."""
