"""Outcomes of about 7 and no column of ones: `python -m benchmarks.level`.

40 films with three columns of numbers from 0 to 1, one of which is protected, are all on offer at
each of 2,000 decisions. A rating is 7 + 0.5 drama - 0.8 stars + age and noise of 0.5. What is lost
is the wanted part, 0.5 drama - 0.8 stars, against the best film.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb

EFFECTS = np.array([0.5, -0.8, 1.0])


def lost(seed: int, steps: int, level: float, ones: bool = False, **options: Any) -> float:
    """Return what the default decider loses; `ones` adds a kept column of ones."""
    rng = np.random.default_rng(seed)
    films = pd.DataFrame(rng.random((40, 3)), columns=["drama", "stars", "age"])
    wanted = films.to_numpy()[:, :2] @ EFFECTS[:2]
    returns = level + films.to_numpy() @ EFFECTS
    if ones:
        films.insert(0, "ones", 1.0)
    U = pb.Subspace.without("age", columns=films.columns)
    decider, total = pb.Decider(subspace=U, seed=seed, **options), 0.0
    for _ in range(steps):
        decision = decider.ask(films)
        assert decision.index is not None
        total += wanted.max() - wanted[decision.index]
        decider.tell(decision, float(returns[decision.index] + 0.5 * rng.normal()))
    return total


def at_random(seed: int, steps: int) -> float:
    """Return what random choice loses."""
    films = np.random.default_rng(seed).random((40, 3))
    wanted = films[:, :2] @ EFFECTS[:2]
    return steps * float(wanted.max() - wanted.mean())


def table(worlds: int, steps: int) -> str:
    """Return the losses as Markdown."""
    rows = {
        "random choice": [at_random(seed, steps) for seed in range(worlds)],
        "intercept=False": [lost(s, steps, 7.0, intercept=False) for s in range(worlds)],
        "intercept=False, a column of ones": [
            lost(s, steps, 7.0, ones=True, intercept=False) for s in range(worlds)
        ],
        "intercept=True (the default)": [lost(s, steps, 7.0) for s in range(worlds)],
        "the same, outcomes of about 0": [lost(s, steps, 0.0) for s in range(worlds)],
    }
    lines = ["| | lost |", "|---|---:|"]
    for name, found in rows.items():
        error = np.std(found, ddof=1) / math.sqrt(worlds) if worlds > 1 else math.nan
        lines.append(f"| {name} | {np.mean(found):.0f} ± {error:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    print(f"{options.worlds} worlds, {options.steps:,} decisions; mean ± standard error.\n")
    print(table(options.worlds, options.steps))


if __name__ == "__main__":
    main()
