"""How much faster polytopes are than a linear program each time: `python -m benchmarks.polytopes`.

The same games are played by the readable loop, with HiGHS for each support point, and by the
compiled one, on mixtures of five drugs, which have few vertices. A cube in twelve dimensions has
4,096, so only the readable loop plays it. Times are of the processor, per step, without
compilation.
"""

from __future__ import annotations

import time

import numpy as np

import projbandits as pb
from projbandits._validation import Array


class Solved(pb.Polytope):
    """A polytope that solves a linear program for each support point."""

    def supports(self, directions: Array) -> Array:
        """Return optimal vertices by HiGHS."""
        return np.array([self._solved(direction) for direction in directions])


def seconds(arms: pb.Polytope, strategy: pb.Strategy, engine: str, horizon: int) -> float:
    """Return the seconds that one step takes."""
    problem = pb.problems.random_theta(arms, u=2)
    start = time.process_time()
    pb.simulate(problem, strategy, trials=1, horizon=horizon, engine=engine, progress=False)
    return (time.process_time() - start) / horizon


def main() -> None:
    """Print the table."""
    both = [np.vstack([np.eye(d), -np.eye(d)]) for d in (5, 12)]
    sets = {
        "mixtures": (both[0], [0.4] * 5 + [0.0] * 5, [[1.0] * 5], [1.0]),
        "cube": (both[1], np.ones(24)),
    }
    print(f"{'':10}{'':14}{'HiGHS, ms':>12}{'compiled, us':>14}{'ratio':>10}")
    for name, constraints in sets.items():
        arms, solved = pb.Polytope(*constraints), Solved(*constraints)
        for strategy in (pb.GENTRY(), pb.UE(), pb.DirectedIDS()):
            slow = seconds(solved, strategy, "reference", 30)
            line = f"{name:10}{type(strategy).__name__:14}{1e3 * slow:12.2f}"
            if arms.vertices is not None:
                seconds(arms, strategy, "compiled", 10)
                fast = seconds(arms, strategy, "compiled", 20_000)
                line += f"{1e6 * fast:14.2f}{slow / fast:10,.0f}"
            print(line)


if __name__ == "__main__":
    main()
