"""The page says what to press on it: no message and no page names a flag of the command line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import GateStopped, ReissueError
from reissue.ledger import REBUILD
from reissue.page.words import reword, tell
from reissue.publish.gates import Stop, refuse_stops
from tests.page.server import Client, finish, read, serving
from tests.page.tables import SCHEMA, csv, table

SOURCE = Path(__file__).resolve().parents[2] / "src" / "reissue"
FLAG = re.compile(r"(?:^|\s\(?)--[a-z]")
TERMINAL = (
    *("cli", "demo.py", "json_schema.py", "warming.py"),
    *("audit/foreign", "engine/spark", "estimating", "report/pages.py"),  # other tools' releases, Spark, estimates
    *("compare/comparing.py", "series/creating.py", "series/outlook.py"),  # folders, --set and adopt
)
"""What a page never shows; the rest says it in other words for the page, or in backticks, where it is reworded."""


def find_flags(file: Path) -> list[str]:
    """Texts with a flag outside of backticks, docstrings and calls that also have words for the page."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    worded = {id(one) for call in ast.walk(tree) if _has_words(call) for one in ast.walk(call)}
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (worded | documented)
    ]
    return [node.value for node in texts if FLAG.search(node.value) and "`reissue " not in node.value]


def _has_words(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and any(keyword.arg == "page" for keyword in node.keywords)


def test_every_message_with_a_flag_has_other_words_for_the_page() -> None:
    left = {
        str(file.relative_to(SOURCE)): found
        for file in sorted(SOURCE.rglob("*.py"))
        if not str(file.relative_to(SOURCE)).startswith(TERMINAL) and (found := find_flags(file))
    }
    left.pop("publish/gates.py")  # _tell_flag, of a message that has words for the page
    left.pop("series/upkeep.py")  # what forget says in a terminal
    assert left == {}


def test_commands_lose_their_flags() -> None:
    assert reword(REBUILD) == "Run `reissue verify` in a terminal to make it again from the facts."
    assert reword("More with `--set seconds=60`.") == "More with the setting seconds=60."
    assert reword("Is `reissue serve` running?") == "Is `reissue serve` running?"
    assert tell(ReissueError("x --allow few-rows", page="tick it")) == "tick it"


def test_a_gate_is_ticked_not_allowed_by_a_flag() -> None:
    with pytest.raises(GateStopped, match="--allow few-rows") as stopped:
        refuse_stops([Stop("few-rows", "Half the rows are gone.", True, False)])
    assert "--" not in tell(stopped.value)
    assert "can be ticked" in tell(stopped.value)
    assert stopped.value.gates == ("few-rows",)


WRONG = {
    "repeats": b"patient,age,illness\n1,2,flu\n1,3,cold\n" * 30,
    "nothing secret": b"patient,age,note\n" + b"".join(b"%d,%d,x\n" % (row, row % 7) for row in range(60)),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_a_table_that_cannot_be_used_is_told_without_flags(tmp_path: Path, content: bytes) -> None:
    with serving(tmp_path) as served:
        answer = served.enter().upload("/new/table", "people.csv", content)
        assert answer.status == 400
        assert " --" not in answer.text


def walk(client: Client, address: str) -> list[str]:
    return [read(client.get(f"{address}{page}").text) for page in ("", "/next", "/audit")]


@pytest.mark.gates
def test_no_page_names_a_flag(tmp_path: Path) -> None:
    """A careless series, previewed with a gate, audited, damaged; and a new one."""
    path = tmp_path / "careless.reissue"
    with ri.Series.create(path, ri.Schema(**SCHEMA), ri.Static(k=4, c=0.5), seed=1, formats=["csv"]) as series:
        for start in (0, 13):
            series.publish(table(range(start, start + 40)))
    with serving(tmp_path, path) as served:
        client, at = served.enter(), "/series/careless.reissue"
        client.upload(f"{at}/snapshot", "March.csv", csv(range(20, 32)))
        finish(served)
        client.send(f"{at}/audit")
        finish(served)
        assert client.send(f"{at}/withdraw", reason="wrong").status == 400
        told = [*walk(client, at), client.send(f"{at}/withdraw", reason="wrong").text]
        client.send(f"{at}/publish")
        finish(served)
        told += walk(client, at)
        assert "can be ticked" in told[-2]
        made = client.upload("/new/table", "people.csv", csv(range(60)))
        told.append(read(client.get(re.findall(r'"(/new/[^"]+)"', made.text)[0]).text))
        for text in told:
            assert not FLAG.search(text), FLAG.findall(text)


def test_caches_are_made_again_by_a_button(tmp_path: Path) -> None:
    path = tmp_path / "kept.reissue"
    with ri.Series.create(path, ri.Schema(**SCHEMA), ri.MInvariance(m=2), seed=1, formats=["csv"]) as series:
        series.publish(table(range(40)), label="January")
        cache = series._ledger.shelf.state.of_role("cache")[0].path
    (path / "private" / "files" / cache).write_bytes(b"x")
    with serving(tmp_path, path) as served:
        client, at = served.enter(), "/series/kept.reissue"
        client.get(at)
        finish(served)
        words = read(client.get(at).text)
        assert "Make it again from the facts" in words
        assert "rebuild" not in words
        assert client.send(f"{at}/rebuild").status == 200
        finish(served)
        assert "Everything is as the ledger says" in read(client.get(at).text)
