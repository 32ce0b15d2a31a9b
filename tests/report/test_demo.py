"""The demo: careless and careful publishing, attacked in the same way, with a report for each."""

from __future__ import annotations

from pathlib import Path

from reissue import demo


def test_the_demo_shows_the_difference_and_writes_both_reports(tmp_path: Path) -> None:
    said: list[str] = []
    demo.run(str(tmp_path / "demo"), 2, said.append)
    text = "\n".join(said)
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    for attack in ("intersection", "difference", "record-tracing", "association"):
        naive, protected = rows[attack].removeprefix(attack).rstrip().rsplit(maxsplit=1)
        assert "✗" in naive, f"{attack} must succeed on the naive series"
        assert protected == "✓", f"{attack} must not succeed on the protected one"
    for kind in ("naive", "protected"):
        page = (tmp_path / "demo" / f"{kind}-report.html").read_text(encoding="utf-8")
        assert "subject " in page
        assert "P000" not in page, "people appear by number"
    assert (tmp_path / "demo" / "protected.reissue" / "releases" / "0002").is_dir()
