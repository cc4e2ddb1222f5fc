"""How fast raw columns become vectors, beside scikit-learn's ColumnTransformer.

Both do the same work: four numeric columns are standardised and three categories become a column
per level; or 300 numeric columns are standardised. Prints the fastest of several rounds of `fit`
and of `transform`, for tables of 100 to 100,000 rows, and the ratio; above 1, `Features` is faster.

    python -m benchmarks.features
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import projbandits as pb

NUMERIC = ["length", "budget", "stars", "year"]
CATEGORICAL = ["genre", "country", "studio"]
LEVELS = (8, 20, 60)
WIDE = 300
ROUNDS = 15


def table(rows: int) -> pd.DataFrame:
    """Return a table of films."""
    rng = np.random.default_rng(0)
    numbers = {name: rng.lognormal(3.0, 1.0, rows) for name in NUMERIC}
    levels = {
        name: rng.choice([f"{name} {i}" for i in range(size)], rows)
        for name, size in zip(CATEGORICAL, LEVELS, strict=True)
    }
    return pd.DataFrame({**numbers, **levels})


def fastest(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest round."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def wide(rows: int) -> pd.DataFrame:
    """Return a table of many numbers."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({f"x{j}": rng.lognormal(3.0, 1.0, rows) for j in range(WIDE)}).copy()


def ratios(films: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return the seconds of both, for `fit` and for `transform`."""
    levels = [name for name in CATEGORICAL if name in films]
    numbers = [str(name) for name in films if name not in levels]
    mine = pb.Features(numeric=numbers, categorical=levels, constant=False)
    theirs = ColumnTransformer(
        [
            ("numbers", StandardScaler(), numbers),
            ("levels", OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels),
        ]
    )
    found = {"fit": (fastest(lambda: mine.fit(films)), fastest(lambda: theirs.fit(films)))}
    found["transform"] = (
        fastest(lambda: mine.transform(films)),
        fastest(lambda: theirs.transform(films)),
    )
    return found


def main() -> None:
    """Print the table."""
    print("| rows | columns | work | Features | ColumnTransformer | ratio |")
    print("|---|---|---|---|---|---|")
    for make, sizes in ((table, (100, 1000, 10_000, 100_000)), (wide, (100, 1000, 10_000))):
        for rows in sizes:
            films = make(rows)
            for work, (mine, theirs) in ratios(films).items():
                shown = f"{1e3 * mine:.2f} ms | {1e3 * theirs:.2f} ms | {theirs / mine:.1f}"
                print(f"| {rows:,} | {films.shape[1]} | {work} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
