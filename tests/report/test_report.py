"""The audit's report: what it says, that it loads and runs nothing foreign, and that it stays readable."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from reissue.errors import InputError
from reissue.report import charts, render_audit
from reissue.report.pages import prepare_audit
from reissue.report.text import (
    call_releases,
    choose_unit,
    format_share,
    list_settings,
    open_sentence,
)
from tests.report.documents import example, long_series
from tests.report.elements import Elements


@pytest.fixture(scope="module")
def page() -> str:
    return render_audit(example())


def test_it_says_everything_the_document_says(page: str) -> None:
    text, document = Elements(page).text, example()
    said = [
        document["verdict"]["promise"]["sentence"],
        document["verdict"]["beyond"]["sentence"],
        *(one["sentence"][1:] for one in document["verdict"]["advice"]["lines"]),
        *(attack[key] for attack in document["attacks"] for key in ("does", "who")),
        *(file["sha256"] for release in document["releases"] for file in release["files"]),
        *(attack["assumes"] for attack in document["attacks"]),
        *(attack["reason"] for attack in document["attacks"] if attack["reason"]),
        *(finding["sentence"] for attack in document["attacks"] for finding in attack["findings"]),
        *(note for attack in document["attacks"] for note in attack["notes"]),
        *(one["sentence"] for one in document["traceable"]),
        *document["notes"],
        *(release["name"] for release in document["releases"]),
    ]
    for sentence in said:
        assert sentence.replace("`", "") in text, sentence  # what stood between them is code
    places = [document["verdict"]["promise"]["sentence"], "What to do now", document["attacks"][0]["assumes"]]
    assert [text.index(one) for one in places] == sorted(text.index(one) for one in places), "the verdict first"


def test_commands_are_shown_as_code_and_nothing_else_is() -> None:
    document = example()
    advice, note = "look at `reissue publish --dry-run --strategy m<b>` first.", "More with `--set seconds=60`."
    document["verdict"]["advice"]["lines"][0]["sentence"] = advice
    document["attacks"][0]["notes"], document["notes"] = [note], ["A value `flu` & no command."]
    made = render_audit(document)
    assert "Look at <code>reissue publish --dry-run --strategy m&lt;b&gt;</code> first." in made
    assert "More with <code>--set seconds=60</code>." in made
    assert "<li>A value `flu` &amp; no command.</li>" in made
    assert "`" not in Elements(made).text.replace("`flu`", "")


def test_steps_are_shown(
    browser,
) -> None:
    document = example()
    document["releases"][0]["steps"] = ["1. Read 4 rows.", "2. Cut them into 2 classes."]
    assert "2. Cut them into 2 classes." in Elements(render_audit(document)).text


def test_without_people_nothing_is_made_up() -> None:
    document = example()
    document["verdict"] |= {"subjects": None, "subjects_at_risk": None}
    for release in document["releases"]:
        release |= {"members": None, "changes": None, "counterfeits": None, "ambiguous": None}
    for attack in document["attacks"]:
        attack |= {"at_risk": [], "subjects_at_risk": None}
    text = Elements(render_audit(document)).text
    assert "people in the series– not known" in text.replace("\n", "")
    assert "people at risk– not known" in text.replace("\n", "")
    assert "people at risk cannot be counted" in text
    assert "nobody knows who came and left" in text
    assert "People appear by number" not in text, "nobody appears"


@pytest.mark.parametrize(
    ("counts", "look", "words"),
    [
        ((1, 1, 3, 0), "bad", "✗ These releases reveal too much"),
        ((0, 0, 2, 0), "unsure", "? Nothing could be checked"),
        ((0, 1, 8, 0), "unsure", "? Little could be checked: 8 of 9 attacks were not run"),
        ((0, 4, 4, 0), "good", "✓ No attack succeeded, 4 were not run"),
        ((0, 8, 1, 0), "good", "✓ No attack succeeded, 1 was not run"),
        ((0, 9, 0, 0), "good", "✓ No attack succeeded"),
        ((0, 8, 0, 1), "unsure", "? No attack succeeded, but 1 attack did not finish"),
        ((0, 7, 0, 2), "unsure", "? No attack succeeded, but 2 attacks did not finish"),
    ],
)
def test_what_was_not_checked_is_not_green(counts: tuple[int, int, int, int], look: str, words: str) -> None:
    document = example()
    breached = counts[0]
    lists = dict(zip(("breached", "held", "skipped", "partly"), counts, strict=True))
    names = {f"attacks_{status}": [f"attack {i}" for i in range(count)] for status, count in lists.items()}
    document["verdict"] |= {"breached": breached > 0, **names}
    page = render_audit(document)
    assert f'<div class="verdict {look}"' in page
    assert f"<strong>{words}</strong>" in page


def test_files_were_not_made_by_the_policy_they_are_held_against() -> None:
    document = example()
    document["series"] |= {"strategy": "static", "settings": {"k": 4}, "kind": "releases"}
    assert "held against the promise of static" in Elements(render_audit(document)).text
    document["series"]["kind"] = "series"
    text = Elements(render_audit(document)).text
    assert "made with static" in text
    assert "strategy static (k = 4)" in text


def test_an_attack_that_found_nothing_says_what_it_did_not_look_at() -> None:
    document = example()
    document["attacks"][0] |= {"worst": None, "notes": ["release 2 starts a new chain."], "status": "held"}
    document["attacks"][0] |= {"findings": [], "findings_total": 0}
    text = Elements(render_audit(document)).text
    assert "Nothing was found." in text
    assert "Release 2 starts a new chain." in text


def test_a_finding_without_classes_or_attributes_is_no_obstacle() -> None:
    document = example()
    document["attacks"][0]["findings"][0] |= {"classes": [], "classes_total": 0, "value": None, "threshold": None}
    assert "No classes to draw" in render_audit(document)
    document["attributes"] = []
    assert "No classes to draw" in render_audit(document)


def test_another_format_is_refused() -> None:
    with pytest.raises(InputError, match="reissue-audit/2"):
        render_audit({**example(), "format": "reissue-audit/2"})
    with pytest.raises(InputError, match="lacks releases"):
        render_audit({key: value for key, value in example().items() if key != "releases"})


def test_24_full_releases_stay_under_3_megabytes() -> None:
    assert len(render_audit(long_series()).encode()) < 3_000_000


def test_charts_are_valid_vega_lite() -> None:
    import altair

    for name, spec in charts.draw_audit(example()).items():
        assert altair.Chart.from_dict(dict(spec)).to_dict(), name


def test_the_timeline_shows_who_stayed_came_back_is_new_and_left() -> None:
    releases = [
        {"number": 1, "rows": 50, "members": 50, "changes": {"new": 50, "back": 0, "gone": 0}},
        {"number": 3, "rows": 47, "members": 45, "changes": {"new": 10, "back": 2, "gone": 15}},
        {"number": 4, "rows": 40, "members": None, "changes": None},
    ]
    spec = charts.draw_timeline(releases, {1: "May", 3: "June", 4: "July"})
    assert spec is not None
    bars = {(row["release"], row["what"]): (row["people"], row["order"]) for row in spec["data"]["values"]}  # type: ignore[index]
    assert bars == {
        ("May", "stayed"): (0, 0), ("May", "came back"): (0, 1), ("May", "new"): (50, 2), ("May", "left"): (0, 3),
        ("June", "stayed"): (33, 0), ("June", "came back"): (2, 1), ("June", "new"): (10, 2),
        ("June", "left"): (-15, 3),
        ("July", "rows"): (40, 0),
    }  # fmt: skip
    nobody = charts.draw_overview([{"release": 1, "subjects": 0, "of": 50}], {1: "May"})
    assert nobody is None
    overview = charts.draw_overview(
        [{"release": 1, "subjects": 0, "of": 50}, {"release": 3, "subjects": 7, "of": 45}], {1: "May", 3: "June"}
    )
    assert overview is not None
    shown = [(row["release"], row["what"], row["people"]) for row in overview["data"]["values"]]  # type: ignore[index]
    assert shown == [("May", "not at risk", 50), ("June", "at risk", 7), ("June", "not at risk", 38)]


def test_no_address_and_no_foreign_element(page: str) -> None:
    for tag, attributes in Elements(page).tags:
        assert tag not in ("iframe", "object", "embed", "base", "form"), tag
        for name in ("src", "href", "action", "data", "srcset"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:,")), (tag, target)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0%"), (1, "100%"), (0.5, "50%"), (0.333, "33.3%"), (0.1204, "12%"), (0.1206, "12.1%"), (0.001, "0.1%"),
     (0.999, "99.9%"), (0.0001, "<0.1%"), (0.9999, ">99.9%"), (None, "–")],
)  # fmt: skip
def test_a_share_never_rounds_to_nothing_or_all(value: float | None, text: str) -> None:
    assert format_share(value) == text


def test_words_around_numbers_and_names() -> None:
    assert (choose_unit("people", 1), choose_unit("people", 2), choose_unit("share of one value", 1)) == (
        "person",
        "people",
        "share of one value",
    )
    assert (choose_unit("possible values", 1), choose_unit("possible values", 2)) == (
        "possible value",
        "possible values",
    )
    assert (choose_unit("people on each side", 1), choose_unit("people on each side", 2)) == (
        "person on each side",
        "people on each side",
    )
    assert list_settings({"m": 4, "invariant": 1.0}) == "m = 4, the same values for life"
    assert open_sentence("subject 4 has flu") == "Subject 4 has flu"
    assert open_sentence("anna has flu") == "anna has flu", "names are nobody's to change"
    assert list_settings({"k": 5, "knowledge": {"values": "estimate", "second": None}}) == (
        "k = 5, knowledge = (values = estimate)"
    )


def test_lines_can_be_told_apart_and_nobody_at_risk_has_none() -> None:
    document = long_series(3)
    chart = charts.draw_risk(document["attacks"], call_releases(document["releases"]))
    assert chart is not None
    encoding = chart["encoding"]
    assert isinstance(encoding, dict)
    looks = zip(encoding["color"]["scale"]["range"], map(tuple, encoding["strokeDash"]["scale"]["range"]), strict=True)
    assert len(set(looks)) == 10
    for attack in document["attacks"][1:]:
        attack["at_risk"] = [{**at, "subjects": 0} for at in attack["at_risk"]]
    chart = charts.draw_risk(document["attacks"], call_releases(document["releases"]))
    assert chart is not None
    assert chart["encoding"]["color"]["scale"]["domain"] == ["Attack 0"]  # type: ignore[index]
    document["attacks"][0]["at_risk"] = [{**at, "subjects": 0} for at in document["attacks"][0]["at_risk"]]
    assert charts.draw_risk(document["attacks"], call_releases(document["releases"])) is None
    assert "No attack puts anybody at risk in any release." in Elements(render_audit(document)).text


def test_settings_are_repeated_only_where_they_change() -> None:
    document = long_series(4)
    for release, m in zip(document["releases"], (3, 3, 4, 4), strict=True):
        release["settings"] = {"m": m}
    text = Elements(render_audit(document)).text
    assert re.findall(r"Release \d: m-invariance(?: \(m = \d\))?", text) == [
        "Release 1: m-invariance (m = 3)",
        "Release 2: m-invariance",
        "Release 3: m-invariance (m = 4)",
        "Release 4: m-invariance",
    ]


def test_without_the_extra_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules[{name!r}] = None\n"
        "import json; from reissue.report import render_audit; from reissue.errors import MissingExtra\n"
        "try:\n    render_audit(json.load(open({path!r})))\n"
        "except MissingExtra as error:\n    assert 'reissue[report]' in str(error); print('said')"
    )
    from tests.report.documents import EXAMPLE

    for name in ("altair", "vl_convert", "jinja2"):
        command = [sys.executable, "-c", code.format(name=name, path=str(EXAMPLE))]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.stdout.strip() == "said", done.stderr


def test_rates_of_several_pairs_of_none_and_of_older_documents() -> None:
    document = example()
    document["rates"].append({**document["rates"][0], "pair": "gender", "points": [], "error": None})
    document["rates"][1]["releases"] = [{"release": n, "error": None, "correlation": None} for n in (1, 2)]
    drawn, _ = prepare_audit(document)
    assert "rates-0" in drawn
    assert "rates-1" not in drawn, "nothing to draw"
    assert "rate error, gender" in Elements(render_audit(document)).text
    del document["rates"]
    text = Elements(render_audit(document)).text
    assert "rate error" not in text.lower()


def test_findings_that_say_the_same_are_folded() -> None:
    document = example()
    worst = document["attacks"][0]["findings"][0]
    document["attacks"][0] |= {"findings": [worst, {**worst, "level": 0.7}, worst], "findings_total": 3}
    assert Elements(render_audit(document)).text.count("1 more like this") == 1
    nearly = [{**worst, "level": 0.99999999 - place * 1e-9} for place in range(3)]
    document["attacks"][0] |= {"findings": nearly}
    assert Elements(render_audit(document)).text.count("2 more like this") == 1, (
        "as one reads it, not to the last digit"
    )


@pytest.mark.parametrize(
    ("state", "beyond", "look", "words"),
    [
        ("kept", [], "good", "✓ Your promise holds, and no attack succeeded, 1 was not run"),
        ("kept", ["learning"], "unsure", "✓ Your promise holds, but 1 attack beyond it succeeds"),
        ("broken", ["learning"], "bad", "✗ Your promise is broken"),
        ("unchecked", [], "unsure", "? Your promise was checked only in part"),
    ],
)
def test_a_kept_promise_is_not_as_red_as_a_broken_one(state: str, beyond: list[str], look: str, words: str) -> None:
    document = example()
    verdict = document["verdict"]
    verdict |= {"attacks_breached": beyond, "attacks_held": ["association"]}
    verdict["promise"]["state"], verdict["beyond"]["attacks"] = state, beyond
    page = render_audit(document)
    assert f'<div class="verdict {look}"' in page
    assert f"<strong>{words}</strong>" in page
