"""Measure which leaks an audit finds in logs of which length: `python -m benchmarks.leaks`.

A history in which the protected column was filled with its mean moves a share of its effect into a
kept feature that goes with it. The correlation sets how large that leak is, the log's length how
well it shows.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

import projbandits as pb
from projbandits.audit.leak import leak
from projbandits.audit.protected import Protected
from projbandits.ridge import Ridge

U = pb.Subspace.coordinates([0, 1], d=3)
THETA = np.array([0.5, 0.2, 1.0])
NOISE = 0.5
HISTORY = 3000


def found(moved: float, decisions: int, seed: int) -> bool:
    """Tell whether a leak of about this size is found; with none the history is honest."""
    rng = np.random.default_rng(seed)
    decider = pb.Decider(pb.GENTRY() if seed % 2 else pb.EIIDS(), subspace=U, seed=seed)
    past = films(rng, moved, HISTORY)
    rewards = past @ THETA + NOISE * rng.normal(size=HISTORY)
    if moved:
        past[:, 2] = past[:, 2].mean()
    decider.learn(past, rewards)
    log = Ridge.prior(3)
    for _ in range(decisions):
        decision = decider.ask(films(rng, moved, 8))
        reward = float(decision.arm @ THETA + NOISE * rng.normal())
        decider.tell(decision.id, reward)
        log = log.update(decision.arm, reward)
    # As the audit asks, but for what it takes from the log: the covariance of what is on offer.
    offered = films(rng, moved, HISTORY)
    spread = np.cov(offered.T)
    aim = U.project(decider.ridge.theta)
    protected = Protected.of(U, None, offered)
    return bool(leak(decider.belief(), log, protected, spread, float(aim @ spread @ aim)).found)


def films(rng: np.random.Generator, correlation: float, count: int) -> Any:
    """Return films (drama, stars, age) whose stars go with the age of the lead."""
    X = rng.normal(size=(count, 3))
    X[:, 1] = correlation * X[:, 2] + np.sqrt(1 - correlation**2) * X[:, 1]
    return X


def main(logs: int = 20) -> None:
    """Print how often leaks of several sizes are found in logs of several lengths."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    print(f"share of {logs} logs in which the leak is found (level 0.1 %), noise {NOISE}")
    print("| leak | 50 decisions | 200 | 800 |\n|---|---:|---:|---:|")
    for moved in (0.0, 0.1, 0.2, 0.4):
        shares = [np.mean([found(moved, n, seed) for seed in range(logs)]) for n in (50, 200, 800)]
        cells = [str(moved or "none"), *(f"{100 * x:.0f} %" for x in shares)]
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
