"""Historical correlation, compromised people and cor-split (Riboni and Bettini), on top of m-invariance.

What maker and checker share, and why both may trust it:

- The differences of classes are weighed by `cor_partition` where a release is made, and by `correlations` in
  the attack that checks it: they share nothing. `test_cor_split` and `test_historical_correlation` hold both against
  the definitions on plain sets.
- `inference` (with `inference_kernel`) and `simulation` follow what compromised people give away. The
  attack measures by them, and publish says by them what chains reach; no release depends on it. The fixed point is that
  of definitions 2 and 4 in `test_historical_correlation` and `test_chains`.
- `breach_probability` says which degree n follows from p and h: how strict the promise is, not whether a release keeps
  it. `test_breach` holds it against the lemmas written out.
- Sets are numbered by m-invariance's `signatures`, and its buckets are ours; see its room.
"""
