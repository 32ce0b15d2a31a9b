"""static and merge: one release at a time, for comparison."""
