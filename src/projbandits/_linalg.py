"""Factorisations that many small problems need: LAPACK called directly, without the wrapping."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgeqp3, dorgqr

from projbandits._checks import Array


def pivots(X: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the sizes of the pivots of a QR factorisation with pivoting of X^T, and their rows.

    The first row is the longest of X, each next one the farthest from the span of those before.
    """
    qr, order, _, _, _ = dgeqp3(X.T)
    return np.abs(qr.diagonal()), np.asarray(order, dtype=np.int64) - 1


def all_clear(sizes: Array, entries: int, tolerance: float) -> bool:
    """Tell whether every pivot of a matrix would stay above the tolerance in any other units.

    The least singular value is above the last pivot / 2^n, for n pivots, and bringing rows or
    columns to size one divides it by the first pivot at most, up to the root of the number of
    entries. False says nothing.
    """
    n = min(len(sizes), 100)
    return bool(sizes[-1] > tolerance * 2.0**n * math.sqrt(entries) * sizes[0])


def orthonormal(A: Array, tolerance: float) -> Array:
    """Return orthonormal columns that span those of A, which may be of any scale, or be zero.

    A column counts if what lies outside the span of others is longer than the tolerance times it.
    """
    if not A.any():
        return A[:, :0]
    qr, _, tau, _, _ = dgeqp3(A)
    sizes = np.abs(qr.diagonal())
    rank = len(sizes)
    if not all_clear(sizes, A.size, tolerance):
        columns = A[:, A.any(axis=0)]
        unit = columns / np.abs(columns).max(axis=0)
        qr, _, tau, _, _ = dgeqp3(unit / np.linalg.norm(unit, axis=0))
        rank = int((np.abs(qr.diagonal()) > tolerance).sum())
    Q, _, _ = dorgqr(qr[:, :rank], tau[:rank])
    return np.ascontiguousarray(Q)
