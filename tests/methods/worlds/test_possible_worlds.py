"""Possible worlds against enumeration, against the named attacks, and where only the combination tells."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import SettingsError
from reissue.methods.correlation.attack import HistoricalCorrelation
from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.intersection_attack import Intersection
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.worlds.attack import PossibleWorlds
from reissue.methods.worlds.solver import settle
from reissue.methods.worlds.worlds import build_worlds, find_paths, narrow, truth
from reissue.model.domain import Domain
from reissue.model.observed import Observed, ObservedRelease
from tests.methods.equivalence.blocks import AMPLE
from tests.methods.incremental.tiny import series_of
from tests.methods.worlds.tiny_worlds import (
    random_series,
    release,
    series,
)
from tests.support.histories import CHURN, generate, observe, run_series
from tests.support.refusals import names
from tests.support.words import PlainWords


def test_only_the_combination_tells() -> None:
    """Three releases; no person's own classes settle a value, and no difference of two releases does."""
    values = {0: 0, 1: 1, 2: 2, 3: 0, 4: 1, 5: 2}
    found = None
    rng = np.random.default_rng(5)
    for _ in range(400):
        releases = []
        for number in (1, 2, 3):
            classes = rng.permutation([0, 0, 0, 1, 1, 1])
            releases.append(release(number, [(p, int(classes[p]), values[p]) for p in values]))
        observed = series(*releases)
        worlds = PossibleWorlds(c=0.9, seconds=AMPLE).run(observed)
        sure = {s for f in worlds.breaches if f.level == 1.0 for s in f.subjects}
        by_set = {s for f in Intersection(c=0.9).run(observed).breaches for s in f.subjects}
        by_difference = {s for f in Difference(k=1, c=0.9).run(observed).breaches if f.level == 1.0 for s in f.subjects}
        if sure - by_set - by_difference:
            found = worlds
            break
    assert found is not None, "the combination must find more than the attacks one by one"
    assert found.measures["certain_only_jointly"] > 0


