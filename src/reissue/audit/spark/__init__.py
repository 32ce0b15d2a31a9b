"""Audits on Spark: attacks on parts of a series, and what they find put together."""
