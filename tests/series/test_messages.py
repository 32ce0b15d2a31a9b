"""What comes from a table is shown in messages as it is, once, and cannot command the terminal."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.cli import main
from reissue.errors import ChangeError, InfeasiblePolicy, SeriesError
from tests.support.hospital import hospital_schema

ESCAPE = "\x1b[31mred\x1b[0m"


def people(values: list[str], names: list[str] | None = None) -> pa.Table:
    names = names or [f"SECRET-{i}" for i in range(len(values))]
    ages = [20 + i for i in range(len(values))]
    return pa.table({"name": names, "age": ages, "gender": ["Male"] * len(values), "diagnosis": values})


@pytest.mark.parametrize("value", ["{subject:3}", "{subject:0}", "{value:1}"])
def test_a_value_that_looks_like_a_mark_is_only_a_value(value: str, tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.MInvariance(m=3)) as series:
        with pytest.raises(InfeasiblePolicy) as refused:
            series.publish(people([value] * 6 + ["Flu"]))
        assert f"'{value}' is 85.7%" in str(refused.value)
        assert "SECRET" not in str(refused.value)
        series.publish(people(["Flu", "Cancer", value] * 2))
        with pytest.raises(ChangeError) as refused_change:
            series.publish(people(["Cancer", "Flu", value] * 2))
        assert "SECRET-0 (Flu -> Cancer)" in str(refused_change.value)


def test_names_of_who_left_are_put_in_once(tmp_path: Path) -> None:
    names = [f"{{subject:{i + 1}}}" for i in range(6)]
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.CheckedMondrian(k=2)) as series:
        series.publish(people(["Flu", "Cancer"] * 3, names))
        with pytest.raises(ChangeError, match=r"not in the snapshot: \{subject:1\}, \{subject:2\}\."):
            series.publish(people(["Cancer", "Flu", "Cancer", "Flu"], names[2:]))


def test_control_characters_are_shown_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.MInvariance(m=3)) as series:
        with pytest.raises(InfeasiblePolicy) as refused:
            series.publish(people([ESCAPE + "\nError: all is lost"] * 6 + ["Flu"]))
        assert r"'\x1b[31mred\x1b[0m\nError: all is lost' is 85.7%" in str(refused.value)
        with pytest.raises(SeriesError, match=r"'\\x1b\[31mred"):
            series.forget(ESCAPE)
    for arguments in (["forget", str(tmp_path / "s"), ESCAPE], ["verify", str(tmp_path / ESCAPE)]):
        with pytest.raises(SystemExit):
            main.main(arguments)
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert r"\x1b[31mred" in shown.err
