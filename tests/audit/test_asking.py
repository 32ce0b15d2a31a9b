"""The config's [audit] section: what audits look for unless they are told otherwise."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import reissue as ri
from reissue.audit.attacks import check_section, resolve_request
from reissue.cli import main
from reissue.errors import SettingsError
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, write_config

SECTION = """
[audit]
attacks = ["difference", "background-knowledge"]
k = 3
limit = 7
knowledge = { smoothing = 5.0 }
risk_threshold = 0.5
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for number, figure in enumerate((FIGURE_1, FIGURE_3), start=1):
        pa.csv.write_csv(frame(figure), tmp_path / f"{number}.csv")
    return write_config(tmp_path, SECTION)


def test_a_series_keeps_the_section_and_its_audits_follow_it(config: Path, tmp_path: Path) -> None:
    with ri.Series.from_config(tmp_path / "s", config, seed=1) as series:
        series.publish(tmp_path / "1.csv")
        series.publish(tmp_path / "2.csv")
    with ri.Series.open(tmp_path / "s") as series:
        audit = series.audit()
        assert {one.name for one in audit.checked} == {"difference", "background-knowledge"}
        used = {one.name: one.settings for one in audit.checked}
        assert used["difference"]["k"] == 3
        assert used["difference"]["limit"] == used["background-knowledge"]["limit"] == 7
        assert used["background-knowledge"]["knowledge"].smoothing == 5.0  # type: ignore[attr-defined]
        assert audit.risk_threshold == 0.5
        told = series.audit(attacks=["intersection"], c=0.9)
        assert [one.name for one in told.checked] == ["intersection"], "what the caller says wins"
        assert told.checked[0].settings == {"c": 0.9, "limit": 7}, "settings of other attacks are left out"
        assert {one.name: one.settings for one in series.audit(k=4).checked}["difference"]["k"] == 4
    written = tomllib.loads((tmp_path / "s" / "reissue.toml").read_text())
    assert written["audit"] == tomllib.loads(SECTION)["audit"]


def test_an_audit_of_files_follows_the_section(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ri.Series.from_config(tmp_path / "s", config, seed=1) as series:
        series.publish(tmp_path / "1.csv")
    arguments = ["audit", "--config", "c.toml", "--release", "s/releases/0001", "--snapshot", "1.csv", "--json"]
    with pytest.raises(SystemExit):
        main.main(arguments)
    document = json.loads(capsys.readouterr().out)
    assert {one["name"] for one in document["attacks"]} == {"difference", "background-knowledge"}
    assert document["thresholds"]["k"] == 3


@pytest.mark.parametrize(
    ("section", "wrong"),
    [
        ({"kk": 3}, r"\[audit\] no attack has a setting 'kk'. Did you mean 'k'"),
        ({"attacks": ["diference"]}, r"\[audit\] There is no attack 'diference'. Did you mean 'difference'"),
        ({"attacks": []}, r"\[audit\] attacks is \[\]; list their names: intersection, "),
        ({"attacks": 3}, r"\[audit\] attacks is 3"),
        ({"attacks": "difference", "m": 3}, r"\[audit\] no attack has a setting 'm'"),
        ({"k": 0}, r"\[audit\] k is 0"),
        ({"k": True}, r"\[audit\] k is true; give a number"),
        ({"c": "half"}, r"\[audit\] c is 'half'; it must be a number"),
        ({"risk_threshold": 2}, r"\[audit\] risk_threshold is 2"),
        ({"knowledge": {"sources": "a.csv"}}, r"\[audit\] knowledge has no setting 'sources'"),
        ({"knowledge": {"values": "none.csv"}}, r"\[audit\] The knowledge file none.csv does not exist"),
        ({"knowledge": {"smoothing": True}}, r"\[audit\] knowledge.smoothing is true"),
    ],
)
def test_what_no_attack_understands_is_refused_before_anything_is_created(
    section: dict[str, object], wrong: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=wrong):
        check_section(section)
    schema = ri.Schema(identifier="name", quasi_identifiers={"age": ri.Numeric()}, sensitive="diagnosis")
    with pytest.raises(SettingsError, match=wrong):
        ri.Series.create(tmp_path / "s", schema, ri.Static(k=2), audit=section)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ("[audit]\nk = 0\n", r"c\.toml: \[audit\] k is 0"),
        ('[policy]\nstrategy = "static"\nk = 2\non_change = "skip"\n', r"c\.toml: \[policy\] on_change is 'skip'"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_the_file(more: str, wrong: str, tmp_path: Path) -> None:
    policy = "" if "[policy]" in more else '[policy]\nstrategy = "static"\nk = 2\n'
    schema = '[schema]\nidentifier = "name"\nsensitive = "x"\nquasi_identifiers = { age = { type = "int" } }\n'
    (tmp_path / "c.toml").write_text(schema + policy + more)
    with pytest.raises(SettingsError, match=wrong):
        ri.Series.from_config(tmp_path / "s", tmp_path / "c.toml")
    assert not (tmp_path / "s").exists()


def test_nothing_asked_is_everything() -> None:
    assert check_section({}) == {}
    assert resolve_request({}, None, {}) == (None, {})
    assert resolve_request({}, (), {"k": 3}) == (None, {"k": 3})


def test_limits_of_others_have_names() -> None:
    assert resolve_request({"risk_threshold": "ema"}, None, {}) == (None, {"risk_threshold": 0.09})
    assert resolve_request({}, None, {"risk_threshold": "arx"}) == (None, {"risk_threshold": 0.2})


def test_what_is_given_with_an_audit_is_checked_too() -> None:
    for value in ("abc", 0, True, 1.5):
        with pytest.raises(SettingsError, match="risk_threshold is"):
            resolve_request({}, None, {"risk_threshold": value})
