"""The documentation's pages: all in the navigation, and every relative link leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    from reissue.methods.registry import ATTACKS, STRATEGIES

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
