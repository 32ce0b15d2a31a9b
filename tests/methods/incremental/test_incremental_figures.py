"""The worked examples of Byun et al., Privacy-Preserving Incremental Data Dissemination, by figure number."""

from __future__ import annotations

from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.intersection_attack import Intersection
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.model.observed import Observed
from tests.methods.incremental.tiny import series_of
from tests.support.words import PlainWords

ASTHMA, FLU, ALZHEIMER, DIABETES, CANCER, HEPATITIS = range(6)
TOM, MIKE, BOB, EVE, ALICE, HANK, SAL = range(7)
MALE, FEMALE = 0, 1
WORDS = PlainWords(
    values=dict(enumerate(["asthma", "flu", "alzheimer", "diabetes", "cancer", "hepatitis"])),
    subjects=dict(enumerate(["Tom", "Mike", "Bob", "Eve", "Alice", "Hank", "Sal"])),
)


def patients() -> Observed:
    """Figures 1-4: the patient tables and their (2,2)-anonymous releases."""
    codes = {
        TOM: (21, MALE),
        MIKE: (23, MALE),
        BOB: (52, MALE),
        EVE: (57, FEMALE),
        ALICE: (27, FEMALE),
        HANK: (53, MALE),
        SAL: (59, FEMALE),
    }
    values = {
        TOM: ASTHMA,
        MIKE: FLU,
        BOB: ALZHEIMER,
        EVE: DIABETES,
        ALICE: CANCER,
        HANK: HEPATITIS,
        SAL: FLU,
    }
    releases = [[[TOM, MIKE], [BOB, EVE]], [[TOM, MIKE, ALICE], [BOB, HANK], [EVE, SAL]]]
    person, male, female = (MALE, FEMALE), (MALE, MALE), (FEMALE, FEMALE)
    boxes = [
        [[(21, 25), male], [(50, 60), person]],
        [[(21, 30), person], [(51, 55), male], [(56, 60), female]],
    ]
    return series_of(codes, values, releases, boxes=boxes, words=WORDS)


def test_figures_1_to_4_alice_has_cancer_by_difference() -> None:
    outcome = Difference(k=2, c=0.5).run(patients())
    alice = next(finding for finding in outcome.findings if finding.subjects == ("Alice",))
    assert (alice.value, alice.level, alice.breach) == ("cancer", 1.0, True)
    assert alice.classes == ((1, 0), (2, 0))
    assert alice.details["people"] == 1
    assert alice.sentence == (
        "Everyone who is in class 0 of release 2 (a0 21-30, a1 0-1) but not in release 1: 1 person, fewer than k = 2; "
        "the 1 row has cancer (limit: 50%)."
    )
    assert ALICE in outcome.at_risk[2].tolist()


def test_figures_1_to_4_bob_has_alzheimer_by_intersection() -> None:
    outcome = Intersection(c=0.5).run(patients())
    found = {finding.subjects[0]: finding for finding in outcome.findings}
    assert found["Bob"].value == "alzheimer"
    assert found["Bob"].level == 1.0
    assert found["Bob"].sentence.startswith(
        "Bob certainly has alzheimer: no other value appears in this person's class in both"
    )
    assert found["Eve"].value == "diabetes"
    assert outcome.at_risk[2].tolist() == [BOB, EVE]
    assert "Tom" not in found, "Tom's privacy is still protected"


def trace_of(rows: dict[int, tuple[int, int]], releases: list[list[list[int]]], boxes: list) -> Observed:
    """rows: subject -> (code, value)."""
    codes = {subject: (code,) for subject, (code, _) in rows.items()}
    return series_of(codes, {s: v for s, (_, v) in rows.items()}, releases, boxes=boxes)


S, OTHER = 0, 1


