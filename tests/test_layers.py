"""Imports only go down, rooms stay apart, and a light start stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from reissue.methods.registry import STRATEGIES, find_attack, find_strategy

SOURCE = Path(__file__).resolve().parents[1] / "src" / "reissue"

# The floors of the house, top first. A module may import its own package and anything on a lower floor.
FLOORS = [
    {"__main__"},
    {"cli"},
    {"demo", "page", "warming"},
    {"compare", "estimating"},
    {"series"},
    {"publish", "audit"},
    {"history", "report", "clinic"},
    {"attacks"},
    {"methods"},
    {"partition"},
    {"json_schema"},
    {"documents"},
    {"ledger", "utility", "suggest"},
    {"engine"},
    {"coding"},
    {"schema"},
    {"hierarchy"},
    {"model"},
    {"arrays"},
    {"arguments"},
    {"errors", "lazy", "progress", "showing"},
]
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}
# A room builds on the floors below; two papers build on m-invariance, and attackers with statistics read them as those
# with background knowledge do.
BUILDS_ON = {
    "equivalence": {"invariance"},
    "correlation": {"invariance"},
    "learning": {"beliefs"},
    "invariance": {"learning"},
}
ATTACK = re.compile(r"attack")
STRATEGY = re.compile(r"strategy|^checked_|^bay_frame$|^js_reduce$|^static$|^merge$")
FRAME_METHODS = re.compile(r"\.(groupBy|mapInArrow|applyInArrow|withColumn|selectExpr|repartition|toArrow|toDF)\b")


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE or path.name != "__init__.py"]


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def nodes(path: Path) -> list[ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef]:
    """What is imported and defined anywhere in a file."""
    kinds = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef
    return [node for node in ast.walk(ast.parse(read(path))) if isinstance(node, kinds)]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@cache
def imported(path: Path) -> list[tuple[str, str]]:
    """(module, name) of ours that a file imports, anywhere in it, without the leading package name."""
    names = []
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [(alias.name, "") for alias in node.names]
    return [(module.removeprefix("reissue."), name) for module, name in names if module.startswith("reissue.")]


def room(module: str) -> str | None:
    """The room of a module of `methods`; None for what all rooms share."""
    parts = module.split(".")
    return parts[1] if parts[0] == "methods" and len(parts) > 1 and (SOURCE / "methods" / parts[1]).is_dir() else None


def each_module(check: Callable[[Path], None]) -> Callable[[], None]:
    """One test of all modules: two thousand tests would take longer to list than to run."""

    def test() -> None:
        for path in modules():
            check(path)

    return test


@each_module
def test_imports_only_go_down(path: Path) -> None:
    here = name_of(path).split(".")[0]
    assert here in FLOOR, f"{here} stands on no floor of the house"
    for module, _ in imported(path):
        there = module.split(".")[0]
        assert there == here or FLOOR[there] > FLOOR[here], f"{here} imports {module}, which does not lie below it"


@each_module
def test_rooms_import_only_what_they_build_on(path: Path) -> None:
    here = room(name_of(path))
    for module, _ in imported(path):
        there = room(module)
        if here is None or there is None or there == here:
            continue
        assert there in BUILDS_ON.get(here, set()), f"the room {here} imports {module}"


@each_module
def test_an_attack_and_a_strategy_never_import_each_other(path: Path) -> None:
    here, own = room(name_of(path)), path.stem
    for module, _ in imported(path):
        other = module.split(".")[-1]
        if here is None or room(module) is None:
            continue
        assert not (ATTACK.search(own) and STRATEGY.search(other)), f"{own} imports {module}"
        assert not (STRATEGY.search(own) and ATTACK.search(other)), f"{own} imports {module}"


@each_module
def test_nobody_reaches_into_the_private_names_of_another(path: Path) -> None:
    for module, name in imported(path):
        private = [part for part in (*module.split("."), name) if part.startswith("_") and not part.startswith("__")]
        assert not private, f"{name_of(path)} imports {module}.{name}"


OPTIONAL = {"adbc_driver_manager", "adbc_driver_postgresql", "altair", "jinja2", "markupsafe", "pandas", "psycopg"}
OPTIONAL |= {"fastexcel", "pyreadstat", "pyspark", "starlette", "uvicorn", "vl_convert"}
"""What extras bring, imported where it is needed."""


@each_module
def test_only_declared_dependencies_are_imported(path: Path) -> None:
    declared = tomllib.loads(read(SOURCE.parents[1] / "pyproject.toml"))["project"]["dependencies"]
    known = {re.split(r"[<>=;\[ ]", one)[0] for one in declared} | OPTIONAL | {"reissue", "pydantic_core", "msvcrt"}
    for node in nodes(path):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
        foreign = {name.split(".")[0] for name in names} - known - sys.stdlib_module_names
        assert not foreign, f"{path} imports {foreign}, which is neither a dependency nor an extra"


@each_module
def test_only_the_engine_imports_a_table_library(path: Path) -> None:
    if name_of(path).split(".")[0] == "engine":
        return
    for node in nodes(path):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
        assert not any(name.split(".")[0] in {"pandas", "pyspark"} for name in names), path


@each_module
def test_only_the_engine_calls_the_methods_of_frames(path: Path) -> None:
    if name_of(path).split(".")[0] == "engine":
        return
    assert not FRAME_METHODS.findall(read(path)), path


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """At the top of their files: what is imported inside a function, or for types only, closes no circle."""
    below: dict[str, set[str]] = defaultdict(set)
    known = {name_of(path) for path in modules()}
    for path in modules():
        for node in ast.parse(read(path)).body:
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("reissue."):
                module = node.module.removeprefix("reissue.")
                for alias in node.names:
                    inner = f"{module}.{alias.name}"
                    below[name_of(path)].add(inner if inner in known else module)
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"a circle: {' -> '.join((*way, module))}"
        if module not in done:
            for other in below[module]:
                visit(other, (*way, module))
            done.add(module)

    for module in sorted(known):
        visit(module, ())


def test_no_two_classes_have_the_same_name() -> None:
    where = defaultdict(list)
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                where[node.name].append(name_of(path))
    assert not {name: places for name, places in where.items() if len(places) > 1}


def test_no_function_and_no_file_is_too_long() -> None:
    for path in modules():
        assert read(path).count("\n") <= 350, path
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                assert node.end_lineno - node.lineno < 60, f"{path}: {node.name}"


@pytest.mark.parametrize("folder", ["tests", "experiments", "benchmarks"])
def test_no_file_beside_the_source_is_too_long(folder: str) -> None:
    for path in (SOURCE.parents[1] / folder).rglob("*.py"):
        assert path.read_text(encoding="utf-8").count("\n") <= 350, path


def test_import_reissue_is_light() -> None:
    heavy = ["altair", "jinja2", "numba", "numpy", "polars", "pyarrow", "pydantic", "pyspark", "psycopg", "scipy"]
    heavy += ["starlette", "uvicorn"]
    code = f"import sys, reissue; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_publishing_does_not_wait_for_scipy() -> None:
    """A fifth of a second in every process that publishes: what needs SciPy imports it when it gets that far."""
    code = (
        "import sys; from reissue.methods.registry import STRATEGIES, find_attack, find_strategy;"
        "import reissue.publish.embedded, reissue.publish.publishing, reissue.series;"
        "[find_attack(attack) for name in STRATEGIES for attack in find_strategy(name).list_attacks_to_run()];"
        "print({'scipy.sparse', 'pydantic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


def test_a_room_names_what_its_strategy_and_the_attacks_that_check_it_share() -> None:
    """Their common modules of `methods` are in the docstring of the room, with the reason why both may trust them."""
    below = {name_of(path): imported(path) for path in modules()}

    def reach(module: str) -> set[str]:
        found = [module]
        for one in found:
            named = [part for module, name in below[one] for part in (module, f"{module}.{name}")]
            found += [other for other in dict.fromkeys(named) if other in below and other not in found]
        return set(found)

    for strategy in map(find_strategy, STRATEGIES):
        own = strategy.__module__.removeprefix("reissue.")
        attacks = [find_attack(name).__module__.removeprefix("reissue.") for name in strategy.list_attacks_to_run()]
        shared = reach(own).intersection(*[set().union(*map(reach, attacks))])
        told = (SOURCE / own.replace(".", "/")).parent.joinpath("__init__.py").read_text()
        for module in shared:
            assert room(module) is None or module.split(".")[-1] in told, f"{own} and its attacks share {module}"
