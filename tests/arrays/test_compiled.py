"""Every process must find in the cache the kernel that it would compile itself.

Many processes compile the same kernel for different types at once; and a kernel changes with those that it is made of.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.arrays.forks import Forks, forking


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Processes that do not each import numba first."""
    with forking() as forks:
        yield forks


KERNEL = """
import sys
from reissue.arrays.compiled import njit

@njit(cache=True)
def weighed(number, factor):
    return number * factor + 1

kinds = {"int": (3, 5), "float": (3.5, 5), "mixed": (3, 5.5), "complex": (3j, 5), "bool": (True, 5), "all": (True, 1j)}
if len(sys.argv) == 3 and sys.argv[2].isdigit():
    from tests.arrays.forks import save_together

    save_together(int(sys.argv.pop()))
for name in sys.argv[1:]:
    number, factor = kinds[name]
    assert weighed(number, factor) == number * factor + 1, (name, weighed(number, factor))
"""
KINDS = ["int", "float", "mixed", "complex", "bool", "all"]


def run(folder: Path, *kinds: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(folder / "kernel.py"), *kinds],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")},
    )


def test_processes_that_compile_at_once_do_not_mix_their_kernels_up(tmp_path: Path, forks: Forks) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    for kind in KINDS:
        forks.start(script, kind, str(len(KINDS)))
    assert len(forks.wait()) == len(KINDS)
    files = list((tmp_path / "cache").rglob("*.nbc"))
    assert len(files) == len({file.name for file in files}) >= len(KINDS), "one file for each"
    for order in (KINDS, KINDS[::-1]):
        forks.run(script, *order)  # each holds what its name says


UNKNOWN_NUMBA = """
import sys
from reissue.arrays import compiled

assert compiled._LINKED, "the numba of the lock file is the one that `linking` knows"
compiled._LINKED = False

@compiled.njit(cache=True)
def inner(number):
    return number + 1

@compiled.njit(cache=True)
def outer(number):
    return 2 * inner(number)

assert outer(3) == 8
assert outer(3.5) == 9.0
assert "reissue.arrays.linking" not in sys.modules
"""


def test_with_a_numba_of_unknown_insides_kernels_are_compiled_in_its_own_way(tmp_path: Path, forks: Forks) -> None:
    (tmp_path / "kernel.py").write_text(UNKNOWN_NUMBA)
    for _ in ("compiled", "from the cache"):
        forks.run(tmp_path / "kernel.py")


SHAPES = """
from typing import NamedTuple

class Rows(NamedTuple):
    {fields}

BONUS = {bonus}
"""

INNER = """
from reissue.arrays.compiled import njit

@njit(cache=True)
def inner(number):
    return number * {factor}
"""

OUTER = """
from __future__ import annotations
from inner import inner
from reissue.arrays.compiled import njit
from shapes import BONUS, Rows

@njit(cache=True)
def middle(number):
    return inner(number)

@njit(cache=True)
def outer(rows: Rows):
    return [middle(rows.one) + BONUS for _ in range(1)][0]

print(outer(Rows(one=10, other=20)))
"""


def test_a_kernel_is_compiled_anew_when_something_else_that_it_is_made_of_changes(tmp_path: Path, forks: Forks) -> None:
    (tmp_path / "outer.py").write_text(OUTER)

    def told(factor: int, bonus: int, *fields: str) -> int:
        shapes = SHAPES.format(bonus=bonus, fields="; ".join(f"{name}: int" for name in fields))
        (tmp_path / "shapes.py").write_text(shapes)
        (tmp_path / "inner.py").write_text(INNER.format(factor=factor))
        return int(forks.run(tmp_path / "outer.py"))

    assert told(2, 1, "one", "other") == 21
    assert told(3, 1, "one", "other") == 31, "a kernel that is called by one that it calls"
    assert told(3, 5, "one", "other") == 35, "a constant"
    assert told(3, 5, "other", "one") == 35, "where a field is"


