"""Compare Reissue with anjana, pycanon, anonypy, anonypyx and ARX: `python -m benchmarks.peers --write-docs`."""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import DOCS, ROOT
from benchmarks.peers.data import ADULT, source
from benchmarks.peers.page import page
from benchmarks.peers.processes import Peers
from benchmarks.peers.run import Report, everything
from benchmarks.peers.tools import Bench, Policy

KEPT = ROOT / ".benchmarks" / "peers"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with a table (;) and NAME_hierarchy_COLUMN.csv files")
    parser.add_argument("--sensitive", default="occupation", help="sensitive column (default: occupation)")
    parser.add_argument(
        "--quasi-identifiers", nargs="+", help="columns (default: all with a hierarchy, of Adult seven)"
    )
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("-l", type=int, default=3, help="distinct sensitive values in a class (default: 3)")
    parser.add_argument("--large", type=int, default=1_000_000, help="rows of the large table; 0 for none")
    parser.add_argument("--limit", type=float, default=600.0, help="CPU seconds that one process may take")
    parser.add_argument("--minutes", type=float, default=25.0, help="minutes within which runs on many rows are begun")
    parser.add_argument(
        "--arx", type=Path, metavar="JAR", help="ARX, with all that it needs; also needs java and javac"
    )
    parser.add_argument("--write-docs", action="store_true", help="rewrite docs/benchmarks/peers.md")
    parser.add_argument("--again", action="store_true", help="only rewrite the page from the last run's numbers")
    return parser.parse_args()


def measured(asked: argparse.Namespace) -> Report:
    table = source(asked.data, asked.sensitive, asked.quasi_identifiers)
    if table is None:
        where = asked.data or ADULT
        raise SystemExit(f"Skipped: there is no table in {where}. Give a folder of your own with --data (see --help).")
    peers = Peers.install(KEPT / "environment", asked.arx)
    policies = (Policy(asked.k), Policy(asked.k, asked.l))
    arguments = [asked.arx.name if asked.arx and word == str(asked.arx) else word for word in sys.argv[1:]]
    command = "python -m benchmarks.peers " + " ".join(arguments)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(table, peers, Path(folder), asked.limit)
        report = everything(bench, policies, asked.large or None, asked.minutes, command.strip())
    (KEPT / "last.pickle").write_bytes(pickle.dumps(report))
    return report


def main() -> None:
    asked = arguments()
    KEPT.mkdir(parents=True, exist_ok=True)
    report = pickle.loads((KEPT / "last.pickle").read_bytes()) if asked.again else measured(asked)
    text = page(report)
    print(text)
    if asked.write_docs:
        (DOCS / "peers.md").write_text(text)


if __name__ == "__main__":
    main()
