"""What the kernels share: `bind`, which compiles them, argmax, noise and the rank-one update."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from projbandits.problems import Bernoulli, Gaussian, Uniform
from projbandits.simulation.kernels import cache
from projbandits.simulation.kernels.parts import Part
from projbandits.simulation.sources import DIGEST

GAUSSIAN, UNIFORM, BERNOULLI = 0, 1, 2
NOISE_CODES: dict[type, int] = {Gaussian: GAUSSIAN, Uniform: UNIFORM, Bernoulli: BERNOULLI}
"""The kinds of noise that `observe` knows."""

LANES = 8

INNER: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": Part,
}
inner = njit(**INNER)
"""Compile a function that only kernels call, without the entries for Python and for C.

Unpacking the forty arrays of a view takes longer to compile than most functions that look at it.
"""
inlined = njit(**INNER, forceinline=True)
"""Compile a function that becomes a part of each kernel that calls it."""


def bind(
    function: Callable[..., Any],
    name: str,
    *,
    keep: bool = True,
    allocates: bool = True,
    **names: Any,
) -> Any:
    """Return a kernel compiled from a plain function with some global names bound, cached on disk.

    A rule passed to a loop as an argument would be called through a pointer, and numba does not
    cache a loop that takes one. Bound as a global it is inlined. To tell whether its cache is
    stale, numba looks only at the file of the outermost function, so the digest of all sources is
    part of the kernel's name.

    A kernel that makes no arrays need not count references to them. Counting takes nearly half of
    UE's step on a convex set: each access to a field of a view counts up and down, atomically.
    """
    bound = types.FunctionType(function.__code__, {**function.__globals__, **names}, name)
    bound.__qualname__ = f"{name}_{DIGEST}"
    bound.__module__ = function.__module__
    options: dict[str, Any] = {"_nrt": allocates, "no_cfunc_wrapper": True}
    kernel = njit(nogil=True, error_model="numpy", **options)(bound)
    if keep:
        cache.keep(kernel)
    return kernel


@inlined
def argmax(values, lanes):  # type: ignore[no-untyped-def]
    """Return the first position of the largest value; `lanes` is scratch for eight of them.

    A running maximum cannot be vectorised without reordering, so eight run side by side.
    """
    n = values.size
    whole = n - n % LANES
    if whole == 0:
        first = 0
        for j in range(1, n):
            if values[j] > values[first]:
                first = j
        return first
    for k in range(LANES):
        lanes[k] = values[k]
    for j in range(LANES, whole, LANES):
        for k in range(LANES):
            x = values[j + k]
            y = lanes[k]
            lanes[k] = x if x > y else y
    largest = lanes[0]
    for k in range(1, LANES):
        if lanes[k] > largest:
            largest = lanes[k]
    for j in range(whole, n):
        if values[j] > largest:
            largest = values[j]
    first = 0
    while values[first] != largest and first + 1 < n:  # among nan there is no largest
        first += 1
    return first


@inlined
def lowest(values):  # type: ignore[no-untyped-def]
    """Return the least value, by four comparisons side by side."""
    s0, s1, s2, s3 = np.inf, np.inf, np.inf, np.inf
    whole = values.size - values.size % 4
    for j in range(0, whole, 4):
        s0 = values[j] if values[j] < s0 else s0
        s1 = values[j + 1] if values[j + 1] < s1 else s1
        s2 = values[j + 2] if values[j + 2] < s2 else s2
        s3 = values[j + 3] if values[j + 3] < s3 else s3
    for j in range(whole, values.size):
        s0 = values[j] if values[j] < s0 else s0
    return min(min(s0, s1), min(s2, s3))


@inlined
def observe(noise, mean, scale, rng):  # type: ignore[no-untyped-def]
    """Return one observation, drawn as the classes of `problems.noise` draw it."""
    if noise == GAUSSIAN:
        return mean + scale * rng.standard_normal()
    if noise == UNIFORM:
        return mean + scale * math.sqrt(3.0) * (2.0 * rng.random() - 1.0)
    width = 2.0 * scale
    lower = math.floor(mean / width)
    return width * (lower + (1.0 if rng.random() < mean / width - lower else 0.0))


@inlined
def copy(source, target, n=0):  # type: ignore[no-untyped-def]
    """Copy n entries, or all of them; assigning to a slice would make a temporary array."""
    for a in range(n or source.size):
        target[a] = source[a]


@inlined
def direction(inverse, theta, f, v):  # type: ignore[no-untyped-def]
    """Fill v = V^-1 f and return q = <f, v> and p = <f, theta-hat>."""
    products(inverse, f, v)
    q = 0.0
    p = 0.0
    for a in range(f.size):
        q += v[a] * f[a]
        p += theta[a] * f[a]
    return q, p


@inlined
def move(inverse, theta, c, w, v, u, n=0):  # type: ignore[no-untyped-def]
    """Move theta-hat by c v and V^-1 by -w v v^T, symmetric to the last bit; u is scratch.

    `n` is d if that is a constant.
    """
    d = n or v.size
    root = math.sqrt(w)
    for a in range(d):
        theta[a] += c * v[a]
        u[a] = root * v[a]
    for a in range(d):
        ua = u[a]
        for b in range(d):
            inverse[a, b] -= ua * u[b]


@inlined
def products(matrix_T, v, out):  # type: ignore[no-untyped-def]
    """Fill out with <row_j, v> for each row of a matrix given by its transpose.

    Four terms at a time, in order: the sums are the same, and `out` is written less often.
    """
    d, n = v.size, out.size
    for j in range(n):
        out[j] = 0.0
    a = 0
    while a + 4 <= d:
        v0, v1, v2, v3 = v[a], v[a + 1], v[a + 2], v[a + 3]
        for j in range(n):
            two = (out[j] + v0 * matrix_T[a, j]) + v1 * matrix_T[a + 1, j]
            out[j] = (two + v2 * matrix_T[a + 2, j]) + v3 * matrix_T[a + 3, j]
        a += 4
    while a < d:
        va = v[a]
        for j in range(n):
            out[j] += va * matrix_T[a, j]
        a += 1
