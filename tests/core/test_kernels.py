"""Loading numba without SciPy's linear algebra takes nothing away from anybody."""

from __future__ import annotations

import subprocess
import sys

LOAD = """
import sys
from reissue.core import kernels
kernels.load()
assert "numba" in sys.modules
assert "scipy.linalg" not in sys.modules, "SciPy was loaded after all: has numba changed where it asks for it?"
assert "scipy.linalg.cython_blas" not in sys.modules
"""

OWN_KERNELS = """
import numba, numpy as np
two = numba.njit(lambda a: a @ a)(np.eye(3) * 2)
assert two[0, 0] == 4
assert numba.njit(lambda a: np.convolve(a, a))(np.ones(3)).tolist() == [1, 2, 3, 2, 1]
assert abs(numba.njit(lambda a: np.linalg.det(a))(np.eye(3) * 2) - 8) < 1e-9
import scipy.linalg
assert scipy.linalg.norm([3.0, 4.0]) == 5
kernels.load()
"""


def test_numba_starts_without_linear_algebra_and_still_does_it_when_asked() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD + OWN_KERNELS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_scipy_that_is_there_already_is_left_alone() -> None:
    code = "import scipy.linalg.cython_blas as blas, sys\nfrom reissue.core import kernels\nkernels.load()\n"
    code += "assert sys.modules['scipy.linalg.cython_blas'] is blas\nfrom reissue.core.limits import meets"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
