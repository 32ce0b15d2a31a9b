"""Pure functions on arrays: boxes, groups, partitions, orders, flows and cuts. No files, no tables, no settings."""
