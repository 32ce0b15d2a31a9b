"""`reissue demo`: some months of a made-up clinic, published."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from reissue import clinic
from reissue.errors import InputError
from reissue.series import Release, Series

MARKER = ".reissue-demo"


def write_data(directory: str) -> str:
    """Write the clinic's 24 monthly snapshots and config; a sentence that says what is there now."""
    clinic.write(Path(directory), format="both")
    return (
        f"Wrote 24 monthly snapshots of a made-up clinic to {directory}, with clinic.toml. Try:\n"
        f"  reissue init clinic.reissue --config {directory}/clinic.toml\n"
        f"  reissue publish clinic.reissue {directory}/2024-01.csv"
    )


def run(directory: str, months: int, say: Callable[[str], None]) -> None:
    """Publish the first months with the clinic's config and say what was released and what it cost."""
    output = Path(directory)
    _clear(output)
    series_path = output / "clinic.reissue"
    with tempfile.TemporaryDirectory() as folder:
        clinic.write(Path(folder), format="parquet", months=months)
        snapshots = sorted(Path(folder).glob("????-??.parquet"))
        with Series.from_config(series_path, Path(folder) / "clinic.toml") as series:
            say(f"A clinic publishes its patient table every month ({series.strategy.name}).\n")
            say(HEADING)
            releases = []
            for snapshot in snapshots:
                releases.append(series.publish(snapshot))
                say(line(snapshot.stem, releases[-1]))
    say("\nWhat was done for the last release:")
    say("\n".join(f"  {step}" for step in releases[-1].steps))
    say(f"\nHand out: {series_path}/releases/*    Keep private: {series_path}/private")


HEADING = f"{'month':9}{'patients':>9}{'new':>6}{'gone':>6}{'back':>6}{'changed':>9}{'classes':>9}{'lost':>7}"


def line(month: str, release: Release) -> str:
    """One row of the demo's table; `lost` is the share of the quasi-identifiers' detail that was given up."""
    counts = release.counts
    cells = (counts["snapshot"], counts["new"], counts["gone"], counts["back"], counts["changed"], counts["classes"])
    widths = (9, 6, 6, 6, 9, 9)
    numbers = "".join(f"{cell:{width},}" for cell, width in zip(cells, widths, strict=True))
    return f"{month:9}{numbers}{release.utility['gcp']:7.1%}"


def _clear(output: Path) -> None:
    """Start anew in our own directory; never delete one that the demo did not make."""
    if output.exists():
        if not (output / MARKER).exists():
            raise InputError(f"{output} exists and was not made by the demo; choose another directory with --output.")
        shutil.rmtree(output)
    output.mkdir(parents=True)
    (output / MARKER).touch()
