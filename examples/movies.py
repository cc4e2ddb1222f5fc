"""Recommend movies by what viewers enjoy, not by who plays the lead.

Viewers click more often on films with a young or a male lead. Clicks are all there is to learn
from, and the lead must not count. Run it with a folder for its figures:

    python examples/movies.py out
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import projbandits as pb
from projbandits import plots

PROTECTED = ["lead_is_man", "lead_age"]
ENJOYED = {"constant": 0.25, "comedy": 0.2, "drama": 0.05, "length": -0.1, "stars": 0.15}
BIAS = {"lead_is_man": 0.2, "lead_age": -0.15}


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


def missed(decider: pb.Decider, films: pd.DataFrame, viewers: int, seed: int) -> np.ndarray:
    """Show each viewer one of twenty films, and return the enjoyment that each missed."""
    enjoyed = (films[[*ENJOYED]] @ pd.Series(ENJOYED)).to_numpy()
    clicks = (films @ pd.Series(ENJOYED | BIAS)).to_numpy()
    rng = np.random.default_rng(seed)
    lost = np.zeros(viewers)
    for i in range(viewers):
        offered = rng.choice(len(films), size=20, replace=False)
        decision = decider.ask(films.iloc[offered])
        shown = offered[decision.index]
        decider.tell(decision.id, rng.random() < clicks[shown])
        lost[i] = enjoyed[offered].max() - enjoyed[shown]
    return lost


def main(out: Path, viewers: int = 2000, runs: int = 8) -> pb.Decider:
    """Recommend with and without the lead in mind, and audit a decider that must not."""
    out.mkdir(parents=True, exist_ok=True)
    films = catalogue(np.random.default_rng(0), films=300)
    U = pb.Subspace.without(PROTECTED, columns=films.columns)
    strategies = {
        "decides on the film": pb.GENTRY(alpha=5.0),
        "decides on clicks": pb.CURSE(alpha=5.0),
    }
    curves = {}
    for label, strategy in strategies.items():
        deciders = [pb.Decider(strategy, subspace=U, seed=run) for run in range(runs)]
        lost = np.array([missed(d, films, viewers, run) for run, d in enumerate(deciders)])
        curves[label] = lost.cumsum(axis=1)
        print(f"{label}: {lost.mean():.3f} enjoyment missed a viewer")
    ax = plots.runs(curves)
    ax.set(
        xlabel=ax.get_xlabel().replace("step", "viewers"),
        ylabel="enjoyment missed so far",
        ylim=(0, None),
    )
    ax.figure.savefig(out / "movies.png")

    logged = pb.Decider(strategies["decides on the film"], subspace=U, seed=0)
    missed(logged, films, viewers, seed=0)
    print(logged.explain(logged.log()["id"].iloc[-1]).reason)
    audit = logged.audit()
    print(audit)
    audit.plot().savefig(out / "movies-audit.png")
    return logged


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
