"""What comes from a table is shown in messages as it is, once, and cannot command the terminal."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import reissue as ri
from reissue.cli import main
from reissue.errors import ChangeError, InfeasiblePolicy, ReissueError, SeriesError, escape_controls
from reissue.methods.registry import STRATEGIES, find_strategy
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


NASTY = "{subject:3}\x1b[31m\x9b2J\u202e\nError: all is lost"
REFUSED: dict[str, dict[str, object]] = {
    "standing": {"k": 4, "c": 0.5, "l": 2, "row_k": 2, "row_l": 1},
    "static": {"k": 3, "c": 0.5},
    "merge": {"k": 3, "c": 0.5},
    "checked-mondrian": {"k": 3, "c": 0.5},
    "checked-incognito": {"k": 3, "c": 0.5},
    "bcf": {"k": 60},
    "m-invariance": {"m": 3},
    "e-equivalence": {"m": 3, "e": 2},
    "cor-split": {"m": 3, "n": 2},
    "bay-frame": {"k": 3, "J": 0.1, "beta": 0.1},
    "js-reduce": {"k": 60, "t": 0.01, "J": 0.1},
}


def assert_obeys_nobody(text: str) -> None:
    assert not [one for one in text if one != "\n" and escape_controls(one) != one], ascii(text)
    assert "\nError: all is lost" not in text


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_a_refused_policy_shows_values_escaped_and_once(name: str, tmp_path: Path) -> None:
    strategy = find_strategy(name)(**REFUSED[name])
    series = ri.Series.create(tmp_path / "s", hospital_schema(), strategy, seed=1)
    with pytest.raises(ReissueError) as refused:
        series.publish(people([NASTY] * 40 + ["Flu"]))
    assert_obeys_nobody(str(refused.value))
    assert "SECRET" not in str(refused.value), "a value is no mark for a person"


def subclasses(kind: type[ReissueError]) -> list[type[ReissueError]]:
    return [kind, *(one for below in kind.__subclasses__() for one in subclasses(below))]


def test_no_error_of_ours_can_command_a_terminal() -> None:
    """Whoever raises it, whatever is in it."""
    found = subclasses(ReissueError)
    assert len(found) > 14
    for kind in found:
        assert str(kind("a\x1b[31mb\x9b2J\u202ec")) == r"a\x1b[31mb\x9b2J\u202ec"


def test_nothing_that_a_command_prints_can_command_a_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Values, identifiers, labels, reasons and names of files; in words and as JSON."""
    path, file = tmp_path / "s", tmp_path / "a\x1b[2J\x9b.parquet"
    values = [f"{letter}{NASTY}" for letter in "ABCD"] * 6
    pa.parquet.write_table(people(values, [f"{i}{NASTY}" for i in range(24)]), file)
    ri.Series.create(path, hospital_schema(), ri.Static(k=2, c=0.4), seed=1).close()
    again = people(values[4:], [f"{i}{NASTY}" for i in range(4, 24)])
    pa.parquet.write_table(again, tmp_path / "b.parquet")
    commands = [
        ("publish", str(path), str(file)),
        ("publish", str(path), str(file), "--dry-run"),
        ("publish", str(path), str(tmp_path / "b.parquet"), "--label", "b", "--json"),
        ("audit", str(path), "--names", "--attack", "intersection", "--attack", "difference"),
        ("audit", str(path), "--names", "--attack", "intersection", "--json"),
        ("withdraw", str(path), "--not-handed-out", "--reason", NASTY),
        ("forget", str(path), f"1{NASTY}", "unknown" + NASTY),
        ("log", str(path)),
        ("log", str(path), "--json"),
        ("verify", str(tmp_path / NASTY.replace("\n", ""))),
        ("init", str(tmp_path / "t"), "--config", str(file)),
    ]
    for arguments in commands:
        with suppress(SystemExit):
            main.main(arguments)
        shown = capfd.readouterr()
        assert shown.out + shown.err
        assert_obeys_nobody(shown.out)
        assert_obeys_nobody(shown.err)
        if "--json" in arguments:
            json.loads(shown.out)


def test_not_even_a_fault_of_ours_can(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(NASTY.replace("\n", " "))

    monkeypatch.setattr(ri.Series, "open", fail)
    with pytest.raises(SystemExit, match="70"):
        main.main(["log", str(tmp_path)])
    shown = capfd.readouterr().err
    assert "this is a fault in Reissue" in shown
    assert_obeys_nobody(shown)
