"""How much of the estimate is round-off where arms have very large entries.

Prints, for growing entries in units of sqrt(lambda), the largest relative errors of theta-hat
(against its largest entry) and of the standard error of each coordinate, with one to six
observations of d = 4 features, against fractions, which do not round. One column is large, or all.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from projbandits._validation import Array
from projbandits.ridge import Ridge

D, TRIES = 4, 60
Row = list[Fraction]


def errors(largest: float, columns: int, seed: int = 1) -> tuple[float, float]:
    """Return the largest errors with that many columns whose entries reach `largest`."""
    rng = np.random.default_rng(seed)
    worst = np.zeros(2)
    for _ in range(TRIES):
        n = int(rng.integers(1, 7))
        X, r = rng.normal(size=(n, D)), rng.normal(size=n)
        X /= np.abs(X).max(axis=0)
        X[:, rng.permutation(D)[:columns]] *= largest
        ridge = Ridge.prior(D).update_many(X, r)
        theta, deviations = _exact(X, r)
        found = ridge.noise * ridge.width(np.eye(D))
        away = np.abs(ridge.theta - theta).max() / np.abs(theta).max()
        worst = np.maximum(worst, [away, np.abs(found / deviations - 1).max()])
    return float(worst[0]), float(worst[1])


def _exact(X: Array, r: Array) -> tuple[Array, Array]:
    """Return theta-hat and the standard errors of its coordinates for lambda = 1."""
    rows = [[Fraction(float(value)) for value in (*x, y)] for x, y in zip(X, r, strict=True)]
    unit = [[Fraction(a == b) for b in range(D)] for a in range(D)]
    both = [[_dot(rows, a, b) for b in range(D + 1)] for a in range(D)]
    work = [[v + e for v, e in zip(both[a], unit[a], strict=False)] for a in range(D)]
    work = [work[a] + [both[a][D]] + unit[a] for a in range(D)]  # [V, b, I]
    for c in range(D):
        work[c] = [value / work[c][c] for value in work[c]]
        for a in range(D):
            if a != c:
                work[a] = [v - work[a][c] * w for v, w in zip(work[a], work[c], strict=True)]
    theta = [work[a][D] for a in range(D)]
    inverse = [work[a][D + 1 + a] for a in range(D)]
    residual = _dot(rows, D, D) - sum(both[a][D] * theta[a] for a in range(D))
    free = len(X) - D + sum(inverse)
    return (
        np.array([float(value) for value in theta]),
        np.array([math.sqrt(residual / free * value) for value in inverse]),
    )


def _dot(rows: list[Row], a: int, b: int) -> Fraction:
    return sum((row[a] * row[b] for row in rows), Fraction(0))


def main() -> None:
    """Print the table of errors."""
    print(f"{'largest':>8} {'theta-hat':>10} {'standard errors':>16}")
    for power in (8, 10, 12, 13, 14, 15, 16):
        pairs = [errors(10.0**power, columns) for columns in (1, D)]
        theta, deviation = (max(part) for part in zip(*pairs, strict=True))
        print(f"{10.0**power:>8.0e} {theta:>10.1e} {deviation:>16.1e}")


if __name__ == "__main__":
    main()
