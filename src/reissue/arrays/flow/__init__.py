"""Flows and cuts on small integer graphs."""
