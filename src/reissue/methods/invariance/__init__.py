"""m-invariance (Xiao and Tao) and the association attack: the same m possible values for life.

What maker and checker share, and why both may trust it:

- `signatures` numbers equal sets of values. The strategy keeps them in the ledger, the attack numbers what the
  published classes show; equal hashes are compared value by value, and `test_signatures` holds all of it against
  Python's sets.
- `strategy`, `buckets` and `dealing` make classes; the association attack uses none of them.
  `test_association` and `test_m_invariance` hold it against the definitions on plain sets and histories.
- The attacker who knows the algorithm measures, it checks nothing. `attack_origins` finds cells and regions as
  `strategy` does, since both are public, and rebuilds the cuts by which the paper parts buckets, as releases of other
  programs and earlier ones of ours were made.
"""
