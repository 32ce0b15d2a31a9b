"""Difference, intersection and record tracing, and the checked strategies (Byun, Li, Bertino, Li and Sohn)."""
