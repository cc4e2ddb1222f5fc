"""What forgetting gains where tastes change, and costs where not: `python -m benchmarks.drift`.

Deciders that differ in nothing but `half_life` are asked in the worlds of `problems.offers`: the
same offers, the same noise, and the same random numbers of their own. Each cell is the mean regret
per decision with its 95 % interval; the factor is the regret without a half-life over that with it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import projbandits as pb
from projbandits.problems import Jump, OfferedWorld, Wander
from projbandits.simulation.streams import stream
from projbandits.statistics import half_width

HALF_LIVES = (None, 100, 300, 1000)
DRIFTS = {
    "none": None,
    "`Jump(every=1000)`": Jump(every=1000),
    "`Wander(rate=0.03)`": Wander(rate=0.03),
}


def regret(world: OfferedWorld, trial: int, half_life: float | None, horizon: int) -> float:
    """Return the regret per decision of one decider in one world."""
    settings: dict[str, Any] = {"seed": trial, "half_life": half_life}
    decider = pb.Decider(subspace=world.subspace, **settings)
    noise, total = stream(0, trial, "noise"), 0.0
    for _, step in zip(range(horizon), world.steps(), strict=False):
        assert isinstance(step.arms, pb.FiniteArms)
        decision = decider.ask(step.arms.vectors)
        assert decision.index is not None
        arm = step.arms.arm(decision.index)
        decider.tell(decision.id, step.noise.observe(step.mean_return(arm), noise))
        total += step.best_reward - step.reward(arm)
    return total / horizon


def rows(trials: int, horizon: int) -> Iterator[str]:
    """Yield the regret for each drift and each half-life, as Markdown."""
    yield "| drift | half-life | regret per decision | factor |\n|---|---:|---:|---:|"
    for name, drift in DRIFTS.items():
        problem = pb.problems.offers(drift=drift)
        worlds = [problem.world(stream(0, i, "world")) for i in range(trials)]
        base = np.zeros(trials)
        for half_life in HALF_LIVES:
            found = np.array([regret(w, i, half_life, horizon) for i, w in enumerate(worlds)])
            base = found if half_life is None else base
            half = float(half_width(found[:, None], 0.95)[0])
            cells = f"{found.mean():.3f} ± {half:.3f} | {base.mean() / found.mean():.2f}"
            yield f"| {name} | {half_life or 'none'} | {cells} |"


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--horizon", type=int, default=3000)
    options = parser.parse_args()
    for row in rows(options.trials, options.horizon):
        print(row, flush=True)


if __name__ == "__main__":
    main()
