"""Factorisations that many small problems need: LAPACK called directly, without the wrapping."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgeqp3, dgeqrf, dorgqr, dtrtri

from projbandits._blas import while_small
from projbandits._validation import Array


def pivots(X: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the factor R of a QR factorisation with pivoting of X^T, and the pivots' rows.

    Their sizes are on the diagonal of R. The first row is the longest of X, each next one the
    farthest from the span of those before. What is below the diagonal is meaningless.
    """
    with while_small(*X.shape):
        qr, order, _, _, _ = dgeqp3(X.T)
    return qr, np.asarray(order, dtype=np.int64) - 1


def distances(X: Array) -> Array:
    """Return how far each row of X, which has no more rows than columns, is from those before."""
    if len(X) == 0:
        return np.empty(0)
    apart: Array = np.abs(np.diagonal(dgeqrf(X.T)[0]))
    return apart


def surely_full(R: Array, tolerance: float) -> bool:
    """Tell whether X, by R of its pivots, has full rank whatever the scales of rows or columns.

    With columns brought to the scale 1, no pivot is smaller than the least singular value, which
    is at least that of R over the largest entry; the first pivot is at most sqrt(d). The least
    singular value of R is at least 1 / |R_d^-1| for its first d columns R_d, and the largest entry
    at most the first pivot. Since no entry of a row exceeds its pivot, |R_d^-1| is at most 2^d over
    the last one; if that does not settle it, the inverse does.
    """
    d = len(R)
    if R.shape[1] < d:
        return False
    first, last = abs(R[0, 0]), abs(R[d - 1, d - 1])
    if tolerance * math.sqrt(d) * 2.0**d * first < last:
        return True
    inverse, singular = dtrtri(R[:, :d])
    if singular != 0:
        return False
    # What LAPACK leaves below the diagonal only makes the bound more careful.
    entries = inverse.ravel(order="K")
    return bool(tolerance * math.sqrt(d * (entries @ entries)) * first < 1.0)


def orthonormal(A: Array, tolerance: float) -> Array:
    """Return orthonormal columns that span those of A, which may be of any scale, or be zero.

    A column counts if what lies outside the span of others is longer than the tolerance times it.
    """
    if not A.any():
        return A[:, :0]
    qr, _, tau, _, _ = dgeqp3(A)
    rank = min(A.shape)
    if not surely_full(qr[:rank], tolerance):
        columns = A[:, A.any(axis=0)]
        unit = columns / np.abs(columns).max(axis=0)
        qr, _, tau, _, _ = dgeqp3(unit / np.linalg.norm(unit, axis=0))
        rank = int((np.abs(qr.diagonal()) > tolerance).sum())
    Q, _, _ = dorgqr(qr[:, :rank], tau[:rank])
    return np.ascontiguousarray(Q)