def test_two_newcomers_are_certain_although_none_of_three_exact_attacks_finds_anybody() -> None:
    """Six people, two releases. The newcomers 4 and 5 have v1 and v2 together, and the class of 4 does not show v2."""
    values = {0: 3, 1: 2, 2: 1, 3: 4, 4: 1, 5: 2}
    everywhere = [[(0, 9)]], [[(0, 9)], [(0, 9)]]
    observed = series_of({s: (s,) for s in values}, values, [[[0, 1, 2, 3]], [[0, 3, 4], [1, 2, 5]]], boxes=everywhere)
    for attack in (Intersection(c=2 / 3), Difference(k=2, c=2 / 3), RecordTracing(k=2)):
        assert attack.run(observed).findings == ()
    sure = PossibleWorlds(c=2 / 3).run(observed).breaches
    assert [(finding.subjects, finding.value, finding.level) for finding in sure] == [
        (("#4",), "v1", 1.0),
        (("#5",), "v2", 1.0),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_certain_disclosures_of_named_attacks_are_confirmed(seed: int) -> None:
    rng = np.random.default_rng([83, seed])
    confirmed = 0
    for _ in range(60):
        people, values = 12, 3
        value = rng.integers(0, values, people)
        releases = []
        for number in (1, 2, 3):
            here = np.arange(people) if number > 1 else np.arange(8)
            order = rng.permutation(here)
            classes = {int(p): i // 3 for i, p in enumerate(order)}
            releases.append(release(number, [(int(p), classes[int(p)], int(value[p])) for p in here]))
        observed = series(*releases)
        outcome = PossibleWorlds(c=0.999, seconds=AMPLE).run(observed)
        sure = {(s, f.value) for f in outcome.breaches if f.level == 1.0 for s in f.subjects}
        named = [*Intersection(c=0.999).run(observed).breaches, *Difference(k=1, c=0.999).run(observed).breaches]
        for finding in named:
            if finding.unit == "share of one value" and finding.level == 1.0:
                for subject in finding.subjects:
                    assert (subject, finding.value) in sure, finding.sentence
                    confirmed += 1
    assert confirmed > 20


def test_carl_compromised_tells_erica() -> None:
    """Table 1 of the historical correlation paper; 0-7: Alice, Betty, Carl, Doris, Erica, Fiona, Grace, Hanna."""
    cancer, bronchitis, aids = 0, 1, 2
    first = release(
        1, [(0, 0, cancer), (1, 0, bronchitis), (2, 0, aids), (3, 1, cancer), (4, 1, aids), (5, 1, bronchitis)]
    )
    second = release(
        2, [(2, 0, aids), (3, 0, cancer), (5, 0, bronchitis), (4, 1, aids), (6, 1, bronchitis), (7, 1, cancer)]
    )
    observed = Observed([first, second], (Domain("a", 0, 9),), 3, PlainWords({2: "AIDS"}, {2: "Carl", 4: "Erica"}))
    assert not PossibleWorlds(m=2).run(observed).breaches, "both releases are 3-invariant"
    told = PossibleWorlds(compromised=(2,)).run(observed)
    assert [(f.subjects, f.value) for f in told.breaches] == [(("Erica",), "AIDS")]
    by_name = PossibleWorlds(compromised=("Carl",)).run(observed)
    assert [f.sentence for f in by_name.findings] == [f.sentence for f in told.findings]
    with pytest.raises(SettingsError, match="nobody"):
        PossibleWorlds(compromised=("nobody",)).run(observed)


def possible_values(releases: list[ObservedRelease], known: set[int]) -> dict[str, set[str]]:
    """What possible worlds leave for everybody, by name."""
    paths = find_paths(releases, np.array(sorted(known), dtype=np.int64))
    worlds = build_worlds(releases, paths)
    bounds = narrow(worlds)
    assert bounds is not None
    settled = settle(worlds, bounds, truth(worlds, releases, paths), 0.5, 60.0)
    left = {
        path: {f"v{worlds.value[e]}" for e in np.flatnonzero((worlds.path == path) & (settled.most > 0))}
        for path in range(paths.people)
    }
    return {f"#{s}": left[int(p)] for s, p in zip(paths.subjects, paths.of, strict=True)}


def test_what_compromised_people_tell_is_confirmed() -> None:
    """Every value that ct-pvr and hc-pvr rule out is in no possible world, and sometimes worlds rule out more."""
    rng = np.random.default_rng(86)
    ruled_out = more = 0
    for _ in range(80):
        people, value = 18, np.arange(18) % 3
        releases = []
        for number in (1, 2, 3):
            order = np.concatenate([rng.permutation(np.flatnonzero(value == v)) for v in range(3)]).reshape(3, 6)
            classes = {int(p): c for row in order for c, p in enumerate(row)}
            releases.append(release(number, [(p, classes[p], int(value[p])) for p in range(people)]))
        known = set(rng.choice(people, 4, replace=False).tolist())
        outcome = HistoricalCorrelation(n=1, compromised=tuple(known)).run(series(*releases))
        possible = possible_values(releases, known)
        for finding in outcome.findings:
            out = set(finding.details["ruled_out"])  # type: ignore[call-overload]
            assert not out & possible[finding.subjects[0]], finding.sentence
            ruled_out += len(out)
        more += sum(3 - len(values) for name, values in possible.items() if int(name[1:]) not in known)
    assert ruled_out > 100
    assert more > ruled_out


def test_rows_of_nobody_absorb_values() -> None:
    alone = series(release(1, [(0, 0, 0), (1, 0, 0)]))
    assert PossibleWorlds().run(alone).breaches
    hidden = PossibleWorlds().run(series(release(1, [(0, 0, 0), (1, 0, 0)], [(0, 1), (0, 1)])))
    assert not hidden.breaches
    assert "match no known person" in hidden.notes[0]


def test_changed_values_conclude_nothing() -> None:
    first = release(1, [(0, 0, 0), (1, 0, 0)])
    second = release(2, [(0, 0, 1), (1, 0, 1)])
    outcome = PossibleWorlds().run(series(first, second))
    assert not outcome.findings
    assert "values have changed" in outcome.notes[0]


def test_involving_looks_at_what_the_last_release_adds() -> None:
    first = release(1, [(0, 0, 0), (1, 0, 1), (2, 1, 2)])
    second = release(2, [(0, 0, 0), (1, 1, 1), (2, 1, 2)])
    told = PossibleWorlds().run(series(first, second), involving=2)
    assert {s for f in told.breaches for s in f.subjects} == {"#0", "#1"}, "#2 was told by release 1 already"


def test_m_invariant_series_hold() -> None:
    rng = np.random.default_rng(84)
    snapshots = generate(rng, releases=4, rows=300, values=9, turnover=CHURN)
    facts = run_series(MInvariance(m=3), snapshots)
    outcome = PossibleWorlds(m=3, c=1 / 3, seconds=AMPLE).run(observe(facts, snapshots[-1]))
    assert not outcome.breaches, outcome.breaches[0].sentence


def test_no_time_finds_only_what_single_equations_tell() -> None:
    rng = np.random.default_rng(85)
    for _ in range(20):
        releases = [r for r in random_series(rng) if len(r.classes)]
        if not releases:
            continue
        quick, slow = (
            PossibleWorlds(seconds=0).run(series(*releases)),
            PossibleWorlds(seconds=AMPLE).run(series(*releases)),
        )
        fast = {s for f in quick.breaches for s in f.subjects}
        assert fast <= {s for f in slow.breaches for s in f.subjects}
        assert bool(quick.notes and "did not reach" in quick.notes[-1]) == (quick.measures["components"] > 0)


@pytest.mark.parametrize("wrong", [{"m": 1}, {"c": 0}, {"seconds": -1}, {"limit": 0}])
def test_settings(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=names(wrong)):
        PossibleWorlds(**wrong)  # type: ignore[arg-type]


def test_sentences() -> None:
    """Of one person, of several, of a share of them, and of values that remain; alone, and jointly."""
    one = series(release(1, [(0, 0, 1), (1, 0, 2)]), release(2, [(0, 0, 1), (1, 1, 2)]))
    assert [f.sentence for f in PossibleWorlds(m=2).run(one).breaches] == [
        "Taken together, release 1 and release 2 show that #0 certainly has v1: no other value appears in all this "
        "person's classes.",
        "Taken together, release 1 and release 2 show that #1 certainly has v2: no other value appears in all this "
        "person's classes.",
    ]
    some = series(release(1, [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 0, 2)]))
    (told,) = PossibleWorlds(c=0.5, m=2).run(some).breaches
    assert "at least 3 of 4 people (#0, #1, #2, ...) certainly have v1 (limit: 50%)" in told.sentence
    assert (told.level, told.threshold, told.unit, told.value) == (0.75, 0.5, "share of one value", "v1")
    few = series(release(1, [(0, 0, 1), (1, 0, 2)]))
    (told,) = PossibleWorlds(c=0.5, m=3).run(few).breaches
    assert told.sentence.endswith(
        "can only have v1 and v2, fewer than m = 3 values: no other assignment of values fits all classes."
    )
    assert (told.level, told.threshold, told.unit, told.value) == (2.0, 3.0, "possible values", None)


def test_what_was_left_out_is_told_with_its_number() -> None:
    none = {"nobody": 0, "left_out": 0, "undecided": 0}
    attack = PossibleWorlds(seconds=5)
    assert attack.notes(none) == ()
    assert attack.notes({**none, "nobody": 1}) == (
        "1 row matches no known person (counterfeits, perhaps) and may hold any value.",
    )
    assert attack.notes({**none, "nobody": 2})[0].startswith("2 rows match no known person")
    left, undecided = attack.notes({**none, "left_out": 1, "undecided": 3})
    assert left == (
        "5 seconds of work did not reach the parts of 1 person: for them only what single equations imply was found. "
        "More may be found with `--set seconds=60`."
    )
    assert undecided.startswith("Work ran out for 3 people, so that they were checked only in part")
    assert not PossibleWorlds().looks_for_names
    assert PossibleWorlds(compromised=("Tom",)).looks_for_names
