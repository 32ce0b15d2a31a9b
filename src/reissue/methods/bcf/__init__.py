"""Correspondence attacks and the BCF-anonymizer (Fung, Wang, Fu and Pei): releases that only grow.

What maker and checker share, and why both may trust it:

- `cracks` and `candidates` are the attack's own measure. The strategy takes from them what earlier releases leave for
  everybody, and, where an earlier release is no global cut, the measure of every step (`search.make_task`). They equal
  the enumeration of all generators in `test_cracks` and `test_candidates` for two releases; over three and more they
  bound the candidates from above. What a step does to the newest release is weighed by `specialization` and
  `specialization_check`, which the attack does not use.
- `crossing` says where that bound is exact, by a proof, and `joint_candidates` counts exactly where it is not: both
  equal the enumeration of all generators over three and four releases in `test_crossing`. Nobody is said to keep so
  many candidates but by a witness: whole numbers that add up to all groups, checked.
- A fault in what is shared would deceive both, so publish also runs `second_check`: the candidates of everybody in a
  small release, and of a seeded sample in a large one, from the paper's sets, by placing rows one at a time and, where
  classes cross, by programs of its own. `test_second_check` holds it against the attack's numbers, and plants a fault
  in each: publish refuses.
"""
