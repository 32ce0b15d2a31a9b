"""Reissue publishes the same person-level table again and again, so that the releases stay private side by side."""