def test_a_kernel_is_compiled_anew_when_the_tuple_that_it_takes_has_another_name(tmp_path: Path, forks: Forks) -> None:
    (tmp_path / "inner.py").write_text(INNER.format(factor=2))
    for name in ("Rows", "Lines"):
        (tmp_path / "shapes.py").write_text(SHAPES.format(bonus=1, fields="one: int; other: int").replace("Rows", name))
        (tmp_path / "outer.py").write_text(OUTER.replace("Rows", name))
        assert int(forks.run(tmp_path / "outer.py")) == 21, name


SORTS = """
import sys
import numpy as np
from numba.core.bytecode import FunctionIdentity
from reissue.arrays.compiled import njit

@njit(cache=True)
def sort(numbers):
    return np.sort(numbers)

@njit(cache=True)
def rank(numbers):
    return np.argsort(numbers)

numbers = np.random.default_rng(0).permutation(1000)
if sys.argv[1:] == ["sort"]:  # it needs three kernels less than rank before it comes to sorting
    [next(FunctionIdentity._unique_ids) for _ in range(3)]
for name in sys.argv[1:]:
    found = numbers[rank(numbers)] if name == "rank" else sort(numbers)
    assert (found == np.arange(1000)).all(), name
"""


def test_kernels_of_different_processes_do_not_share_the_names_of_what_numba_compiled_into_them(tmp_path: Path) -> None:
    """In processes that import numba themselves: what is forked is numbered anew by another way.

    numba gives both its sorts one name and a number that every process counts from 1: the linker mixes them up."""
    (tmp_path / "kernel.py").write_text(SORTS)
    for kinds in (["sort"], ["rank"], ["sort", "rank"], ["rank", "sort"]):
        assert run(tmp_path, *kinds).wait() == 0, kinds


FORKS = """
import os
import numba.core.bytecode as bytecode
import reissue.arrays.compiled

def first_names():
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, str(next(bytecode.FunctionIdentity._unique_ids)).encode())
        os._exit(0)
    os.wait()
    return os.read(reader, 100)

assert len({first_names() for _ in range(3)}) == 3
"""


def test_processes_of_one_parent_count_from_numbers_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(FORKS)
    assert run(tmp_path).wait() == 0


NESTED = """
import numba
import numpy as np
from reissue.arrays.compiled import njit

@njit(cache=True)
def check(number):
    if number > 3:
        raise ValueError("more than three")
    return number + 1

@njit(cache=True)
def factorial(number):
    return 1 if number <= 1 else number * factorial(number - 1)

@njit(cache=True)
def outer(numbers):
    total = np.zeros(len(numbers), dtype=np.int64)
    for i in range(len(numbers)):
        total[i] = check(numbers[i]) * factorial(numbers[i])
    return total.sum()

def fails(kernel, *given):
    try:
        kernel(*given)
    except ValueError as error:
        return str(error) == "more than three"

assert outer(np.array([1, 2, 3])) == 2 * 1 + 3 * 2 + 4 * 6
assert fails(outer, np.array([1, 9])), "an error of a kernel that a kernel calls"
assert check(np.int64(2)) == 3 and fails(check, np.int64(4)), "Python calls it, too"
assert factorial(5) == 120

@numba.njit
def plain(number):
    return number * 2

@numba.njit
def apply(function, number):
    return np.full(3, function(number)).sum()

assert apply(plain, 4) == 24, "kernels of other people, with functions as values"
assert numba.cfunc("int64(int64)")(plain.py_func).ctypes(4) == 8
"""


def test_kernels_called_by_kernels_have_no_machine_code_of_their_own_and_work_all_the_same(
    tmp_path: Path, forks: Forks
) -> None:
    (tmp_path / "kernel.py").write_text(NESTED)
    for _ in range(2):  # compiled, then read
        forks.run(tmp_path / "kernel.py")
    waiting = [file.read_bytes() for file in (tmp_path / "cache").rglob("kernel.check*.nbc")]
    assert sorted(b"bitcode" in data for data in waiting) == [False, True], "one for Python, one for kernels"
