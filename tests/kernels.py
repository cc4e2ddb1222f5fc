"""Functions that only kernels call, made callable for tests."""

from functools import cache
from typing import Any

from numba import njit


@cache
def opened(function: Any) -> Any:
    """Return a kernel that calls the function and does nothing else."""
    return njit(error_model="numpy")(lambda *arguments: function(*arguments))
