"""The documentation's pages: all in the navigation, and every relative link leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from reissue.compare.advice import advise
from reissue.compare.running import Run
from reissue.methods.plain_words import describe_attack
from reissue.methods.registry import ATTACKS, STRATEGIES, find_strategy

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def nav() -> list[str]:
    """The pages that mkdocs.yml lists: a page has a line of its own in the navigation."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return re.findall(r"^\s+- (?:[^:\n]+: )?(\S+\.md)$", text[text.index("\nnav:") :], flags=re.MULTILINE)


def headings(page: Path) -> set[str]:
    """The anchors of a page, as mkdocs makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def test_every_page_is_in_the_navigation_once_and_exists() -> None:
    listed = nav()
    assert len(listed) == len(set(listed)), "a page is listed twice"
    assert sorted(listed) == [str(page.relative_to(DOCS)) for page in PAGES], "add new pages to nav in mkdocs.yml"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{page.relative_to(ROOT)} links to {target}"
        if anchor and found.suffix == ".md":
            assert anchor in headings(found), f"{page.relative_to(ROOT)} links to {target}"


@pytest.mark.parametrize("kind", ["strategies", "attacks"])
def test_every_strategy_and_attack_has_a_page(kind: str) -> None:
    """By its name on the command line, in some page of the folder."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / kind).glob("*.md"))
    for name in STRATEGIES if kind == "strategies" else ATTACKS:
        words = name.replace("-", "[- ]")
        assert re.search(rf"\b{words}\b", text, flags=re.IGNORECASE), f"no page in docs/{kind} tells of {name}"


@pytest.mark.parametrize(
    ("script", "page"), [("write-json-reference", "audit-json.md"), ("write-cli-reference", "cli.md")]
)
def test_generated_references_are_up_to_date(tmp_path: Path, script: str, page: str) -> None:
    """Run in a copy of the project's outline: the page comes out as it is."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "scripts").mkdir()
    before = (DOCS / page).read_text(encoding="utf-8")
    (tmp_path / "docs" / page).write_text(before, encoding="utf-8")
    copy = tmp_path / "scripts" / script
    copy.write_text((ROOT / "scripts" / script).read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run([sys.executable, str(copy)], check=True, cwd=tmp_path)
    assert (tmp_path / "docs" / page).read_text(encoding="utf-8") == before, f"run scripts/{script}"


def test_the_tests_that_a_page_names_exist() -> None:
    named = [
        one for page in PAGES for one in re.findall(r"(tests/[\w/]+\.py)::(\w+)", page.read_text(encoding="utf-8"))
    ]
    assert len(named) > 20, "docs/papers.md names a test for every claim"
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"


def test_pages_say_what_the_learning_attacker_gets_as_the_study_measured_it() -> None:
    def read(line: str) -> list[str]:
        return re.findall(r"\d+%", line)

    rows = table_rows(DOCS / "experiments" / "learning" / "README.md", "strategy")
    measured = {row[0]: [cell for cell in row[1:] if cell] for row in rows}
    assert set(measured) == set(STRATEGIES)
    chosen = (DOCS / "choosing.md").read_text(encoding="utf-8")
    for name, shares in measured.items():
        assert f"| {name} | {' | '.join(shares)} |" in chosen
        page = (DOCS / "strategies" / f"{PAGE_OF.get(name, name)}.md").read_text(encoding="utf-8")
        (said,) = re.findall(rf"^Against `{name}` the \[learning attacker\].*$", page, flags=re.MULTILINE)
        one, alone, both, *clinic = shares
        assert read(said) == [alone, both, one, clinic[1], clinic[2], clinic[0]]
    for place in (ROOT / "README.md", DOCS / "index.md"):
        text = place.read_text(encoding="utf-8")
        assert {measured["standing"][2], measured["m-invariance"][2]} <= set(read(text)), place


# -- What strategies promise is said by their `stops`; every page says the same

PAGE_OF = {
    "checked-mondrian": "incremental",
    "checked-incognito": "incremental",
    "static": "baselines",
    "merge": "baselines",
}


def read_attacks(text: str) -> set[str]:
    """The attacks that a line names, by links to their pages or as the command line does."""
    linked = set(re.findall(r"attacks/([a-z-]+)\.md", text))
    return linked or {name for name in re.split(r"[,\s|]+", text) if name in ATTACKS}


def table_rows(page: Path, heading: str) -> list[list[str]]:
    """The cells of a table's rows, found by the first cell of its heading."""
    text = page.read_text(encoding="utf-8")
    lines = text[text.index(f"| {heading} |") :].splitlines()
    table = list(takewhile(lambda line: line.startswith("|"), lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategys_page_says_what_it_stops(name: str) -> None:
    page = (DOCS / "strategies" / f"{PAGE_OF.get(name, name)}.md").read_text(encoding="utf-8")
    said = re.findall(r"^(?:\*\*Stops:\*\*|\| Stops \|)(.*)$", page, flags=re.MULTILINE)
    assert len(said) == 1, f"one line that begins with **Stops:** on the page of {name}"
    assert read_attacks(said[0]) == set(find_strategy(name).stops)


def test_the_readme_says_what_every_strategy_stops() -> None:
    rows = table_rows(ROOT / "README.md", "strategy")
    said = {name: read_attacks(row[3]) for row in rows for name in re.findall(r"`([a-z-]+)`", row[0])}
    assert said == {name: set(find_strategy(name).stops) for name in STRATEGIES}


def test_choosing_says_by_whom_every_attack_is_stopped() -> None:
    said = {
        attack: {name for name in re.split(r"[,\s]+", row[2]) if name in STRATEGIES}
        for row in table_rows(DOCS / "choosing.md", "the attacker knows")
        for attack in read_attacks(row[1])
    }
    assert said == {attack: {n for n in STRATEGIES if attack in find_strategy(n).stops} for attack in ATTACKS}
    for row in table_rows(DOCS / "choosing.md", "the attacker knows"):
        assert re.fullmatch(r"[a-z, -]+", row[2]), "names only; words about them have a column of their own"


@pytest.mark.parametrize("name", STRATEGIES)
def test_compare_promises_what_the_pages_do(name: str) -> None:
    held = {attack: {"status": "held", "subjects_at_risk": 0, "reason": None} for attack in ATTACKS}
    run = Run(label=name, strategy=name, settings={}, status="done", releases=2, query_error=0.1, subjects=9,
              subjects_at_risk=0, attacks=held)  # fmt: skip
    said = next(line for line in advise([run], {})[1] if line.startswith("It promises"))
    promise = said.split(", and every release")[0]
    stops = find_strategy(name).stops
    assert read_attacks(promise.replace(".", " ")) == set(stops)


def test_the_page_on_auditing_has_every_attack_in_plain_words() -> None:
    rows = {row[0]: row[1:] for row in table_rows(DOCS / "auditing.md", "who could do it")}
    for name in ATTACKS:
        words = describe_attack(name)
        assert rows[f"[{name}](attacks/{name}.md)"] == [words.does, words.who, ", ".join(words.shows)]
