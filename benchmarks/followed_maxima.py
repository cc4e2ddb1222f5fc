"""What UE loses on the entropy ball by following its maxima instead of searching anew each step.

Both searches see the same belief at each step of setting c. Shares and shortfalls are relative to
the height that the search from all starts reaches, its two terms taken without sign.
"""

# mypy: disallow-untyped-calls=false

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numba import njit

import projbandits as pb
from projbandits._validation import Array
from projbandits.simulation import compiled
from projbandits.simulation.kernels.compiler import OPTIONS, lent
from projbandits.simulation.kernels.convex import play_point
from projbandits.simulation.kernels.ellipsoid import optimistic_point
from projbandits.simulation.kernels.linear import begin_tally
from projbandits.simulation.kernels.search import score
from projbandits.simulation.kernels.support import copy


@njit(**OPTIONS)
def _choose(t, state):  # type: ignore[no-untyped-def]
    optimistic_point(t, state)


@njit(**OPTIONS)
def _play(following, anew, world, tally, rng, short):  # type: ignore[no-untyped-def]
    following, anew = lent(following), lent(anew)
    belief, room = following.linear, np.empty(following.x.size)
    for t in range(1, short.size + 1):
        _choose(t, following)
        anew.linear.inverse[:] = belief.inverse
        copy(following.aim, anew.aim)
        anew.width[0] = np.inf
        _choose(t, anew)
        radius, d = belief.parameters[t - 1], room.size
        one = score(d, belief.inverse, following.aim, radius, following.x, room)[0]
        other, width = score(d, belief.inverse, following.aim, radius, anew.x, room)
        size = abs(other - radius * width) + radius * width  # the height may be near 0
        short[t - 1] = (other - one) / size if size > 0.0 else 0.0
        play_point(t, following, world, tally, rng)


def shortfalls(strategy: Any, trials: int, horizon: int) -> Array:
    """Return by how much the followed maximum is lower, at each step of some trials."""
    short = np.empty((trials, horizon))
    for i in range(trials):
        rng = np.random.default_rng([0, i])
        world = pb.problems.entropy_ball().world(rng)
        rule = compiled.rule_of(strategy, world, horizon)
        assert rule is not None
        following, truth = compiled._convex(world, strategy, rule)
        anew, _ = compiled._convex(world, strategy, rule)
        tally = begin_tally(np.array([horizon]), 1)
        _play(following, anew, truth, tally, rng, short[i])
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
