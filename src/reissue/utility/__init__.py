"""How much a release still tells: measures on (release, snapshot)."""
