"""What possible worlds have in common is what listing all of them says."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.worlds.attack import PossibleWorlds
from reissue.methods.worlds.solver import settle
from reissue.methods.worlds.worlds import build_worlds, find_paths, narrow, truth
from tests.methods.equivalence.blocks import AMPLE
from tests.methods.worlds.tiny_worlds import (
    enumerated,
    paths_by_enumeration,
    random_series,
    series,
)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_equal_enumeration(seed: int) -> None:
    rng = np.random.default_rng([81, seed])
    for _ in range(25):
        releases = random_series(rng)
        known = {int(rng.integers(0, 6))} if rng.random() < 0.3 else set()
        paths = find_paths(releases, np.array(sorted(known), dtype=np.int64))
        worlds = build_worlds(releases, paths)
        bounds = narrow(worlds)
        assert bounds is not None
        real = truth(worlds, releases, paths)
        assert real is not None
        settled = settle(worlds, bounds, real if rng.random() < 0.5 else None, 0.5, 60.0)
        assert settled.exact.all()
        assert settled.looked.all()
        assert settled.whole.all()
        _, all_worlds = enumerated(releases, known)
        for e in range(len(worlds)):
            path = int(worlds.path[e])
            if path >= paths.people:
                continue
            who = paths.subjects[paths.of == path].tolist()
            counts = [sum(w[p] == worlds.value[e] for p in who) for w in all_worlds]
            assert (settled.least[e], settled.most[e]) == (min(counts), max(counts))
            # bounds carried through single equations hold, too
            assert bounds.least[e] <= min(counts)
            assert max(counts) <= bounds.most[e]


def test_findings_equal_enumeration() -> None:
    rng = np.random.default_rng(82)
    certain = jointly = 0
    for _ in range(150):
        releases = [r for r in random_series(rng) if len(r.classes)]
        if not releases:
            continue
        possible, _ = enumerated(releases, set())
        outcome = PossibleWorlds(c=1.0, m=2, seconds=AMPLE).run(series(*releases))
        told = {s for finding in outcome.breaches for s in finding.subjects}
        assert told == {f"#{p}" for p, values in possible.items() if len(values) == 1}
        certain += len(told)
        jointly += sum(len(f.subjects) for f in outcome.breaches if f.details["joint"])
    assert certain > 50
    assert jointly > 5


@pytest.mark.parametrize("seed", range(6))
def test_figures_equal_enumeration(seed: int) -> None:
    rng = np.random.default_rng([83, seed])
    for _ in range(25):
        releases = [r for r in random_series(rng) if len(r.classes)]
        if not releases or not any(r.members is not None and len(r.members.subjects) for r in releases):
            continue
        c, m = float(rng.choice([0.5, 0.7, 1.0])), int(rng.integers(2, 4))
        paths = paths_by_enumeration(releases)
        share = [max(low for low, _ in v.values()) / len(who) for who, v in paths]
        left = [sum(high > 0 for _, high in v.values()) for _, v in paths]
        broken = [s > c or s == 1 or n < m for s, n in zip(share, left, strict=True)]
        excluded = [any(high == 0 for _, high in v.values()) for _, v in paths]
        outcome = PossibleWorlds(c=c, m=m, seconds=AMPLE).run(series(*releases))
        told = outcome.measures
        exposed = sorted(p for (who, _), hit in zip(paths, broken, strict=True) if hit for p in who)
        assert told["paths"] == len(paths)
        assert told["highest_certain_share"] == pytest.approx(max(share))
        assert told["fewest_possible_values"] == min(left)
        assert told["subjects_at_risk"] == len(exposed)
        sure = [(who, v) for (who, v), s in zip(paths, share, strict=True) if s == 1]
        assert told["certain_subjects"] == sum(len(who) for who, _ in sure)
        assert told["certain_only_jointly"] == sum(len(who) for who, v in sure if len(v) > 1)
        assert told["values_ruled_out_jointly"] == sum(high == 0 for _, v in paths for _, high in v.values())
        assert (told["paths_left_out"], told["paths_undecided"]) == (0, 0)
        assert outcome.total == sum(b or e for b, e in zip(broken, excluded, strict=True))
        for r in releases:
            assert r.members is not None
            assert outcome.at_risk[r.number].tolist() == sorted(set(exposed) & set(r.members.subjects.tolist()))
        first = [finding for finding in outcome.findings if finding.breach]
        assert sorted(s for finding in first for s in finding.subjects) == sorted(f"#{p}" for p in exposed)
