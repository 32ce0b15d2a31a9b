"""The historical correlation attack: on the paper's table 1, and against definitions 2 to 4 on tiny histories."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reissue.errors import SettingsError
from reissue.methods.correlation.attack import HistoricalCorrelation
from reissue.methods.correlation.correlations import FollowedSeries
from reissue.methods.correlation.inference import build_world, infer
from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.correlations import fixed_point, groups_of, random_series, smallest_set
from tests.support.hospital_table import FIRST, NUMBERS, SECOND, WORDS, table
from tests.support.refusals import names
from tests.support.words import PlainWords


def test_example_1_the_two_correlations() -> None:
    findings = HistoricalCorrelation(n=3).run(table(FIRST, SECOND)).findings
    pairs = {(finding.details["older"], finding.details["newer"]) for finding in findings}
    named = {tuple(tuple(NUMBERS[name] for name in side) for side in pair) for pair in CORRELATIONS}
    assert named <= pairs
    assert HistoricalCorrelation(n=2).run(table(FIRST, SECOND)).findings[0].subjects == ("Carl", "Erica")


CORRELATIONS = ((("Erica",), ("Carl",)), (("Alice", "Betty"), ("Doris", "Fiona")))


def test_examples_2_and_4_with_carl_compromised_erica_has_aids_in_these_words() -> None:
    outcome = HistoricalCorrelation(n=2, compromised=("Carl",)).run(table(FIRST, SECOND))
    erica = next(finding for finding in outcome.findings if finding.subjects == ("Erica",))
    assert (erica.value, erica.level, erica.breach) == ("AIDS", 1.0, True)
    assert erica.sentence == (
        "Carl has AIDS, so Doris and Fiona do not; the classes of January and February differ in Carl and Erica, "
        "so Erica has AIDS."
    )
    for name in ("Doris", "Fiona"):
        finding = next(f for f in outcome.findings if f.subjects == (name,))
        assert finding.details["left"] == ("cancer", "bronchitis")
        assert not finding.breach
    assert outcome.measures["disclosed"] == 1.0


def test_numbers_name_people_too_and_strangers_are_refused() -> None:
    by_number = HistoricalCorrelation(compromised=(NUMBERS["Carl"],)).run(table(FIRST, SECOND))
    by_name = HistoricalCorrelation(compromised=("Carl",)).run(table(FIRST, SECOND))
    assert by_number.findings == by_name.findings
    for stranger in ("Zoe", 99):
        with pytest.raises(SettingsError, match=str(stranger)):
            HistoricalCorrelation(compromised=(stranger,)).run(table(FIRST, SECOND))


def test_a_name_is_told_as_it_is_also_where_a_sentence_begins() -> None:
    """p1 and P1 may be two people."""
    series = table(FIRST, SECOND)
    small = PlainWords(WORDS.values, {number: name.lower() for number, name in WORDS.subjects.items()})
    named = Observed(series.releases, series.domains, series.value_count, small)
    outcome = HistoricalCorrelation(n=2, compromised=("carl",)).run(named)
    erica = next(finding for finding in outcome.findings if finding.subjects == ("erica",))
    assert erica.sentence.startswith("carl has AIDS")


def test_involving_names_only_what_the_release_adds() -> None:
    series = table(FIRST, SECOND)
    assert HistoricalCorrelation(n=3).run(series, involving=1).findings == ()
    assert HistoricalCorrelation(n=3).run(series, involving=2).total == HistoricalCorrelation(n=3).run(series).total
    alone = HistoricalCorrelation(n=2, compromised=("Carl",)).run(series, involving=1)
    assert {f.subjects[0] for f in alone.findings} == {"Alice", "Betty"}
    added = HistoricalCorrelation(n=2, compromised=("Carl",)).run(series, involving=2)
    assert {f.subjects[0] for f in added.findings if f.unit == "possible values"} == {
        "Doris",
        "Erica",
        "Fiona",
        "Grace",
        "Hanna",
    }


def test_the_same_classes_again_tell_nothing() -> None:
    outcome = HistoricalCorrelation(n=3).run(table(FIRST, FIRST, FIRST))
    assert outcome.findings == ()
    assert outcome.measures["unsafe_classes"] == 0.0


def test_at_risk_are_those_in_whom_classes_differ() -> None:
    risk = HistoricalCorrelation(n=2).run(table(FIRST, SECOND)).at_risk
    assert {n: who.tolist() for n, who in risk.items()} == {1: [NUMBERS["Erica"]], 2: [NUMBERS["Carl"]]}


def test_who_is_at_risk_and_which_pairs_differ_least_is_as_by_enumeration() -> None:
    many = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        series, _ = random_series(rng, values=3, merge=0.5, fakes=seed % 3 == 0)
        n, groups = int(rng.integers(1, 4)), groups_of(series)
        risk = {release.number: set[int]() for release in series.releases}
        pairs = []
        for q, p in ((q, p) for q in groups for p in groups if p.release < q.release):
            shared, size, before = len(q.people & p.people), len(q.people), len(p.people)
            if (size - n < shared < size and shared) or (shared == size < before < size + n):
                risk[q.release] |= {s for s in q.people - p.people if s >= 0}
                risk[p.release] |= {s for s in p.people - q.people if s >= 0}
                apart = size - shared or before - size
                pairs.append((apart, q.release, p.release, q.number, p.number))
        for limit in (2, 100):
            found = HistoricalCorrelation(n=n, limit=limit).run(series)
            assert {number: set(who.tolist()) for number, who in found.at_risk.items()} == risk
            assert [finding.rank for finding in found.findings] == sorted(pairs)[:limit]
            assert found.total == len(pairs)
        many += len(pairs)
    assert many > 300


def test_unsafe_is_definition_3_where_classes_have_one_size_and_never_less() -> None:
    """Exact where all classes show every value once; with merged classes of several sizes, at least definition 3."""
    safe = unsafe = stricter = 0
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        values = int(rng.integers(2, 5))
        merge = 0.0 if seed % 2 else 0.5
        series, _ = random_series(rng, values=values, merge=merge, fakes=seed % 3 == 0)
        n = int(rng.integers(1, values + 1))
        groups, rows = groups_of(series), FollowedSeries.of(series.releases)
        for position in range(len(series)):
            flagged = set((rows.find_unsafe_pairs(position, n).newer - rows.classes[position]).tolist())
            for group in groups:
                if group.release != position + 1:
                    continue
                smallest = smallest_set(group, [g for g in groups if g.release <= position])
                by_definition = smallest is not None and smallest < n
                if merge == 0.0:
                    assert (group.number in flagged) == by_definition
                assert not by_definition or group.number in flagged
                safe += not by_definition
                unsafe += by_definition
                stricter += group.number in flagged and not by_definition
    assert safe > 1000
    assert unsafe > 500
    assert stricter > 20  # the paper's test asks for more than definition 3, and that is kept


def losing(two: list[int]) -> Observed:
    """A class, then the class without its last people: what other tools may publish."""
    rows = np.arange(6, dtype=np.int64)
    values = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    releases = []
    for number, who in ((1, rows), (2, np.array(two, dtype=np.int64))):
        classes, codes = np.zeros(len(who), dtype=np.int32), who.astype(np.int32)[:, None]
        members = Members(who, classes, codes, values[who])
        releases.append(ObservedRelease(number, bounding_boxes(codes, classes, 1), classes, values[who], members))
    return Observed(releases, (Domain("a", 0, 8),), 3, PlainWords())


def test_a_class_that_only_lost_people_is_unsafe_in_releases_of_other_tools() -> None:
    finding = HistoricalCorrelation(n=2).run(losing([0, 1, 2, 3, 4])).findings[0]
    assert finding.level == 1.0
    assert finding.details["older"] == (5,)
    assert HistoricalCorrelation(n=2).run(losing([0, 1, 2])).findings == ()


def test_a_person_may_have_what_all_classes_of_the_person_show() -> None:
    world = build_world(losing([0, 1, 3, 4]).releases)
    may = [world.entries[slice(*world.entry_start[i : i + 2])].tolist() for i in range(len(world.subjects))]
    assert may == [[0, 1], [0, 1], [0, 1, 2], [0, 1], [0, 1], [0, 1, 2]], "the last of three left with people 2 and 5"


def test_the_fixed_point_is_that_of_definitions_2_and_4() -> None:
    cascades = 0
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        series, truth = random_series(rng, values=int(rng.integers(2, 5)), merge=0.0, fakes=seed % 3 == 0)
        real = [s for s in truth if s >= 0]
        world = build_world(series.releases)
        there = world.subjects[world.subjects >= 0]
        chosen = rng.permutation(there)[: int(rng.integers(0, 4))]
        expected = fixed_point(series, truth, {int(s) for s in chosen})
        told = infer(world, world.people(np.sort(chosen)))
        got = {
            int(s): set(
                world.entries[slice(*world.entry_start[i : i + 2])][
                    told.possible[slice(*world.entry_start[i : i + 2])]
                ].tolist()
            )
            for i, s in enumerate(world.subjects)
        }
        assert got == expected, seed
        assert all(truth[s] in left for s, left in got.items())
        cascades += any(len(left) == 1 for s, left in got.items() if s >= 0 and s not in chosen)
        assert set(expected) >= set(there.tolist())
        assert len(real) >= len(there)
    assert cascades > 200


def test_merged_classes_never_rule_out_the_truth_and_lose_nothing_of_the_definitions() -> None:
    for seed in range(800):
        rng = np.random.default_rng(seed)
        series, truth = random_series(rng, values=int(rng.integers(2, 4)), merge=0.7, fakes=seed % 2 == 0)
        world = build_world(series.releases)
        chosen = rng.permutation(world.subjects[world.subjects >= 0])[:3]
        expected = fixed_point(series, truth, {int(s) for s in chosen})
        told = infer(world, world.people(np.sort(chosen)))
        for i, s in enumerate(world.subjects.tolist()):
            slots = slice(world.entry_start[i], world.entry_start[i + 1])
            left = set(world.entries[slots][told.possible[slots]].tolist())
            assert truth[s] in left
            assert left <= expected[s]


def test_every_loss_is_explained_back_to_compromised_people() -> None:
    told = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        series, truth = random_series(rng, values=3, merge=0.3, fakes=seed % 2 == 0)
        chosen = tuple(int(s) for s in rng.permutation([s for s in truth if s >= 0])[:3])
        world = build_world(series.releases)
        chosen = tuple(s for s in chosen if s in world.subjects)
        if not chosen:
            continue
        outcome = HistoricalCorrelation(n=1, compromised=chosen, limit=1000).run(series)
        for finding in outcome.findings:
            told += 1
            assert finding.subjects[0] in finding.sentence
            assert any(f"#{s} " in finding.sentence for s in chosen)
            if finding.value is not None:
                who = finding.subjects[0]
                ends = (f"{who} has {finding.value}.", f"only {finding.value} is left for {who}.")
                assert finding.sentence.lower().endswith(tuple(end.lower() for end in ends))
                assert finding.value == f"v{truth[int(who[1:])]}"
        exposed = {int(f.subjects[0][1:]) for f in outcome.findings if f.breach}
        assert exposed <= {int(s) for who in outcome.at_risk.values() for s in who}
    assert told > 300


def test_rows_that_nobody_can_follow_leave_more_possible() -> None:
    series = table(FIRST, SECOND)
    second = series.releases[1]
    assert second.members is not None
    carl = second.members.subjects == NUMBERS["Carl"]
    without = Members(*(column[~carl] for column in vars(second.members).values()))
    hidden = replace(series, releases=[series.releases[0], replace(second, members=without)])
    outcome = HistoricalCorrelation(n=2, compromised=("Carl",)).run(hidden)
    assert "Erica" not in {f.subjects[0] for f in outcome.findings if f.unit == "possible values"}


def test_a_simulated_share_is_repeatable_and_sits_beside_the_prediction() -> None:
    series, _ = random_series(np.random.default_rng(5), values=3, merge=0.0, fakes=False)
    attack = HistoricalCorrelation(p=0.3, trials=20, seed=4)
    one, two = attack.run(series), attack.run(series)
    assert one.measures == two.measures
    assert 0.0 < one.measures["measured_ct"] < 1.0
    for name in ("ct", "hc", "breach"):
        assert 0.0 <= one.measures[f"measured_{name}"] <= 1.0
        assert 0.0 < one.measures[f"predicted_{name}"] < 1.0


def test_nobody_compromised_breaks_nothing_and_everybody_leaves_nobody_to_disclose() -> None:
    series, _ = random_series(np.random.default_rng(6), values=3, merge=0.0, fakes=False)
    assert HistoricalCorrelation(n=1, p=0.0).run(series).measures["measured_breach"] == 0.0
    assert HistoricalCorrelation(n=1, p=1.0).run(series).measures["disclosed"] == 0.0


@pytest.mark.parametrize(
    "settings", [{"n": 0}, {"n": 1.5}, {"p": 1.5}, {"p": 0.1, "compromised": ("Carl",)}, {"trials": 0}, {"limit": 0}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        HistoricalCorrelation(**settings)  # type: ignore[arg-type]
