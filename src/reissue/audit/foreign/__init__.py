"""Releases that another tool made: read, labels understood, rows matched with snapshots."""
