"""The numbers of a few hundred small runs, to compare one commit with another.

    python -m benchmarks.digests before.npz                     on the old commit
    python -m benchmarks.digests after.npz --against before.npz on the new one

Every strategy meets every kind of world on every engine that serves it. A change that is meant to
leave results alone must leave these alone: bit by bit, or to 1e-12 where the order of a sum changed
for a reason that can be said.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import projbandits as pb
from projbandits.problems import Bernoulli, Problem, Uniform
from projbandits.strategies import LinearStrategy

HORIZON, TRIALS = 150, 3
FIELDS = ("regret", "return_regret", "best_share", "found_best")


def slowly(t: int) -> float:
    """Return the epsilon of a schedule that is none of the named ones."""
    return min(1.0, 2.0 / math.pow(1.0 + t, 0.7))


def problems() -> dict[str, Problem]:
    """Return worlds of every kind that an engine treats in a way of its own."""
    rng = np.random.default_rng(7)
    flat = np.column_stack([rng.uniform(-1, 1, (9, 3)), np.zeros(9)])
    flat[4] = 0.0
    flat[7] = flat[2]
    plane = pb.Subspace.coordinates([0, 1], 4)
    sets = (pb.Ball(3, 2.0), pb.Ellipsoid(np.diag([1.0, 2.0, 3.0])), pb.Box([-1, -1, 0], [1, 2, 1]))
    edges = pb.Polytope(np.vstack([np.eye(3), -np.eye(3)]), np.ones(6))
    return {
        "a": pb.problems.random_arms(),
        "b": pb.problems.random_arms(subspace="coordinates"),
        "small": pb.problems.random_arms(d=4, arms=7, u=1),
        "uniform": pb.problems.random_arms(d=5, arms=20, u=3, noise=Uniform(0.3)),
        "clicks": pb.problems.random_arms(d=3, arms=12, u=2, noise=Bernoulli()),
        "certain": pb.problems.random_arms(d=3, arms=9, u=2, noise=0.0),
        "flat": pb.problems.instance(flat, theta=[1.0, -0.5, 0.2, 0.0], subspace=plane),
        "wine": pb.problems.wine(arms=40),
        "c": pb.problems.entropy_ball(),
        **{type(s).__name__: pb.problems.random_theta(s, u=2) for s in (*sets, edges)},
    }


def strategies() -> list[LinearStrategy]:
    """Return every strategy in the forms that are chosen in ways of their own."""
    greedy: list[dict[str, Any]] = [
        {},
        {"alpha": 3.0, "basis": "first", "ridge": 0.5},
        {"schedule": "smooth"},
        {"schedule": slowly},
        {"arm_effects": "auto"},
        {"arm_effects": 0.5},
    ]
    optimistic: list[dict[str, Any]] = [{}, {"alpha": 0.7, "ridge": 2.0}, {"arm_effects": "auto"}]
    believing: list[dict[str, Any]] = [
        {},
        {"noise": 0.5, "ridge": 1.0},
        {"arm_effects": "auto"},
        {"arm_effects": 0.3, "noise": 0.4},
    ]
    return [
        *(family(**options) for family in (pb.GENTRY, pb.CURSE, pb.REGRET) for options in greedy),
        *(family(**options) for family in (pb.UE, pb.ProjectedUE) for options in optimistic),
        *(
            family(**options)
            for family in (pb.EIIDS, pb.DirectedIDS, pb.ProjectedTS)
            for options in believing
        ),
        *(pb.EIRatio(horizon=HORIZON, **options) for options in believing),
        pb.DirectedIDS(radius="published", bound=2.0),
    ]


def runs() -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield a name and the numbers of each run that an engine can do."""
    for name, problem in problems().items():
        for strategy in strategies():
            for engine in ("events", "compiled", "reference"):
                slow = name in ("c", "wine") and engine == "reference"
                try:
                    result = pb.simulate(
                        problem,
                        strategy,
                        trials=1 if slow else TRIALS,
                        horizon=40 if slow else HORIZON,
                        seed=3,
                        engine=engine,
                        checkpoints=None,
                        progress=False,
                    )
                except ValueError:
                    continue
                found = [getattr(result, field) for field in FIELDS]
                numbers = [np.ravel(f).astype(np.float64) for f in found if f is not None]
                yield f"{name} | {strategy!r} | {engine}", np.concatenate(numbers)


def main() -> None:
    """Write the numbers of all runs and, if asked, say how they differ from others."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    found = dict(runs())
    np.savez_compressed(given.out, **found)  # type: ignore[arg-type]
    print(f"{len(found)} runs")
    if given.against is None:
        return
    before = np.load(given.against)
    for gone in sorted(set(before) ^ set(found)):
        print(f"only in one of them: {gone}")
    differing = 0
    for name in sorted(set(before) & set(found)):
        one, other = before[name], found[name]
        if not np.array_equal(one, other, equal_nan=True):
            differing += 1
            away = np.abs(one - other).max() / max(np.abs(one).max(), 1e-300)
            print(f"differs by {away:.1e}: {name}")
    print(f"{differing} of {len(set(before) & set(found))} differ")


if __name__ == "__main__":
    main()
