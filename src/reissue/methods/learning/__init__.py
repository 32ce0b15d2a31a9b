"""The learning attacker (ours): learns from the releases how values depend on quasi-identifiers, and reasons over all
of them at once. The attack alone stands here; `statistics` and `judgement` also serve the attacker who knows the
algorithm (in the room of m-invariance)."""
