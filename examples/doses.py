"""Find the mixture of drugs that heals, though a painkiller hides how patients do.

Each patient gets a mixture of three drugs and a painkiller; doses must keep to limits, so what may
be given is a polytope. How well the patient feels comes back after ten others were treated, and it
holds the painkiller's effect too. That part must not count. Run it with a folder for its figure:

    python examples/doses.py out
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import projbandits as pb
from projbandits import plots

DRUGS = ("drug A", "drug B", "drug C", "painkiller")
EFFECT = np.array([0.2, 1.0, 0.7, 2.5])  # unknown to all; the painkiller heals nothing

LIMITS = pb.Polytope(
    A=np.vstack([np.eye(4), -np.eye(4), [[1.0, 1.0, 1.0, 1.0]]]),
    b=[0.5, 0.5, 0.5, 0.8, *[0.0] * 4, 1.0],  # at most this much of each, and 1 in all
)


def treat(decider: pb.Decider, patients: int, seed: int) -> np.ndarray:
    """Treat patients one after another, learning from each ten patients later."""
    rng = np.random.default_rng(seed)
    doses, waiting = [], []
    for _ in range(patients):
        waiting.append(decider.ask(LIMITS))
        doses.append(waiting[-1].arm)
        if len(waiting) > 10:
            treated = waiting.pop(0)
            decider.tell(treated.id, treated.arm @ EFFECT + rng.normal(scale=0.2))
    return np.array(doses)


def main(out: Path, patients: int = 300, trials: int = 10) -> pb.Decider:
    """Run the trial many times, deciding on healing and deciding on how patients feel."""
    out.mkdir(parents=True, exist_ok=True)
    U = pb.Subspace.without("painkiller", columns=DRUGS)
    heals = U.project(EFFECT)
    best = float(LIMITS.maximize(heals) @ heals)
    strategies = {
        "decides on healing": pb.GENTRY(schedule="smooth"),
        "decides on feeling": pb.CURSE(schedule="smooth"),
    }
    size = (2 * plots.COLUMN_WIDTH, 0.75 * plots.COLUMN_WIDTH)
    figure, axes = plt.subplots(1, 2, figsize=size, layout="constrained", sharey=True, dpi=200)
    deciders = []
    for ax, (label, strategy) in zip(axes, strategies.items(), strict=True):
        made = [pb.Decider(strategy, subspace=U, seed=trial) for trial in range(trials)]
        doses = np.array([treat(d, patients, trial) for trial, d in enumerate(made)])
        late = (doses[:, patients // 2 :] @ heals).mean(axis=1) / best
        share, low, high = pb.statistics.mean(late)
        print(f"{label}: {share:.0%} of the best healing ({low:.0%} to {high:.0%})")
        mean = pd.DataFrame(doses.mean(axis=0)).rolling(20, min_periods=1).mean()
        ax.stackplot(mean.index, mean.T, labels=DRUGS, colors=plots.COLOURS)
        ax.set(xlabel=f"patient ({label})", ylim=(0, 1), xlim=(0, patients - 1))
        plots.finish(ax, columns=4)
        deciders += made
    axes[0].set_ylabel(f"dose, mean of {trials} trials and 20 patients", fontsize=7.5)
    axes[1].get_legend().remove()
    figure.savefig(out / "doses.png")
    return deciders[0]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
