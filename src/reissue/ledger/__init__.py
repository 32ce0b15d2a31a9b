"""The publisher's private memory of a series."""
