"""What UE loses on the entropy ball by following its maxima instead of searching anew each step.

Both searches see the same belief at each step of setting c. Shares and shortfalls are relative to
the height that the search from all starts reaches, its two terms taken without sign.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numba import njit

import projbandits as pb
from projbandits._validation import Array
from projbandits.simulation import compiled
from projbandits.simulation.kernels.common import copy, direction, move, products
from projbandits.simulation.kernels.ellipsoid import optimistic_point
from projbandits.simulation.kernels.search import score


@njit(error_model="numpy")
def _choose(t, view, rng, x):  # type: ignore[no-untyped-def]
    optimistic_point(t, view, rng, x)


@njit(error_model="numpy")
def _play(following, anew, whole, theta, rng, rows, short):  # type: ignore[no-untyped-def]
    x, y, v, u = rows[0], rows[1], rows[2], rows[3]
    for t in range(1, short.size + 1):
        _choose(t, following, rng, x)
        anew.inverse[:] = following.inverse
        copy(following.aim, anew.aim)
        anew.told[0] = np.inf
        _choose(t, anew, rng, y)
        radius = following.parameters[t - 1]
        one = score(x.size, following.inverse, following.aim, radius, x, v)[0]
        other, width = score(x.size, following.inverse, following.aim, radius, y, v)
        size = abs(other - radius * width) + radius * width  # the height may be near 0
        short[t - 1] = (other - one) / size if size > 0.0 else 0.0
        observed = 0.5 * rng.standard_normal()
        for a in range(x.size):
            observed += x[a] * theta[a]
        q, p = direction(following.inverse, following.theta, x, v)
        following.told[0] = q
        w = 1.0 / (1.0 + q)
        move(following.inverse, following.theta, (observed - p) * w, w, v, u)
        if not whole:
            products(following.projection, following.theta, following.aim)


def shortfalls(strategy: Any, trials: int, horizon: int) -> Array:
    """Return by how much the followed maximum is lower, at each step of some trials."""
    short = np.empty((trials, horizon))
    for i in range(trials):
        rng = np.random.default_rng([0, i])
        world = pb.problems.entropy_ball().world(rng)
        rule = compiled.rule_of(strategy, world, horizon)
        assert rule is not None
        (following, _, _, whole), (anew, *_) = (
            compiled._convex(world, strategy, rule) for _ in range(2)
        )
        _play(following, anew, whole, world.theta, rng, np.empty((4, 4)), short[i])
    return short


def main() -> None:
    """Print a line for each strategy and alpha."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--horizon", type=int, default=10_000)
    options = parser.parse_args()
    for family in (pb.UE, pb.ProjectedUE):
        for alpha in (0.01, 0.1, 0.3, 1.0):
            short = shortfalls(family(alpha=alpha), options.trials, options.horizon)
            print(
                f"{family(alpha=alpha)!r}: lower in {(short > 1e-9).mean():.2%} of the steps, at "
                f"most by {short.max():.1e}, on average by {short.mean():.1e}; higher in "
                f"{(short < -1e-9).mean():.2%}"
            )


if __name__ == "__main__":
    main()
