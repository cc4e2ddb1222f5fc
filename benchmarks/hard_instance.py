"""The three-arm instance on which no strategy beats n^(2/3), and the regret of each on it.

U is the plane of the first two coordinates; the arms are (1, 0, 1), (0, 1, -1) and (-1, -1, 1).
theta is (1 + e, 1 - e, -e) / 2 or (1 - e, 1 + e, e) / 2, by the toss of a coin. In both the first
two arms return 1/2, so they do not tell which of them is better by e; only the third does, and it
costs more than 3/2. With e near n^(-1/3) both ignorance and asking cost n^(2/3).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import projbandits as pb
from benchmarks.kept import Kept
from projbandits import plots, statistics
from projbandits._validation import Array
from projbandits.problems import World

ARMS = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
Steps = NDArray[np.int64]
DIFFERENCES = tuple(0.5**i for i in range(8))
LONGEST = 10**6
STEPS = np.unique(np.geomspace(10, LONGEST, 31).round().astype(np.int64))
KNOWN = (1000, 10_000, 100_000, LONGEST)
"""The horizons of the strategy that has to know it."""
TRIALS = 40
RESAMPLES = 500
ENDS = (0.025, 0.975)


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
    pb.DirectedIDS(radius="published"),
    pb.GENTRY(schedule="infinite"),
    pb.GENTRY(),
    pb.ProjectedTS(),
    pb.ProjectedUE(),
    pb.REGRET(),
    pb.CURSE(),
    pb.UE(),
)


class Curve(NamedTuple):
    """The mean regret at each n for the difference that is the worst by then."""

    label: str
    steps: Steps
    regret: Array
    resampled: Array

    @property
    def exponent(self) -> statistics.Estimate:
        """The power of n that fits from n = 1,000 on."""
        late = self.steps >= KNOWN[0]

        def slope(regret: Array) -> Array:
            x = np.log(self.steps[late])
            return np.asarray(np.polyfit(x, np.log(regret[..., late]).T, 1)[0])

        low, high = np.quantile(slope(self.resampled), ENDS)
        return statistics.Estimate(float(slope(self.regret)), float(low), float(high))


def regrets(strategy: pb.Strategy, steps: Steps, trials: int, kept: Kept) -> Array:
    """Return the regret of each trial for each difference, at each step."""
    size: dict[str, Any] = {
        "trials": trials,
        "horizon": int(steps[-1]),
        "seed": 0,
        "checkpoints": steps.tolist(),
    }

    def regret(problem: ThreeArms) -> Array:
        def measure() -> dict[str, Any]:
            result = pb.simulate(problem, strategy, progress=False, **size)
            return {"regret": result.regret[0].tolist()}

        return np.array(kept.get(problem, strategy, size, measure)["regret"])

    return np.stack([regret(ThreeArms(difference)) for difference in DIFFERENCES], axis=1)


def curve(label: str, steps: Steps, regret: Array) -> Curve:
    """Return the worst of the means, and that of the means over resampled trials."""
    n = len(regret)
    draws = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
    means = np.tensordot(draws, regret, axes=1)
    return Curve(label, steps, regret.mean(axis=0).max(axis=0), means.max(axis=1))


def draw(folder: Path, share: float, kept: Kept) -> str:
    """Play the instance up to a million steps, draw the worst regret of each strategy.

    Returns
    -------
    str
        The exponents as a Markdown table.
    """
    trials = max(2, round(TRIALS * share))
    curves = [curve(repr(s), STEPS, regrets(s, STEPS, trials, kept)) for s in STRATEGIES]
    known = [regrets(pb.EIRatio(horizon=n), np.array([n]), trials, kept) for n in KNOWN]
    curves.insert(1, curve("EIRatio(horizon=n)", np.array(KNOWN), np.concatenate(known, axis=2)))
    _, ax = plt.subplots(figsize=(7.6, 4.6), layout="constrained", dpi=150)
    lines = ["| strategy | exponent (95 %) | regret at n = 10^6 |", "|---|---:|---:|"]
    for i, found in enumerate(curves):
        b, low, high = found.exponent
        look = plots.look(i)
        (line,) = ax.plot(found.steps, found.regret, label=f"{found.label}: $n^{{{b:.2f}}}$")
        line.set(**look, marker="o" if len(found.steps) < 10 else "")
        ends = np.quantile(found.resampled, ENDS, axis=0)
        ax.fill_between(found.steps, *ends, color=look["color"], alpha=0.15, linewidth=0)
        lines.append(
            f"| `{found.label}` | {b:.2f} ({low:.2f} to {high:.2f}) | {found.regret[-1]:,.0f} |"
        )
    ax.plot(STEPS, 0.2 * STEPS ** (2 / 3), color="0.75", linewidth=4, label="slope of $n^{2/3}$")
    ax.set(xscale="log", yscale="log", xlabel="steps n", xlim=(STEPS[0], LONGEST))
    ax.set_ylabel("projection regret after n steps, worst difference")
    ax.set_title(f"Three arms: mean of {trials} trials, 95 % intervals", fontsize=10)
    ax.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    folder.mkdir(parents=True, exist_ok=True)
    plt.savefig(folder / "hard-instance.png")
    plt.close()
    print("\n".join(lines), flush=True)
    return "\n".join(lines)
