"""When log n begins to matter: `python -m benchmarks.log_constant` draws docs/images/limits.png.

Each world of setting a has its own c(theta) log n, below which no consistent strategy stays, and
its own gap n, the regret of settling on the second best arm at once. The figure shows the median
over worlds of both, and of the regret of EIIDS and GENTRY.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import projbandits as pb
from projbandits import plots
from projbandits._validation import Array
from projbandits.simulation.streams import stream

STRATEGIES: tuple[pb.Strategy, ...] = (pb.EIIDS(), pb.GENTRY())


class Curves(NamedTuple):
    """The regret of each strategy in each world, and what it is compared with.

    Parameters
    ----------
    steps : ndarray of shape (T,)
        n.
    regret : dict of ndarray of shape (trials, T)
        By strategy.
    asymptotic, settling : ndarray of shape (trials, T)
        c(theta) log n, and gap n.
    """

    steps: NDArray[np.int64]
    regret: dict[str, Array]
    asymptotic: Array
    settling: Array


def curves(horizon: int, trials: int, seed: int = 0) -> Curves:
    """Return the curves of worlds of setting a."""
    problem = pb.problems.random_arms()
    steps = np.unique(np.geomspace(10, horizon, 41).round().astype(np.int64))
    result = pb.simulate(
        problem,
        STRATEGIES,
        trials=trials,
        horizon=horizon,
        seed=seed,
        checkpoints=steps,
        progress=False,
    )
    worlds = [problem.world(stream(seed, i, "world")) for i in range(trials)]
    c = np.array([pb.theory.asymptotic_constant(world).value for world in worlds])
    gap = np.array([pb.theory.constants(world).gap for world in worlds])
    regret = dict(zip(result.strategies, result.regret, strict=True))
    return Curves(steps, regret, c[:, None] * np.log(steps), gap[:, None] * steps)


def draw(found: Curves, path: Path) -> None:
    """Draw the medians, with the middle half of the worlds behind them."""
    figure, ax = plt.subplots(figsize=(7.6, 4.6), layout="constrained", dpi=150)
    constant = {r"$c(\theta)\,\log n$": found.asymptotic, "gap $n$": found.settling}
    plots.spread(found.steps, {**found.regret, **constant}, ax)
    figure.savefig(path)
    plots.close(figure)


def ratios(found: Curves) -> str:
    """Return the quartiles of regret over c(theta) log n at the last step, as a Markdown table."""
    lines = ["| strategy | lower quartile | median | upper quartile |", "|---|---:|---:|---:|"]
    for label, regret in found.regret.items():
        shares = np.quantile(regret[:, -1] / found.asymptotic[:, -1], [0.25, 0.5, 0.75])
        lines.append(f"| `{label}` | {' | '.join(f'{share:.2f}' for share in shares)} |")
    return "\n".join(lines)


def main() -> None:
    """Draw the figure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--horizon", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("docs/images/limits.png"))
    options = parser.parse_args()
    found = curves(options.horizon, options.trials)
    draw(found, options.out)
    print(ratios(found))


if __name__ == "__main__":
    main()
