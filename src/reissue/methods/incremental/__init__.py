"""Difference, intersection and record tracing, and the checked strategies (Byun, Li, Bertino, Li and Sohn).

What maker and checker share, and why both may trust it:

- `difference` with `difference_flows`, `difference_regions` and `difference_sets`, `tracing` with `tracing_filter`,
  `tracing_graph` and `tracing_places`, the even parts of `sides`, and `running_knowledge` are the attacks' own
  measures. `checked-incognito` weighs every node by them, and `checked-mondrian` a history that others made; they equal
  enumeration in `test_incremental_attacks`, `test_even_parts` and `test_tracing`. `checked-mondrian` cuts by
  `recut.check*`, which share nothing with the attacks (`test_localcheck` holds the one against the other), but reads
  what is possible for whom from `running_knowledge`.
- A fault in one of these would deceive both, so publish also runs `second_check` and `second_tracing`: the three
  attacks by plain counting, enumeration and moving rows one at a time, on all that is small and on a seeded sample.
  `test_second_check` holds them against enumeration, and plants a fault in each shared kernel: publish refuses.
- That every class meets (k,c), that boxes hold their rows and that no row is lost is checked by `publish.self_check`
  and `model.requirement_check`, which no strategy uses.
"""
