"""Drawing compromised people at random, and the predicted probabilities beside the measured ones."""

from __future__ import annotations

import numpy as np

from reissue.arrays.sets import find_owners
from reissue.arrays.types import NO_NUMBERS, Bool, Int64
from reissue.methods.correlation.breach_probability import breach_probability, ct_probability, hc_probability
from reissue.methods.correlation.inference import CT, HC, PriorSets, World, infer


def draw_compromised(world: World, p: float, seed: int, trial: int = 0) -> Int64:
    """int64[]: positions of real people, each compromised with probability p."""
    rng = np.random.default_rng([seed, trial])
    return np.flatnonzero((rng.random(len(world.subjects)) < p) & (world.subjects >= 0))


def simulate(
    world: World, p: float, n: int, trials: int, seed: int, prior: PriorSets | None = None
) -> dict[str, float]:
    """Means over draws: the chance that a wrong value is ruled out by ct-pvr alone, by hc-pvr alone (each once), that a
    person is fully disclosed by both applied once and by both to their fixed point; and what lemmas 1, 2 and theorem 2
    predict. The predictions are of rules applied once: chains, in which the disclosed disclose others, are not in them.

    Only people count who are not compromised themselves and whose classes leave more than one value by themselves.
    """
    baseline = infer(world, NO_NUMBERS, prior=prior)
    real = (world.subjects >= 0) & (baseline.left > 1)
    owner = find_owners(world.entry_start)
    wrong = world.entries != world.truth[owner]
    ct, hc, once, breach, found = [], [], [], [], []
    for trial in range(trials):
        people = draw_compromised(world, p, seed, trial)
        counted = real.copy()
        counted[people] = False
        mine = counted[owner] & wrong
        ct.append(_share(~infer(world, people, prior=prior, rules=CT, cascade=False).possible, mine))
        hc.append(_share(~infer(world, people, prior=prior, rules=HC, cascade=False).possible, mine))
        once.append(_share(infer(world, people, prior=prior, cascade=False).left == 1, counted))
        disclosed = infer(world, people, prior=prior).left == 1
        breach.append(_share(disclosed, counted))
        found.append(float((disclosed & counted).sum()))
    return {
        "trials": float(trials),
        "measured_ct": float(np.mean(ct)),
        "measured_hc": float(np.mean(hc)),
        "measured_once": float(np.mean(once)),
        "measured_breach": float(np.mean(breach)),
        "disclosed_mean": float(np.mean(found)),
        "measured_breach_spread": float(np.std(breach)),
        **_predict(world, p, n, real),
    }


def measure_chains(world: World, p: float, trials: int, seed: int) -> float:
    """The share of people who are disclosed by chains, of those who are neither compromised nor disclosed anyway."""
    open_ = (world.subjects >= 0) & (infer(world, NO_NUMBERS).left > 1)
    found = []
    for trial in range(trials):
        people, counted = draw_compromised(world, p, seed, trial), open_.copy()
        counted[people] = False
        found.append(_share(infer(world, people).left == 1, counted))
    return float(np.mean(found))


def _share(what: Bool, among: Bool) -> float:
    return float(what[among].mean()) if among.any() else 0.0


def _predict(world: World, p: float, n: int, real: Bool) -> dict[str, float]:
    """The formulas at everybody's own number of releases and possible values, averaged over people."""
    lived, kinds = np.diff(world.trail_start)[real], np.diff(world.entry_start)[real]
    if len(lived) == 0:
        return {"predicted_ct": 0.0, "predicted_hc": 0.0, "predicted_breach": 0.0}
    pairs, weight = np.unique(np.stack([lived, kinds]), axis=1, return_counts=True)
    rows = [(int(a), int(b), min(n, int(b))) for a, b in pairs.T]
    share = weight / weight.sum()
    return {
        "predicted_ct": float(share @ [ct_probability(p, a) for a, _, _ in rows]),
        "predicted_hc": float(share @ [hc_probability(p, a, m, d) for a, m, d in rows]),
        "predicted_breach": float(share @ [breach_probability(p, a, m, d) for a, m, d in rows]),
    }
