"""Proposes what the columns of a table may be, with reasons, for a steward to judge."""
