"""`reissue schema NAME`: real documents of every kind fit their schema, and hold nothing that it does not name."""

from __future__ import annotations

import json
from typing import Any

import click.testing
import jsonschema
import pyarrow as pa
import pyarrow.csv
import pytest

import reissue as ri
from reissue.cli import main
from reissue.json_schema import DOCUMENTS, describe_document
from tests.report.documents import example
from tests.support.hospital import hospital_schema, population, write_config

EVERYBODY = population(120)


def run(*arguments: str) -> Any:
    """What a command prints as JSON."""
    done = click.testing.CliRunner().invoke(main, list(arguments))
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Real documents of every kind."""
    folder = tmp_path_factory.mktemp("documents")
    write_config(folder, "c = 0.5")
    files = []
    for number, table in enumerate((EVERYBODY.slice(0, 60), EVERYBODY.slice(10, 80), EVERYBODY.slice(20)), start=1):
        files.append(str(folder / f"{number}.csv"))
        pa.csv.write_csv(table, files[-1])
    s, t, config = str(folder / "s"), str(folder / "t"), str(folder / "c.toml")
    with (
        ri.Series.create(s, hospital_schema(), ri.Static(k=3), seed=1),
        ri.Series.create(t, hospital_schema(), ri.Standing(k=4, l=2), seed=1),
    ):
        pass
    made: dict[str, list[Any]] = {
        "publish": [run("publish", s, files[0], "--json"), run("publish", t, *files[:2], "--json")]
    }
    made["preview"] = [
        run("publish", s, files[1], "--dry-run", "--json"),
        run("publish", t, files[2], "--dry-run", "--json"),
    ]
    made["publish"].append(run("publish", s, files[1], "--json"))
    made["audit"] = [run("audit", s, "--json", "--set", "c=0.3"), run("audit", t, "--json"), example()]
    someone = str(EVERYBODY.column("name")[20])
    made["person"] = [run("audit", one, "--person", someone, "--set", "c=0.3", "--json") for one in (s, t)]
    release = str(folder / "s" / "releases" / "0001")
    made["audit"].append(run("audit", "--config", config, "--release", release, "--json"))
    made["audit"].append(
        run("adopt", str(folder / "a"), "--config", config, "--release", release, "--snapshot", files[0], "--json")
    )
    assert "adopted" in made["audit"][-1]
    made["compare"] = [
        run("compare", "--config", config, "--strategy", "static", "--strategy", "bcf", *files[:2], "--json")
    ]
    made["estimate"] = [
        run("estimate", release, "age=20..40", "--json"),
        run("estimate", release, "diagnosis=Flu", "--json"),
    ]
    made["forget"] = [run("forget", t, str(EVERYBODY.column("name")[15]), "--json")]
    made["publish"].append(run("withdraw", s, "--not-handed-out", "--reason", "wrong month", "--json"))
    made["log"] = [run("log", s, "--json"), run("log", t, "--json")]
    made["release"] = [json.loads((folder / name / "releases" / "0001" / "release.json").read_text()) for name in "st"]
    (folder / "s" / "releases" / "0001" / "release.csv").write_text("altered")
    made["verify"] = [run("verify", s, "--json"), run("verify", t, "--json")]
    assert any(attack["findings"] for attack in made["audit"][0]["attacks"]), "findings are checked, too"
    return made


def close(schema: Any) -> Any:
    """The schema with every object closed: what it does not name is an error."""
    if isinstance(schema, list):
        return [close(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        key: {k: close(v) for k, v in item.items()} if key == "properties" else close(item)
        for key, item in schema.items()
    }
    return {**closed, "additionalProperties": False} if "properties" in schema else closed


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_documents_fit_their_schema(documents: dict[str, list[Any]], name: str) -> None:
    schema = describe_document(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    closed = close(schema)
    if name == "log":  # what other events keep is their own
        closed["items"]["anyOf"][-1].pop("additionalProperties")
    for document in documents[name]:
        assert list(jsonschema.Draft202012Validator(schema).iter_errors(document)) == []
        assert [error.message[:200] for error in jsonschema.Draft202012Validator(closed).iter_errors(document)] == []


def test_what_is_wrong_does_not_fit() -> None:
    document = example()
    document["attacks"][0]["status"] = "fine"
    with pytest.raises(jsonschema.ValidationError, match="fine"):
        jsonschema.validate(document, describe_document("audit"))


def test_the_command_prints_lists_and_refuses() -> None:
    runner = click.testing.CliRunner()
    assert json.loads(runner.invoke(main, ["schema", "audit"]).output) == describe_document("audit")
    listed = runner.invoke(main, ["schema"]).output
    assert [line.split()[0] for line in listed.splitlines()] == list(DOCUMENTS)
    wrong = runner.invoke(main, ["schema", "adit"])
    assert wrong.exit_code == 2
    assert "audit" in wrong.output
