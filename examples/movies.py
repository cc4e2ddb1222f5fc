"""Recommend movies by what viewers enjoy, not by who plays the lead.

Viewers click more often on films with a young or a male lead. Clicks are all there is to learn
from, and the lead must not count. Run it with a folder for its figure:

    python examples/movies.py out
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import projbandits as pb

PROTECTED = ["lead_is_man", "lead_age"]
ENJOYED = {"constant": 0.25, "comedy": 0.2, "drama": 0.05, "length": -0.1, "stars": 0.15}
BIAS = {"lead_is_man": 0.2, "lead_age": -0.15}
THETA = pd.Series(ENJOYED | BIAS)


def catalogue(rng: np.random.Generator, films: int) -> pd.DataFrame:
    """Make up films; those with famous leads have older ones, so stars hint at age."""
    age = rng.uniform(0, 1, size=films)
    genre = rng.integers(3, size=films)
    return pd.DataFrame(
        {
            "constant": 1.0,
            "comedy": genre == 0,
            "drama": genre == 1,
            "length": rng.uniform(0, 1, size=films),
            "stars": np.clip(0.6 * age + rng.uniform(0, 0.5, size=films), 0, 1),
            "lead_is_man": rng.integers(2, size=films),
            "lead_age": age,
        }
    ).astype(float)


def main(out: Path, viewers: int = 4000) -> pb.Decider:
    """Show each viewer one of twenty films, with and without the lead in mind."""
    films = catalogue(np.random.default_rng(0), films=300)
    U = pb.Subspace.without(PROTECTED, columns=films.columns)
    deciders = {
        "decides on the film": pb.Decider(pb.GENTRY(alpha=5.0), subspace=U, seed=0, log=True),
        "decides on clicks": pb.Decider(pb.CURSE(alpha=5.0), subspace=U, seed=0),
    }
    figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
    for label, decider in deciders.items():
        rng = np.random.default_rng(1)
        missed = np.zeros(viewers)
        for i in range(viewers):
            offer = films.sample(20, random_state=rng)
            decision = decider.ask(offer)
            clicked = rng.random() < offer.iloc[decision.index] @ THETA
            decider.tell(decision.id, clicked)
            enjoyed = offer[[*ENJOYED]] @ pd.Series(ENJOYED)
            missed[i] = enjoyed.max() - enjoyed.iloc[decision.index]
        ax.plot(missed.cumsum(), label=label)
        print(f"{label}: {missed.mean():.3f} enjoyment missed a viewer")
    ax.set(xlabel="viewers", ylabel="enjoyment missed so far")
    ax.legend(frameon=False)
    figure.savefig(out / "movies.png", dpi=150)

    decider = deciders["decides on the film"]
    print(decider.explain(decider.log()["id"].iloc[-1]).reason)
    audit = decider.audit()
    print(audit)
    audit.plot().savefig(out / "movies-audit.png", dpi=150)
    return decider


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
