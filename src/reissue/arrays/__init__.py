"""NumPy, numba and SciPy: types, sets, orders, components, flows and cuts; no word of privacy in it."""

from reissue.arrays.kernel_cache import find_place

find_place()
