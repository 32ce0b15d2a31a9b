"""A new series by the page is what `reissue init --from` makes of the same table."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import reissue as ri
from reissue.page.desk import DRAFTS, Office
from tests.page.server import Client, Served, finish, read, serving, wait_for

ROWS = [f"p{one},{20 + one % 60},{'FM'[one % 2]},{('flu', 'asthma', 'gout', 'hiv')[one % 4]}" for one in range(80)]
TABLE = "\n".join(["person,age,sex,diagnosis", *ROWS, ""]).encode()
ROLES = {"role.0": "identifier", "role.1": "quasi-identifier", "role.2": "left out", "role.3": "sensitive"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as running:
        yield running


@pytest.fixture
def client(served: Served) -> Client:
    return served.enter()


@pytest.fixture
def draft(client: Client) -> str:
    """The address of a new series that is being prepared."""
    return json.loads(client.upload("/new/table", "January.csv", TABLE).text)["to"]


def test_the_suggestion_is_shown_with_its_reasons(client: Client, draft: str, tmp_path: Path) -> None:
    words = read(client.get(draft).text)
    (tmp_path / "January.csv").write_bytes(TABLE)
    proposal = ri.Schema.suggest(tmp_path / "January.csv")
    assert proposal.describe_power() in words
    assert all(note in words for note in proposal.notes)
    assert "F 40" in words


def test_the_series_is_made_by_the_same_files_as_from_the_command_line(
    served: Served, client: Client, draft: str, tmp_path: Path
) -> None:
    (tmp_path / "January.csv").write_bytes(TABLE)
    proposal = replace(ri.Schema.suggest(tmp_path / "January.csv"), sources=("January.csv",))
    expected = proposal.to_toml("clinic.reissue.hierarchies")
    answer = client.send(f"{draft}/create", name="clinic", strategy="standing")
    assert json.loads(answer.text) == {"to": "/series/clinic.reissue/next"}
    finish(served)
    assert (tmp_path / "clinic.reissue.toml").read_text() == expected
    assert not (tmp_path / DRAFTS).exists()
    assert "January.csv waits for your approval" in read(client.get("/series/clinic.reissue/next").text)


def test_a_table_that_is_refused_is_called_by_its_name(client: Client) -> None:
    answer = client.upload("/new/table", "January.csv", b"a,b\n1,2\n")
    assert answer.status == 400
    assert json.loads(answer.text)["error"].startswith("January.csv: fewer than three columns")


def test_roles_that_are_chosen_win_and_wrong_ones_are_refused(served: Served, client: Client, draft: str) -> None:
    own = served.office.find_draft(draft.rpartition("/")[2])
    assert client.send(f"{draft}/roles", **ROLES).status == 200
    assert list(own.get_proposal().schema.quasi_identifiers) == ["age"]
    for wrong in ({"role.1": "identifier"}, {"role.3": "left out"}, {"role.1": "left out"}):
        answer = client.send(f"{draft}/roles", **{**ROLES, **wrong})
        assert answer.status == 400
        assert json.loads(answer.text)["error"]
    assert list(own.get_proposal().schema.quasi_identifiers) == ["age"]


def test_the_two_questions_decide_what_fits(client: Client, draft: str) -> None:
    assert "1 strategy fits" in read(client.get(draft).text)
    assert client.send(f"{draft}/answers", changes="moves", **{"knows.classes": "on"}).status == 200
    words = read(client.get(draft).text)
    assert "m-invariance" in words
    assert "checked-mondrian" not in words
    assert client.send(f"{draft}/answers", changes="never").status == 400


def test_the_strategy_that_is_chosen_is_the_one_of_the_series(
    served: Served, client: Client, draft: str, tmp_path: Path
) -> None:
    client.send(f"{draft}/create", name="clinic", strategy="static")
    finish(served)
    with ri.Series.open(tmp_path / "clinic.reissue") as series:
        assert series.strategy.name == "static"


def test_files_that_were_edited_before_the_series_is_made_hold(
    served: Served, client: Client, draft: str, tmp_path: Path
) -> None:
    assert client.send(f"{draft}/write", name="clinic", strategy="standing").status == 200
    config = tmp_path / "clinic.reissue.toml"
    config.write_text(config.read_text() + "k = 12\n")
    assert client.send(f"{draft}/create", name="clinic").status == 200
    finish(served)
    with ri.Series.open(tmp_path / "clinic.reissue") as series:
        assert series.strategy.thresholds()["k"] == 12


def test_nothing_that_is_there_is_written_over(served: Served, client: Client, draft: str, tmp_path: Path) -> None:
    (tmp_path / "clinic.reissue.toml").write_text("mine")
    answer = client.send(f"{draft}/create", name="clinic", strategy="standing")
    assert "left alone" in json.loads(answer.text)["error"]
    assert not (tmp_path / "clinic.reissue").exists()
    for name in ("", "../up", ".hidden", "a/b"):
        assert client.send(f"{draft}/create", name=name, strategy="standing").status == 400
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".reissue"] == []


def test_a_comparison_runs_in_the_background(served: Served, client: Client, draft: str) -> None:
    own = served.office.find_draft(draft.rpartition("/")[2])
    client.send(f"{draft}/compare")
    wait_for(lambda: not own.bench.busy)
    assert own.comparison is not None
    advice = own.comparison["recommendation"]
    assert isinstance(advice, dict)
    assert advice["sentences"][0] in read(client.get(draft).text)
    assert "Who is broken by what" in read(client.get(f"{draft}/comparison").text)


def test_nothing_changes_a_draft_that_is_worked_on(served: Served, client: Client, draft: str, tmp_path: Path) -> None:
    own = served.office.find_draft(draft.rpartition("/")[2])
    hold, begun, before = threading.Event(), threading.Event(), own.get_proposal()

    def work(say: object) -> None:
        begun.set()
        hold.wait()

    own.bench.start("The comparison", work)
    begun.wait()
    for answer in (
        client.send(f"{draft}/roles", **{**ROLES, "role.2": "quasi-identifier"}),
        client.send(f"{draft}/compare"),
        client.send(f"{draft}/create", name="clinic", strategy="standing"),
        client.send(f"{draft}/discard"),
    ):
        assert answer.status == 409
        assert "The comparison is at work" in json.loads(answer.text)["error"]
    assert own.get_proposal() is before
    assert not (tmp_path / "clinic.reissue").exists()
    hold.set()
    wait_for(lambda: not own.bench.busy)
    assert client.send(f"{draft}/discard").status == 200
    assert client.get(draft).status == 404


def test_a_table_that_cannot_be_a_series_leaves_nothing(client: Client, tmp_path: Path) -> None:
    answer = client.upload("/new/table", "bad.csv", b"a,b,c\n1,1,1\n1,1,1\n")
    assert answer.status == 400
    assert list(tmp_path.iterdir()) == []


def test_what_was_begun_is_there_after_the_server_was_ended_and_can_be_discarded(
    client: Client, draft: str, tmp_path: Path
) -> None:
    assert [one.table.name for one in Office(tmp_path, []).drafts.values()] == ["January.csv"]
    assert "New series from January.csv" in read(client.get("/").text)
    client.send(f"{draft}/discard")
    assert list(tmp_path.iterdir()) == []
    assert client.get(draft).status == 404
