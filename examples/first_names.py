"""Recommend people by their profiles, though ratings follow gender, which is no column at all.

The profiles are first names, as text that is embedded: TF-IDF of their letters, then an SVD. No
feature is called gender, but a linear model reads it off four names in five. It is known for some
of the people; `find_subspace` finds what goes with it, and the recommender leaves that out. Run it
with a folder for its figures:

    python examples/first_names.py out
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import names
import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

import projbandits as pb
from projbandits import plots


def listed() -> tuple[list[str], np.ndarray]:
    """Return the first names that only women or only men have, in random order, and whose."""
    read = {
        gender: {
            line.split()[0]
            for line in Path(names.FILES[f"first:{gender}"]).read_text().splitlines()
        }
        for gender in ("female", "male")
    }
    both = read["female"] & read["male"]
    found = [(name, gender) for gender in read for name in sorted(read[gender] - both)]
    order = np.random.default_rng(0).permutation(len(found))
    return [found[i][0] for i in order], np.array([found[i][1] for i in order])


def embedded(texts: list[str], dimensions: int = 40) -> np.ndarray:
    """Return texts as vectors: TF-IDF of their letters, pairs and triples, and an SVD of that."""
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), min_df=5, sublinear_tf=True)
    parts = TruncatedSVD(dimensions, random_state=0).fit_transform(letters.fit_transform(texts))
    return np.asarray(StandardScaler().fit_transform(parts))


def recommend(
    decider: pb.Decider, X: np.ndarray, gender: np.ndarray, visits: int, seed: int
) -> np.ndarray:
    """Show one of thirty women and thirty men to each visitor; return whether it was a man."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1])
    men = np.empty(visits)
    for visit in range(visits):
        offer = np.concatenate(
            [rng.choice(np.flatnonzero(gender == who), 30, False) for who in ("female", "male")]
        )
        decision = decider.ask(X[offer])
        shown = offer[decision.index]
        men[visit] = gender[shown] == "male"
        liked = X[shown] @ taste + 2.0 * men[visit]  # visitors like men better, and should not
        decider.tell(decision.id, liked + rng.normal(scale=0.5))
    return men


def main(out: Path, labels: int = 3000, visits: int = 400, runs: int = 5) -> pb.Decider:
    """Recommend with everything that was learnt, and without what goes with gender."""
    out.mkdir(parents=True, exist_ok=True)
    people, gender = listed()
    X = embedded(people)
    found = pb.find_subspace(attributes=(X[:labels], gender[:labels]), items=X[labels:])
    subspaces = {
        "counts everything": pb.Subspace(np.eye(X.shape[1])),
        "leaves out what goes with gender": found.subspace,
    }
    size = (plots.COLUMN_WIDTH, 0.75 * plots.COLUMN_WIDTH)
    figure, ax = plt.subplots(figsize=size, layout="constrained", dpi=200)
    for i, (label, U) in enumerate(subspaces.items()):
        deciders = [pb.Decider(subspace=U, seed=run) for run in range(runs)]
        men = np.array([recommend(d, X, gender, visits, run) for run, d in enumerate(deciders)])
        late = men[:, visits // 2 :].mean(axis=1)
        share, low, high = pb.statistics.mean(late)
        print(f"{label}: {share:.0%} of those shown are men ({low:.0%} to {high:.0%})")
        recent = pd.Series(men.mean(axis=0)).rolling(50, min_periods=1).mean()
        ax.plot(np.arange(1, visits + 1), recent, **plots.look(i), label=label)
    ax.axhline(0.5, color="0.4", linewidth=0.8, label="share on offer")
    ax.set(xlabel="visitor", ylabel="share of men, last 50 visitors", ylim=(0, 1))
    plots.finish(ax, columns=1)
    figure.savefig(out / "first_names.png")
    print(found.report())
    return deciders[0]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
