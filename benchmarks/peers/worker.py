"""One task with one peer, in the peers' own environment: nothing of Reissue is imported here.

`python worker.py TASK.json`. Every task reads its CSV, does its work as the package's README shows, writes a CSV or
JSON, and prints one JSON document: the seconds spent in the package alone, and whatever it has measured.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import version

import pandas as pd

Task = dict[str, object]


def anjana(task: Task) -> dict[str, object]:
    """Full-domain generalization along the same hierarchies; `suppression` is in percent of the rows."""
    from anjana.anonymity import k_anonymity, l_diversity

    data = pd.read_csv(task["data"])
    names = task["quasi_identifiers"]
    hierarchies = {name: dict(pd.read_csv(path, sep=";", header=None)) for name, path in task["hierarchies"].items()}
    common = ([task["identifier"]], names)
    limits = (task["suppression"], hierarchies)
    start = time.perf_counter()
    with redirect_stdout(sys.stderr):  # it prints what it found
        if task["l"] is None:
            release = k_anonymity(data, *common, task["k"], *limits)
        else:
            release = l_diversity(data, *common, task["sensitive"], task["k"], task["l"], *limits)
    seconds = time.perf_counter() - start
    extra = sorted(set(release.columns) - set(data.columns))
    if len(release):
        release = release[[*names, task["sensitive"]]]
    release.to_csv(task["out"], index=False)
    return {"seconds": seconds, "extra_columns": extra}


def _categorical(task: Task) -> pd.DataFrame:
    """Numbers as numbers, everything else as categories: what both Mondrians ask for."""
    columns = [*task["quasi_identifiers"], task["sensitive"]]
    data = pd.read_csv(task["data"], usecols=columns)
    for name in columns:
        if name not in task["numeric"]:
            data[name] = data[name].astype("category")
    return data


def anonypy(task: Task) -> dict[str, object]:
    from anonypy import Preserver

    data = _categorical(task)
    start = time.perf_counter()
    preserver = Preserver(data, task["quasi_identifiers"], task["sensitive"])
    if task["l"] is None:
        rows = preserver.anonymize_k_anonymity(k=task["k"])
    else:
        rows = preserver.anonymize_l_diversity(k=task["k"], l=task["l"])
    seconds = time.perf_counter() - start
    release = pd.DataFrame(rows)
    for name in task["quasi_identifiers"]:  # each cell is a list with one text in it
        release[name] = release[name].str[0]
    release.to_csv(task["out"], index=False)
    return {"seconds": seconds}


def anonypyx(task: Task) -> dict[str, object]:
    from anonypyx import Anonymiser

    data = _categorical(task)
    start = time.perf_counter()
    anonymiser = Anonymiser(
        data,
        k=task["k"],
        l=task["l"],
        algorithm="Mondrian",
        feature_columns=task["quasi_identifiers"],
        sensitive_column=task["sensitive"],
        generalisation_strategy="human-readable",
    )
    release = anonymiser.anonymise()
    seconds = time.perf_counter() - start
    release.to_csv(task["out"], index=False)
    return {"seconds": seconds}


def pycanon(task: Task) -> dict[str, object]:
    """k and l of a released table."""
    from pycanon import anonymity

    release = pd.read_csv(task["data"], dtype=str)
    start = time.perf_counter()
    k = anonymity.k_anonymity(release, task["quasi_identifiers"])
    diversity = anonymity.l_diversity(release, task["quasi_identifiers"], [task["sensitive"]])
    return {"seconds": time.perf_counter() - start, "k": int(k), "l": int(diversity)}


def versions(task: Task) -> dict[str, object]:
    return {name: version(name) for name in task["packages"]}


TASKS: dict[str, Callable[[Task], dict[str, object]]] = {
    work.__name__: work for work in (anjana, anonypy, anonypyx, pycanon, versions)
}

if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    print(json.dumps(TASKS[asked["tool"]](asked)))
