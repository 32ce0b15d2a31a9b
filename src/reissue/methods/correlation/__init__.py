"""Historical correlation, compromised people and cor-split (Riboni and Bettini), on top of m-invariance.

What maker and checker share, and why both may trust it:

- The differences of classes are weighed by `cor_partition_kernels` where a release is made, and by `correlations` in
  the attack that checks it: they share nothing. `test_cor_split` and `test_historical_correlation` hold both against
  the definitions on plain sets.
- `inference` and `simulation` follow what compromised people give away. The attack measures by them, and publish says
  by them what chains reach; no release depends on it. The fixed point is that of definitions 2 and 4 in
  `test_historical_correlation` and `test_chains`.
- Signatures and buckets are those of m-invariance; see its room.
"""
