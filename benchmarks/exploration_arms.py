"""Whether GENTRY gains by another D_k: `python -m benchmarks.exploration_arms`.

D_k by pivoted QR is improved by swaps of one arm for another, as long as they lower the variance of
what is wanted, the sum over all arms z of |P_U z|^2 in the norm of (sum_{D_k} x x^T)^-1, or raise
the smallest eigenvalue of that sum (delta_Dk of Theorem 1). The worlds are the same for each.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

import projbandits as pb
from projbandits import statistics
from projbandits._validation import Array
from projbandits.problems import Problem, World

HORIZON = 10_000
STRATEGIES = [pb.GENTRY(alpha=alpha) for alpha in (0.3, 1.0, 2.0, 3.0)]


def worth(sums: Array, targets: Array, goal: str) -> Array:
    """Return how good each of several sums of x x^T is; larger is better."""
    if goal == "smallest eigenvalue":
        return np.asarray(np.linalg.eigvalsh(sums)[:, 0])
    inverses = np.linalg.inv(sums + 1e-9 * np.eye(sums.shape[-1]))
    return np.asarray(-np.einsum("jab,ba->j", inverses, targets.T @ targets))


def swapped(X: Array, rows: list[int], targets: Array, goal: str) -> list[int]:
    """Return rows after the best swaps, one at a time until none helps."""
    outer = np.einsum("ij,ik->ijk", X, X)
    best = worth((X[rows].T @ X[rows])[None], targets, goal)[0]
    while True:
        found = None
        for out in rows:
            kept = [row for row in rows if row != out]
            values = worth(X[kept].T @ X[kept] + outer, targets, goal)
            values[kept] = -np.inf
            into = int(values.argmax())
            if values[into] > best + 1e-9 * abs(best):
                best, found = values[into], [*kept, into]
        if found is None:
            return rows
        rows = found


@dataclass(frozen=True)
class Swapped:
    """Another problem's worlds, with a D_k improved by swaps."""

    problem: Problem
    goal: str

    def world(self, rng: np.random.Generator) -> World:
        """Return one world."""
        world = self.problem.world(rng)
        assert isinstance(world.arms, pb.FiniteArms)
        X = world.arms.vectors
        rows = swapped(X, world.arms.basis_rows(), X @ world.subspace.matrix, self.goal)
        world.arms._rows["pivoted-qr"] = rows  # in the place of what it found itself
        return world


def main() -> None:
    """Print mean regret with pivoted QR, and how much lower it is with swaps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials

    def regret(problem: Problem) -> Array:
        options = {"trials": trials, "horizon": HORIZON, "checkpoints": [HORIZON]}
        result = pb.simulate(problem, STRATEGIES, seed=0, progress=False, **options)
        return result.regret[:, :, 0]

    for name, subspace in (("setting a", "random"), ("setting b", "coordinates")):
        problem = pb.problems.random_arms(subspace=subspace)
        plain = regret(problem)
        for goal in ("variance of what is wanted", "smallest eigenvalue"):
            less = plain - regret(Swapped(problem, goal))
            for strategy, before, gain in zip(STRATEGIES, plain, less, strict=True):
                value, low, high = statistics.mean(gain)
                print(
                    f"{name}, {strategy!r}, {goal}: {value:.0f} ({low:.0f} to {high:.0f}) less "
                    f"than {before.mean():.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
