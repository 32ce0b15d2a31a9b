"""How a release comes about: compare with the past, make, check, write, commit."""
