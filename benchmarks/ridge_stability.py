"""Round-off of the ridge estimate over many updates, against a direct solve in long arithmetic.

Prints, for growing numbers of updates, the largest relative error of theta-hat and of V^-1 (entry
by entry, relative to the square roots of its diagonal): of `Ridge`, and of the two textbook
ways: keeping V^-1 by rank-one updates, and adding up x x^T and r x to solve at the end. One arm is
pulled 99 times in 100. The features are like those of raw wines (spreads from 0.003 to 43), or have
scales from 1 to 1e6.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.ridge import Ridge

SCALES = np.array([0.84, 0.1, 0.12, 5.1, 0.022, 17.0, 42.5, 0.003, 0.15, 0.11, 1.2])
CENTRES = np.array([6.9, 0.28, 0.33, 6.4, 0.046, 35.3, 138.4, 0.994, 3.19, 0.49, 10.5])
NOISE = 0.5


def wine_like(seed: int = 0, arms: int = 200) -> Array:
    """Return arms whose features have the centres and spreads of raw wine features."""
    rng = np.random.default_rng(seed)
    features = CENTRES + SCALES * rng.normal(size=(arms, len(SCALES)))
    return np.column_stack([features, np.ones(arms), rng.random(arms)])


def wide(seed: int = 0, arms: int = 200, d: int = 13) -> Array:
    """Return arms whose features have scales from 1 to 1e6, with means as large as their spread."""
    rng = np.random.default_rng(seed)
    return np.asarray(np.geomspace(1, 1e6, d) * (1 + rng.normal(size=(arms, d))))


class Errors(NamedTuple):
    """The largest relative errors of an estimate."""

    theta: float
    inverse: float


def errors(X: Array, updates: int, seed: int = 1) -> tuple[Errors, Errors, Errors]:
    """Return the errors, after so many updates, of `Ridge`, rank-one updates and sums."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=X.shape[1]) / X.std(axis=0).clip(0.01)
    means = X @ theta
    ridge = Ridge.prior(X.shape[1])
    inverse, estimate = np.eye(X.shape[1]), np.zeros(X.shape[1])
    V, b = np.eye(X.shape[1]), np.zeros(X.shape[1])
    pulls = np.zeros(len(X), dtype=np.int64)
    totals = np.zeros(len(X), dtype=np.longdouble)
    done = 0
    while done < updates:
        block = min(10_000, updates - done)
        indices = np.where(rng.random(block) < 0.99, 0, rng.integers(len(X), size=block))
        observed = means[indices] + NOISE * rng.normal(size=block)
        for i, r in zip(indices.tolist(), observed.tolist(), strict=True):
            ridge = ridge.update(X[i], r)
            v = inverse @ X[i]
            w = 1 / (1 + X[i] @ v)
            estimate += v * (w * (r - X[i] @ estimate))
            inverse -= np.multiply.outer(v, w * v)
            V += np.multiply.outer(X[i], X[i])
            b += r * X[i]
        np.add.at(pulls, indices, 1)
        np.add.at(totals, indices, observed.astype(np.longdouble))
        done += block
    exact = _direct(X, pulls, totals)
    return (
        _compare(ridge.inverse, ridge.theta, *exact),
        _compare(inverse, estimate, *exact),
        _compare(np.asarray(np.linalg.inv(V)), np.asarray(np.linalg.solve(V, b)), *exact),
    )


def _compare(
    inverse: NDArray[Any], theta: NDArray[Any], exact_inverse: Array, exact_theta: Array
) -> Errors:
    size = np.sqrt(np.diag(exact_inverse))
    theta_error = np.abs(theta - exact_theta) / np.abs(exact_theta)
    inverse_error = np.abs(inverse - exact_inverse) / np.outer(size, size)
    return Errors(float(theta_error.max()), float(inverse_error.max()))


def _direct(
    X: Array, pulls: NDArray[np.int64], totals: NDArray[np.longdouble]
) -> tuple[Array, Array]:
    """Return V^-1 and theta-hat from the pulls, refined in extended precision."""
    long = X.astype(np.longdouble)
    V = (long.T * pulls) @ long + np.eye(X.shape[1])
    b = long.T @ totals
    scale = 1 / np.sqrt(np.diag(V).astype(np.float64))
    factor = scipy.linalg.cho_factor((V * np.outer(scale, scale)).astype(np.float64))
    right = np.column_stack([np.eye(X.shape[1]), b])
    solution = np.zeros_like(right)
    for _ in range(8):
        rest = ((right - V @ solution) * scale[:, None]).astype(np.float64)
        solution = solution + scale[:, None] * scipy.linalg.cho_solve(factor, rest)
    return solution[:, :-1].astype(np.float64), solution[:, -1].astype(np.float64)


def main() -> None:
    """Print the table of errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=10_000_000)
    most = parser.parse_args().updates
    print(f"{'':>12} {'Ridge':^21} {'rank-one':^21} {'sums':^21}")
    print(f"{'updates':>12}" + f" {'theta-hat':>10} {'V^-1':>10}" * 3)
    for name, X in (("like wines", wine_like()), ("1 to 1e6", wide())):
        print(name)
        updates = 1000
        while updates <= most:
            row = " ".join(f"{error:>10.1e}" for kind in errors(X, updates) for error in kind)
            print(f"{updates:>12,} {row}", flush=True)
            updates *= 100


if __name__ == "__main__":
    main()
