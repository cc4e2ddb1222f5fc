"""Recommend wines from the first day on, by ratings that were given before.

A shop has old ratings, lowered by something that must not count. A decider that learns from them
first need not explore what they tell already. Run it with a folder for its figure:

    python examples/wines.py out
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import projbandits as pb
from projbandits.problems.wine import COLUMNS


def main(out: Path, days: int = 600, history: int = 1000) -> pb.Decider:
    """Recommend one of thirty wines a day, with and without the old ratings."""
    rng = np.random.default_rng(0)
    world = pb.problems.wine(arms=3000).world(rng)
    arms = [world.arms.arm(i) for i in range(3000)]
    wines = pd.DataFrame(world.arms.vectors, columns=list(COLUMNS))
    quality = np.array([world.reward(arm) for arm in arms])
    returns = np.array([world.mean_return(arm) for arm in arms])

    warm = pb.Decider(pb.GENTRY(), subspace=world.subspace, seed=0)
    warm.learn(wines[:history], returns[:history] + rng.normal(scale=0.5, size=history))
    cold = pb.Decider(pb.GENTRY(), subspace=world.subspace, seed=0)

    figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
    for label, decider in {"with history": warm, "without": cold}.items():
        rng = np.random.default_rng(1)
        got = np.zeros(days)
        for day in range(days):
            offer = wines[history:].sample(30, random_state=rng)
            decision = decider.ask(offer)
            wine = offer.index[decision.index]
            decider.tell(decision.id, returns[wine] + rng.normal(scale=0.5))
            got[day] = quality[wine]
            if day == days // 2:  # closed for the night
                decider.save(out / "wines.decider")
                decider = pb.Decider.load(out / "wines.decider")
        ax.plot(got.cumsum() / np.arange(1, days + 1), label=label)
        print(f"{label}: mean rating {got.mean():.2f}, of the first fifty {got[:50].mean():.2f}")
    ax.axhline(quality.mean(), color="0.6", linestyle=":", label="any wine")
    ax.set(xlabel="day", ylabel="mean rating so far")
    ax.legend(frameon=False)
    figure.savefig(out / "wines.png", dpi=150)
    return warm


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
