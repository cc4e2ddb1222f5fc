"""Recommend wines from the first day on, by ratings that were given before.

A shop has old ratings, lowered by something that must not count. A decider that learns from them
first starts with what they tell: the default strategy explores where its belief is uncertain, and
after a thousand ratings little is. (GENTRY would explore as if it knew nothing: its epsilon goes by
the number of decisions, and history is none.) Run it with a folder for its figure:

    python examples/wines.py out
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import projbandits as pb
from projbandits import plots
from projbandits.problems.wine import WINE_COLUMNS

WORLD = pb.problems.wine(arms=3000).world(np.random.default_rng(0))
ARMS = [WORLD.arms.arm(i) for i in range(3000)]
WINES = pd.DataFrame(WORLD.arms.vectors, columns=list(WINE_COLUMNS))
QUALITY = np.array([WORLD.reward(arm) for arm in ARMS])
RATINGS = np.array([WORLD.mean_return(arm) for arm in ARMS])


def recommend(decider: pb.Decider, days: int, file: Path, rng: np.random.Generator) -> np.ndarray:
    """Recommend one of thirty wines a day, and return how good they were."""
    got = np.zeros(days)
    for day in range(days):
        offered = rng.choice(np.arange(1000, 3000), size=30, replace=False)
        decision = decider.ask(WINES.iloc[offered])
        wine = offered[decision.index]
        decider.tell(decision.id, RATINGS[wine] + rng.normal(scale=0.5))
        got[day] = QUALITY[wine]
        if day == days // 2:  # closed for the night
            decider.save(file)
            decider = pb.Decider.load(file)
    return got


def main(out: Path, days: int = 200, history: int = 1000, runs: int = 30) -> pb.Decider:
    """Recommend with and without old ratings of other wines."""
    out.mkdir(parents=True, exist_ok=True)
    curves = {}
    for label, known in {"without history": 0, f"with {history} old ratings": history}.items():
        got = np.zeros((runs, days))
        for run in range(runs):
            rng = np.random.default_rng(run)
            decider = pb.Decider(subspace=WORLD.subspace, seed=run)
            rated = rng.integers(1000, size=known)
            decider.learn(
                WINES.iloc[rated], RATINGS[rated] + rng.normal(scale=0.5, size=known)
            )  # fmt: skip
            got[run] = recommend(decider, days, out / "wines.decider", rng)
        curves[label] = pd.DataFrame(got.T).rolling(20, min_periods=10).mean().to_numpy().T
        print(f"{label}: mean quality {got.mean():.2f}, first twenty days {got[:, :20].mean():.2f}")
    ax = plots.runs(curves)
    ax.axhline(QUALITY.mean(), color="0.6", linestyle=":", label="any wine")
    ax.set(
        xlabel=ax.get_xlabel().replace("step", "day"),
        ylabel="quality, mean of 20 days",
    )
    plots.finish(ax)
    ax.figure.savefig(out / "wines.png")
    return decider


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
