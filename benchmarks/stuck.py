"""How often a strategy stays with a wrong arm in easy games: `python -m benchmarks.stuck`.

The games are easy to learn: two arms that show what they are worth, and arms with dim U = 1. A
trial is stuck if it lost as much in the last tenth of its steps as if it had played no best arm.
The slope is that of the mean regret over the last decade with both axes logarithmic: 1 is linear.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import projbandits as pb
from projbandits.problems import Problem
from projbandits.simulation.streams import stream

STRATEGIES: tuple[pb.Strategy, ...] = (
    pb.DirectedIDS(),
    pb.DirectedIDS(radius="published", noise=0.5),
    pb.EIIDS(),
)
PLANE = pb.Subspace.coordinates([0, 1], d=2)
GAMES: dict[str, Problem] = {
    "two arms, gap 0.2": pb.problems.instance(np.eye(2), theta=[0.5, 0.3], subspace=PLANE),
    "10 arms, dim U = 1": pb.problems.random_arms(d=5, arms=10, u=1),
}


def table(trials: int, horizon: int) -> str:
    """Return the share of trials that are stuck, the mean regret and the slope, as Markdown."""
    lines = ["| game | strategy | stuck | mean regret | slope |", "|---|---|---:|---:|---:|"]
    tenth = horizon // 10
    for name, problem in GAMES.items():
        worlds = (problem.world(stream(0, i, "world")) for i in range(trials))
        gaps = np.array([pb.theory.constants(world).gap for world in worlds])
        result = pb.simulate(
            problem,
            STRATEGIES,
            trials=trials,
            horizon=horizon,
            seed=0,
            checkpoints=[tenth, horizon - tenth, horizon],
            progress=False,
        )
        for strategy, regret in zip(result.strategies, result.regret, strict=True):
            early, late, last = regret.T
            stuck = float((last - late >= 0.999 * gaps * tenth).mean())
            slope = math.log10(last.mean() / early.mean())
            numbers = f"{stuck:.1%} | {last.mean():,.0f} | {slope:.2f}"
            lines.append(f"| {name} | `{strategy}` | {numbers} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=600)
    parser.add_argument("--horizon", type=int, default=20_000)
    options = parser.parse_args()
    print(table(options.trials, options.horizon))


if __name__ == "__main__":
    main()
