"""The picture of a finding's classes: rectangles where the intervals lie."""

from __future__ import annotations

import pytest

from reissue.report.pictures import HEIGHT, WIDTH, draw


def make_class(*spans: tuple[float, float]) -> dict[str, object]:
    return {"release": 1, "class": 0, "box": "", "intervals": [{"lo": lo, "hi": hi} for lo, hi in spans]}


def make_attributes(number: int) -> list[dict[str, object]]:
    return [{"name": f"a{i}", "lowest": "0", "highest": "9"} for i in range(number)]


def test_a_box_lies_where_its_intervals_lie() -> None:
    picture = draw([make_class((0.1, 0.3), (0.5, 0.9))], make_attributes(2))
    assert picture is not None
    (box,) = picture.boxes
    assert (box.x, box.width) == pytest.approx((0.1 * WIDTH, 0.2 * WIDTH))
    assert (box.y, box.height) == pytest.approx((0.1 * HEIGHT, 0.4 * HEIGHT)), "upwards"


def test_what_leaves_the_scale_ends_at_its_ends() -> None:
    picture = draw([make_class((-0.5, 0.25)), make_class((0.75, 7.0))], make_attributes(1))
    assert picture is not None
    assert picture.across is None
    (bars,) = picture.bars
    assert [(box.x, box.width) for box in bars.boxes] == [(0.0, 0.25 * WIDTH), (0.75 * WIDTH, 0.25 * WIDTH)]


def test_the_plane_shows_what_the_classes_narrow_down_most() -> None:
    picture = draw([make_class((0.0, 1.0), (0.2, 0.4), (0.1, 0.9), (0.0, 0.1))], make_attributes(4))
    assert picture is not None
    assert picture.across is not None
    assert picture.up is not None
    assert (picture.across.name, picture.up.name) == ("a1", "a3")
    assert [bars.axis.name for bars in picture.bars] == ["a2"], "what is not narrowed down is left out"
