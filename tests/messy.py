"""A catalogue as catalogues are: titles, directors, dates, gaps, and a level that means nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd

GENRES = ["comedy", "drama", "documentary", "thriller", "western"]


def films(rows: int = 3200, seed: int = 0, gaps: float = 0.05) -> pd.DataFrame:
    """Return films with a title each, some hundreds of directors, and the columns of a real table.

    Numbers, categories and dates have gaps; titles and `streams` have none.
    """
    rng = np.random.default_rng(seed)
    names = rng.zipf(1.5, size=rows) % max(rows // 4, 2)
    released = np.datetime64("1960-01-01") + rng.integers(0, 23_000, size=rows)
    table = pd.DataFrame(
        {
            "title": [f"{i % 97} ways to leave no. {i}" for i in range(rows)],
            "director": [f"Director {name}" for name in names],
            "genre": rng.choice(GENRES, size=rows, p=[0.3, 0.4, 0.1, 0.15, 0.05]),
            "released": np.datetime_as_string(released, unit="D"),
            "length": rng.normal(105.0, 20.0, size=rows).round(),
            "budget": np.exp(rng.normal(15.0, 1.0, size=rows)).round(),
            "colour": rng.choice(["colour", "black and white"], size=rows),
            "streams": rng.integers(0, 2000, size=rows),
        }
    )
    for column in ("genre", "released", "length", "budget"):
        gone = rng.random(rows) < gaps
        gone[:2] = False, True
        table[column] = table[column].astype(object).where(~gone, None)
    return table.astype({"length": float, "budget": float})
