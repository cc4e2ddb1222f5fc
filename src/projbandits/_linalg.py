"""Factorisations that many small problems need: LAPACK called directly, without the wrapping."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgeqp3, dorgqr

from projbandits._checks import Array


def pivots(X: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the sizes of the pivots of a QR factorisation with pivoting of X^T, and their rows.

    The first row is the longest of X, each next one the farthest from the span of those before.
    """
    qr, order, _, _, _ = dgeqp3(X.T)
    return np.abs(np.diag(qr)), np.asarray(order, dtype=np.int64) - 1


def orthonormal(A: Array, tolerance: float) -> Array:
    """Return orthonormal columns that span those of A, leaving out pivots below the tolerance."""
    qr, _, tau, _, _ = dgeqp3(A)
    rank = int((np.abs(np.diag(qr)) > tolerance).sum())
    Q, _, _ = dorgqr(qr[:, :rank], tau[:rank])
    return np.ascontiguousarray(Q)