def test_figure_8_i_one_compatible_class_narrows_the_row() -> None:
    """The only class of release 2 with the row's value that meets its box is [0-1]: only subjects 0 and 1 fit."""
    rows = {0: (0, S), 1: (1, OTHER), 2: (5, OTHER), 3: (6, OTHER)}
    series = trace_of(rows, [[[0, 1, 2, 3]], [[0, 1], [2, 3]]], [[[(0, 9)]], [[(0, 1)], [(5, 6)]]])
    found = [f for f in RecordTracing(k=3).run(series).findings if f.value == "v0"]
    assert [(f.level, f.subjects) for f in found] == [(2.0, ("#0", "#1"))]
    assert [f for f in RecordTracing(k=2).run(series).findings if f.value == "v0"] == []


def test_figure_8_ii_two_compatible_classes_leave_both_and_nothing_between() -> None:
    """A new row of the same value makes both classes possible: [0-1] and [5-6] hold four of the five people."""
    rows = {0: (0, S), 1: (1, OTHER), 2: (5, OTHER), 3: (6, OTHER), 4: (3, OTHER), 5: (5, S)}
    classes = [[[0, 1, 2, 3, 4]], [[0, 1], [2, 3, 5], [4]]]
    series = trace_of(rows, classes, [[[(0, 9)]], [[(0, 1)], [(5, 6)], [(3, 3)]]])
    assert [f for f in RecordTracing(k=4).run(series).findings if f.value == "v0"] == []
    found = [f for f in RecordTracing(k=5).run(series).findings if f.value == "v0"]
    assert [(f.level, f.subjects) for f in found] == [(4.0, ("#0", "#1", "#2", "#3"))]
    assert "fit a0 0-1 or a0 5-6, fewer than k = 5." in found[0].sentence


def test_figure_9_i_the_other_row_takes_the_place() -> None:
    """r1 can only be in the left class, whose one row of the value it takes; so r2 must be in the right class."""
    rows = {0: (0, S), 1: (1, OTHER), 2: (3, OTHER), 3: (8, S), 4: (7, OTHER)}
    series = trace_of(rows, [[[0, 1], [2, 3, 4]], [[0, 1, 2], [3, 4]]], [[[(0, 1)], [(3, 8)]], [[(0, 3)], [(7, 8)]]])
    found = [f for f in RecordTracing(k=3).run(series).findings if f.value == "v0" and f.classes[0] == (1, 1)]
    assert [(f.classes, f.level, f.subjects) for f in found] == [(((1, 1), (2, 1)), 2.0, ("#3", "#4"))]
    assert found[0].details["traced"] == "forced"
    assert found[0].sentence == (
        "1 row with v0 in class 1 of release 1 must be in class 1 of release 2: "
        "only 2 people (#3, #4) of release 1 fit a0 7-8, fewer than k = 3."
    )


def test_figure_9_ii_one_of_two_rows_is_in_each_class() -> None:
    """Two rows of the value, one in each class of release 2: nobody knows which, yet one is in each."""
    rows = {0: (0, S), 1: (1, OTHER), 2: (8, S), 3: (7, OTHER)}
    series = trace_of(rows, [[[0, 1, 2, 3]], [[0, 1], [2, 3]]], [[[(0, 8)]], [[(0, 1)], [(7, 8)]]])
    found = [f for f in RecordTracing(k=3).run(series).findings if f.value == "v0"]
    assert {(f.classes, f.level) for f in found} == {(((1, 0), (2, 0)), 2.0), (((1, 0), (2, 1)), 2.0)}


def test_an_uninformative_release_between_does_not_hide_a_trace() -> None:
    """Release 2 is one class; releases 1 and 3 still give the row away."""
    rows = {0: (0, S), 1: (1, OTHER), 2: (5, OTHER), 3: (6, OTHER)}
    series = trace_of(
        rows, [[[0, 1, 2, 3]], [[0, 1, 2, 3]], [[0, 1], [2, 3]]], [[[(0, 9)]], [[(0, 9)]], [[(0, 1)], [(5, 6)]]]
    )
    outcome = RecordTracing(k=3).run(series, involving=3)
    assert {f.releases for f in outcome.findings} == {(1, 3), (2, 3)}
