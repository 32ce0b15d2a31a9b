"""No text of a series becomes markup in the audit's page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reissue.report import render_audit
from reissue.report.text import (
    clean,
    to_script_json,
)
from tests.report.documents import HOSTILE, hostile
from tests.report.elements import Elements


@pytest.fixture(autouse=True, scope="module")
def without_vega() -> Iterator[None]:
    """A megabyte of a script that is always the same, and would be read with every page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reissue.report.render.make_bundle", lambda: "window.reissueEmbed = null;")
        yield


@cache
def harmless_shape() -> list[tuple[str, list[str]]]:
    return [(tag, sorted(attributes)) for tag, attributes in Elements(render_audit(hostile("harmless"))).tags]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:20].encode("ascii", "replace").decode())
def test_data_cannot_become_markup(text: str) -> None:
    """Whatever stands in the data: the same elements with the same attributes' names as for harmless text."""
    made = render_audit(hostile(text))
    assert [(tag, sorted(attributes)) for tag, attributes in Elements(made).tags] == harmless_shape()
    made.encode("utf-8")
    assert len(made) < 400_000, "a long cell does not flood the page"


@settings(max_examples=25, deadline=None)
@given(text=st.text(min_size=1))
def test_no_text_at_all_becomes_markup(text: str) -> None:
    made = render_audit(hostile(text))
    assert [(tag, sorted(attributes)) for tag, attributes in Elements(made).tags] == harmless_shape()


def test_json_in_a_script_cannot_end_it() -> None:
    for text in HOSTILE:
        assert not re.search("[<>&\u2028\u2029]", to_script_json({"value": text, text[:50]: 1}))


def test_clean_hides_nothing_silently() -> None:
    assert clean("a\x00b\u202ec\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert clean("naïve – 漢字 é\n") == "naïve – 漢字 é\n"
    assert clean("x" * 4, 4) == "xxxx"
    assert clean("x" * 5, 4) == clean("x" * 10, 4) == "xxxx…"
