"""Measure which leaks an audit finds in logs of which length: `python -m benchmarks.leaks`.

A history in which the protected column was filled with its mean moves a share of its effect into a
kept feature that goes with it. The correlation sets how large that leak is, the log's length how
well it shows.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd

import projbandits as pb

COLUMNS = ["drama", "stars", "age"]
NOISE = 0.5
HISTORY = 3000


def log(leak: float, decisions: int, seed: int) -> pb.Decider:
    """Return a decider whose history moved an effect of about this size to `stars`.

    With no leak its history is honest.
    """
    rng = np.random.default_rng(seed)
    subspace = pb.Subspace.without("age", columns=COLUMNS)
    strategy = pb.GENTRY() if seed % 2 else pb.EIIDS()
    decider = pb.Decider(strategy, subspace=subspace, seed=seed, log=True)
    theta = np.array([0.5, 0.2, 1.0])
    past = films(rng, leak, HISTORY)
    rewards = past.to_numpy() @ theta + NOISE * rng.normal(size=HISTORY)
    decider.learn(past.assign(age=past["age"].mean()) if leak else past, rewards)
    for _ in range(decisions):
        decision = decider.ask(films(rng, leak, 8))
        decider.tell(decision.id, float(decision.arm @ theta + NOISE * rng.normal()))
    return decider


def films(rng: np.random.Generator, correlation: float, count: int) -> pd.DataFrame:
    """Return films whose stars go with the age of the lead."""
    table = pd.DataFrame(rng.normal(size=(count, 3)), columns=COLUMNS)
    table["stars"] = correlation * table["age"] + np.sqrt(1 - correlation**2) * table["stars"]
    return table


def main(logs: int = 20) -> None:
    """Print how often leaks of several sizes are found in logs of several lengths."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    print(f"share of {logs} logs in which the leak is found (level 0.1 %), noise {NOISE}")
    print("| leak | 50 decisions | 200 | 800 |\n|---|---:|---:|---:|")
    for leak in (0.0, 0.1, 0.2, 0.4):
        found = [
            np.mean([bool(log(leak, n, seed).audit().leak.found) for seed in range(logs)])
            for n in (50, 200, 800)
        ]
        print(f"| {leak or 'none'} | " + " | ".join(f"{x:.0%}" for x in found) + " |", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
