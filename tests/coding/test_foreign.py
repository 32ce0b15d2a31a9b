"""Labels of other tools teach the coding."""

from __future__ import annotations

import pytest

from reissue.coding import LARGEST_CODE, MISSING_CODE, Coding
from reissue.errors import ReleaseError
from reissue.schema import Categorical, Numeric
from tests.coding.support import clinic


def test_labels_of_other_tools_teach_limits_and_values() -> None:
    kinds = {"age": Numeric(), "sex": Categorical(), "place": Categorical({"A": ["x", "y"]}), "day": Numeric()}
    start = Coding.start(clinic(quasi_identifiers=kinds))
    coding = start.learn_labels(
        {
            "age": ["[20, 30[", "*", "<=45", ">60"],
            "sex": ["m", "*", "f"],
            "place": ["A", "x", "*"],
            "day": ["2026-01-01 to 2026-01-31", "(missing)"],
        }
    )
    assert coding.version == 1
    assert (coding.domains[0].lo, coding.domains[0].hi) == (20, 61)
    assert coding.parse("age", "<=45") == (20, 45)
    assert coding.parse("age", "*") == (20, 61)
    assert coding.lookup("sex") == {"f": 0, "m": 1}
    assert coding.numeric("day").kind == "date"
    assert coding.parse("day", "(missing)") == (MISSING_CODE, MISSING_CODE)
    assert coding.learn_labels({"age": ["20-30"], "sex": ["*"]}) is coding
    assert Coding.from_dict(coding.to_dict()).numeric("day") == coding.numeric("day")
    floats = start.learn_labels({"age": ["1.50-2.75", "3.0"]})
    assert (floats.numeric("age").decimals, floats.domains[0].hi) == (2, 300)
    assert Coding.start(clinic()).parse("age", "*") == (-LARGEST_CODE, LARGEST_CODE)
    with pytest.raises(ReleaseError) as caught:
        start.learn_labels({"age": ["young", "20-30"], "place": ["B", "A"]})
    assert "- age: 'young'\n- place: 'B'\nGive the hierarchies" in str(caught.value)
