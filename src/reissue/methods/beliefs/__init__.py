"""The Bayesian adversary, bay-frame (Amiri et al.) and js-reduce (Riboni et al.): values may change.

What maker and checker share, and why both may trust it:

- `cycle` with `posterior`, `revision` and `knowledge` is what an attacker believes: the strategies group
  people by it, their check (`promise_check`) measures J on it, and the attack follows it. Every estimator equals the
  enumeration of all assignments in `test_posterior`, the fold equals a simulation of its own in `test_cycle`, and
  knowledge is tested against counting by hand in `test_knowledge`.
- The check shares no code with the making of classes (`classes`, `growing`): divergences are summed anew by
  `revision`, values by `model.requirement_check`, and `test_bay_frame` measures both once more by
  `tests.support.oracles`. The counts of the snapshot, which beta compares with, are told by the release; they must
  cover what it publishes.
- Neither strategy promises to stop the attack.
"""
