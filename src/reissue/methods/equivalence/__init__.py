"""The equivalence attack and e-equivalence (He, Barman and Naughton), on top of m-invariance.

What maker and checker share, and why both may trust it:

- `lifespans` builds the graph of a bucket from the ledger's counts, `smallest_attack` and `newcomers` from the
  published classes; both weigh the edges by `lifespans.weigh_graph` and find cuts by `arrays.flow.mincut`, which
  equals enumeration of all cuts in its tests and proves each answer by a flow of the same value before it gives it: a
  fault stops publish (`test_proved_cuts`). `test_e_equivalence` also proves the bound by an integer program, which
  uses neither, and `test_equivalence_bounds` by enumerating weights.
- `fingerprints` and `attack_people` serve the audit alone: they equal linear algebra and the enumeration of all worlds
  in `test_fingerprints`, and share nothing with the cuts.
- Sets are numbered by m-invariance's `signatures`, and its buckets are ours; see its room.
"""
