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

DRUGS = ("drug A", "drug B", "drug C", "painkiller")
EFFECT = np.array([0.2, 1.0, 0.7, 2.5])  # unknown to all; the painkiller heals nothing

LIMITS = pb.Polytope(
    A=np.vstack([np.eye(4), -np.eye(4), [[1.0, 1.0, 1.0, 1.0]]]),
    b=[0.5, 0.5, 0.5, 0.8, *[0.0] * 4, 1.0],  # at most this much of each, and 1 in all
)


def main(out: Path, patients: int = 300) -> pb.Decider:
    """Treat patients one after another, and learn from each ten patients later."""
    U = pb.Subspace.without("painkiller", columns=DRUGS)
    heals = U.project(EFFECT)
    best = float(LIMITS.maximize(heals) @ heals)
    deciders = {
        "decides on healing": pb.Decider(pb.GENTRY(schedule="smooth"), subspace=U, seed=0),
        "decides on feeling": pb.Decider(pb.CURSE(schedule="smooth"), subspace=U, seed=0),
    }
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
    for ax, (label, decider) in zip(axes, deciders.items(), strict=True):
        rng = np.random.default_rng(1)
        doses, waiting = [], []
        for _ in range(patients):
            waiting.append(decider.ask(LIMITS))
            doses.append(waiting[-1].arm)
            if len(waiting) > 10:
                treated = waiting.pop(0)
                decider.tell(treated.id, treated.arm @ EFFECT + rng.normal(scale=0.2))
        late = np.array(doses[patients // 2 :])
        print(f"{label}: {100 * (late @ heals).mean() / best:.0f} % of the best healing")
        mean = pd.DataFrame(doses, columns=DRUGS).rolling(20, min_periods=1).mean()
        ax.stackplot(mean.index, mean.T, labels=DRUGS)
        ax.set(title=label, xlabel="patient", ylim=(0, 1))
    axes[0].set_ylabel("dose, mean of 20 patients")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right", frameon=False)
    figure.savefig(out / "doses.png", dpi=150)
    return deciders["decides on healing"]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
