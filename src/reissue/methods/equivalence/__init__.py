"""The equivalence attack and e-equivalence (He, Barman and Naughton), on top of m-invariance.

What maker and checker share, and why both may trust it:

- `lifespans` builds the graph of a bucket from the ledger's counts, `smallest_attack` and `newcomers` from the
  published classes; both find cuts by `arrays.flow.mincut`, which equals enumeration of all cuts in its tests, and
  both weigh the edges by `lifespans.weigh_graph`. `test_e_equivalence` also proves the bound by an integer program,
  which uses neither, and `test_equivalence_bounds` by enumerating weights.
- `fingerprints` and `small_worlds` serve the audit alone: they equal linear algebra and the enumeration of all worlds
  in `test_fingerprints`, and share nothing with the cuts.
- Signatures and buckets are those of m-invariance; see its room.
"""
