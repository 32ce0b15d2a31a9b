"""Correspondence attacks and the BCF-anonymizer (Fung, Wang, Fu and Pei): releases that only grow.

What maker and checker share, and why both may trust it:

- `cracks` and `candidates` are the attack's own measure. The strategy takes from them what earlier releases leave for
  everybody, and, where an earlier release is no global cut, the measure of every step (`search.make_task`). They equal
  the enumeration of all generators in `test_cracks` and `test_candidates` for two releases; over three and more the
  candidates are an upper bound, by their definition. What a step does to the newest release is weighed by
  `specialization` and `specialization_check`, which the attack does not use.
- A fault in what is shared would deceive both, so publish also runs `second_check`: the candidates of everybody in a
  small release, and of a seeded sample in a large one, from the paper's sets and by placing rows one at a time.
  `test_second_check` holds it against the attack's numbers, and plants a fault in each: publish refuses.
"""
