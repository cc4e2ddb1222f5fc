"""Clicks: the linear model against a logistic one: `python -m benchmarks.clicks`.

Items are drawn anew at each step and click with probability 1 / (1 + exp(-b - <x, theta>)), so the
logistic model is right and the linear one is not. Who decides is epsilon_t-greedy in all cases and
draws the same random numbers; only the model differs:

- linear: the ridge of `GENTRY`, with a constant feature.
- weighted: the same, each outcome weighted by 1 / (p (1 - p)) with p the linear prediction, kept
  within [0.05, 0.95].
- logistic: scikit-learn's LogisticRegression, its penalty the same in all worlds.
- oracle: the logistic model with the true theta and b, which shows what exploring alone costs.

The logistic model is fitted to all outcomes at steps 10, 12, 15, ..., each a fifth later than the
last, and the other models are updated at the same steps, so that none is ahead. Regret is in
clicks, against the best item on offer.
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.statistics import half_width

D, OFFERED, LEAST = 8, 10, 0.05
MODELS = ("linear", "weighted", "logistic", "oracle")


class World(NamedTuple):
    """How clicks depend on an item: b, the spread of <x, theta>, and how items scatter.

    Features are normal, or exponential and shifted to mean 0. Normal features are kind to a wrong
    model: whatever the link, its estimate points in the direction of theta.
    """

    intercept: float
    spread: float
    skewed: bool


WORLDS = {
    "near 0.5": World(0.0, 0.5, skewed=True),
    "near 0 and 1": World(0.0, 5.0, skewed=True),
    "near 0 and 1, normal features": World(0.0, 5.0, skewed=False),
    "rare clicks": World(-4.0, 1.0, skewed=True),
}


def chances(scores: Array) -> Array:
    """Return the logistic function."""
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


def linear(X: Array, y: Array, weights: Array) -> Array:
    """Return the weighted ridge estimate, its penalty 1 for an outcome of weight 1."""
    V = (X * weights[:, None]).T @ X + np.eye(X.shape[1])
    return np.asarray(np.linalg.solve(V, X.T @ (weights * y)), dtype=np.float64)


def logistic(X: Array, y: Array) -> Array:
    """Return the coefficients of scikit-learn's logistic regression, zeros while all y agree."""
    from sklearn.linear_model import LogisticRegression

    if y.min() == y.max():
        return np.zeros(X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # early fits need not converge to the last digit
        fitted = LogisticRegression(C=1.0, max_iter=200).fit(X[:, 1:], y)
    return np.concatenate([fitted.intercept_, fitted.coef_[0]])


def estimate(model: str, X: Array, y: Array, truth: Array) -> Array:
    """Return the direction whose inner product with an item ranks it."""
    if model == "oracle":
        return truth
    if model == "logistic":
        return logistic(X, y)
    found = linear(X, y, np.ones(len(y)))
    if model == "linear":
        return found
    p = np.clip(X @ found, LEAST, 1 - LEAST)
    return linear(X, y, 0.25 / (p * (1 - p)))


def play(model: str, world: World, horizon: int, seed: int) -> float:
    """Return the regret of one trial, in clicks."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(D)
    theta *= world.spread / np.linalg.norm(theta)
    truth = np.append(world.intercept, theta)
    X, y = np.empty((horizon, D + 1)), np.empty(horizon)
    aim, due, regret = np.zeros(D + 1), 10, 0.0
    for t in range(horizon):
        if t == due:
            aim, due = estimate(model, X[:t], y[:t], truth), math.ceil(1.2 * due)
        shape = OFFERED, D
        drawn = rng.standard_exponential(shape) - 1 if world.skewed else rng.standard_normal(shape)
        items = np.column_stack([np.ones(OFFERED), drawn])
        explores, which, luck = rng.random(3)
        chosen = int((items @ aim).argmax())
        if explores < min(1.0, 3 * D / (t + 1)):
            chosen = int(which * OFFERED)
        p = chances(items @ truth)
        X[t], y[t] = items[chosen], luck < p[chosen]
        regret += p.max() - p[chosen]
    return float(regret)


def table(trials: int, horizon: int) -> str:
    """Return the mean regret of each model in each world, as Markdown."""
    lines = [f"| world | {' | '.join(MODELS)} |", "|---|" + "---:|" * len(MODELS)]
    for name, world in WORLDS.items():
        cells = []
        for model in MODELS:
            regrets = np.array([play(model, world, horizon, seed) for seed in range(trials)])
            half = float(half_width(regrets[:, None], 0.95)[0])
            cells.append(f"{regrets.mean():.1f} ± {half:.1f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--horizon", type=int, default=5000)
    options = parser.parse_args()
    print(table(options.trials, options.horizon))


if __name__ == "__main__":
    main()
