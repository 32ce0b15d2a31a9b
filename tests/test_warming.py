"""After `reissue warm-up` nothing is left to compile: what it runs needs the same kernels, for the same types."""

from __future__ import annotations

import gc
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from numba.core.registry import CPUDispatcher

from reissue import clinic
from reissue.cli import main
from reissue.methods.registry import STRATEGIES, find_strategy
from reissue.publish.gates import NAMES
from reissue.series import Series
from reissue.warming import SETTINGS, warm_up


def compiled() -> set[tuple[str, str]]:
    """Every kernel that is in use in this process, with the types it was compiled for."""
    kernels = [one for one in gc.get_objects() if type(one) is CPUDispatcher]
    return {(one.py_func.__qualname__, str(types)) for one in kernels for types in one.overloads}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_publish_and_an_audit_find_all_their_kernels_compiled(name: str, tmp_path: Path) -> None:
    warm_up([name], print)
    before = compiled()
    grows = not find_strategy(name).supports.gone
    snapshots = clinic.write(tmp_path / "data", months=2, patients=400, seed=7, cumulative=grows)
    (tmp_path / "p.toml").write_text(clinic.config(strategy=name, settings=SETTINGS.get(name, [{"k": 3}])[0]))
    with Series.from_config(tmp_path / "s", tmp_path / "p.toml") as series:
        for snapshot in snapshots:
            series.publish(snapshot, allow=NAMES)
        series.audit()
    assert before
    assert compiled() - before == set()


def test_large_tables_find_all_their_kernels_compiled(tmp_path: Path) -> None:
    warm_up(["static"], print)
    before = compiled()
    table = next(iter(clinic.clinic_months(patients=1_000, months=1)))
    many = pa.concat_tables([table] * (60_000 // len(table) + 1))
    names = pa.array([f"p{row}" for row in range(len(many))])
    place = many.column_names.index("episode")
    (tmp_path / "p.toml").write_text(clinic.config(strategy="static", settings=SETTINGS["static"][0]))
    with Series.from_config(tmp_path / "s", tmp_path / "p.toml") as series:
        for end in (len(many), len(many) - 1):
            series.publish(many.set_column(place, "episode", names).slice(0, end), allow=NAMES)
    assert compiled() - before == set()


def test_an_unknown_strategy_is_named() -> None:
    done = CliRunner().invoke(main, ["warm-up", "standin"])
    assert done.exit_code == 2
    assert "There is no strategy 'standin'. Did you mean 'standing'?" in done.output
