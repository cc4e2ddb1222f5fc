"""The three-arm instance on which no strategy beats n^(2/3), and the regret of each on it.

U is the plane of the first two coordinates; the arms are (1, 0, 1), (0, 1, -1) and (-1, -1, 1).
theta is (1 + e, 1 - e, -e) / 2 or (1 - e, 1 + e, e) / 2, by the toss of a coin. In both the first
two arms return 1/2, so they do not tell which of them is better by e; only the third does, and it
costs more than 3/2. With e near n^(-1/3) both ignorance and asking cost n^(2/3).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import projbandits as pb
from projbandits import plots
from projbandits._checks import Array
from projbandits.problems import World

ARMS = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
Steps = NDArray[np.int64]
DIFFERENCES = tuple(0.5**i for i in range(8))
LONGEST = 10**6
STEPS = np.unique(np.geomspace(10, LONGEST, 31).round().astype(np.int64))
KNOWN = (1000, 10_000, 100_000, LONGEST)
"""The horizons of the strategy that has to know it."""


@dataclass(frozen=True)
class ThreeArms:
    """The first or the second arm is better by `difference`, and only the third one tells."""

    difference: float

    def world(self, rng: np.random.Generator) -> World:
        """Return one of the two worlds."""
        e = self.difference * (1 if rng.random() < 0.5 else -1)
        theta = np.array([1 + e, 1 - e, -e]) / 2
        U = pb.Subspace.coordinates([0, 1], d=3)
        return World(pb.FiniteArms(ARMS), U, pb.problems.Gaussian(0.5), theta=theta)


STRATEGIES: tuple[pb.Strategy, ...] = (
    pb.EIIDS(),
    pb.DirectedIDS(),
    pb.ProjectedTS(),
    pb.GENTRY(),
    pb.GENTRY(schedule="infinite"),
    pb.UE(),
)


def worst(strategy: pb.Strategy, steps: Steps, trials: int) -> Array:
    """Return the mean regret at each step, for the difference that is the worst by then."""
    means = [
        pb.simulate(
            ThreeArms(difference),
            strategy,
            trials=trials,
            horizon=int(steps[-1]),
            seed=0,
            checkpoints=steps,
            progress=False,
        )
        .regret[0]
        .mean(axis=0)
        for difference in DIFFERENCES
    ]
    return np.asarray(np.max(means, axis=0))


def exponent(steps: Steps, regret: Array) -> float:
    """Return b of the power law n^b that fits the worst regret from n = 1,000 on."""
    late = steps >= KNOWN[0]
    return float(np.polyfit(np.log(steps[late]), np.log(regret[late]), 1)[0])


def draw(path: Path, share: float = 1.0) -> None:
    """Play the instance up to a million steps and draw the worst regret of each strategy."""
    trials = max(2, round(16 * share))
    _, ax = plt.subplots(figsize=(5.5, 4.2), layout="constrained", dpi=150)
    curves = [(repr(s), STEPS, worst(s, STEPS, trials)) for s in STRATEGIES]
    known = [worst(pb.EIRatio(horizon=n), np.array([n]), trials)[0] for n in KNOWN]
    curves.append(("EIRatio(horizon=n)", np.array(KNOWN), np.array(known)))
    for i, (label, steps, regret) in enumerate(curves):
        b = exponent(steps, regret)
        print(f"{label}: n^{b:.2f}, {regret[-1]:,.0f} at n = {steps[-1]:,}", flush=True)
        (line,) = ax.plot(steps, regret, label=f"{label}: $n^{{{b:.2f}}}$")
        line.set(color=plots.COLOURS[i], linestyle=plots.LINES[i])
    ax.plot(STEPS, STEPS ** (2 / 3), color="0.7", linewidth=4, zorder=0, label="$n^{2/3}$")
    ax.set(xscale="log", yscale="log", xlabel="n", xlim=(STEPS[0], LONGEST))
    ax.set_ylabel(f"regret for the worst difference, mean of {trials} trials")
    ax.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    plt.savefig(path)
    plt.close()
