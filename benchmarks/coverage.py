"""How often the intervals of `replay` hold the truth: `python -m benchmarks.coverage [logs]`.

First fixed policies on logs of fixed policies (`pb.Log`): twenty arms in eight dimensions whose
returns are linear, those with effects of their own (standard deviation 0.5 and 0.2), and clicks of
0 and 1 with and without such effects (`--tables`: these alone). Then strategies on logs of
deciders: eight arms in three dimensions and clicks on ten arms in four, each with and without
effects, and twenty arms in eight dimensions. Their arms stay the same at every step, so that
strategies narrow down to few of them (`--deciders`: these alone).

In each world the return value, the projection value, and the difference of two policies in each.
Where some intervals are marked (NOT TO BE TRUSTED, or not tested), the share of the others follows
in brackets, if they are at least twenty. The last column is how often `lack_of_fit` warns. A share
near 95 % has a standard error of 2 % for 100 logs, and of 0.9 % for 600.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import projbandits as pb
from projbandits.evaluation.estimators import ESTIMATE_NAMES, NOT_TESTED

ROWS, NOISE, KEPT = 2000, 0.5, 4
TABLES: dict[str, tuple[float, bool]] = {
    "linear": (0.0, False),
    "effects of sd 0.5": (0.5, False),
    "effects of sd 0.2": (0.2, False),
    "clicks": (0.0, True),
    "clicks with effects of sd 0.05": (0.05, True),
}
"""The standard deviation of the arms' own effects, and whether returns are clicks."""
WHAT = ("return", "projection")

WORLDS: dict[str, tuple[Any, int, list[float], int, float]] = {
    "three": (np.random.default_rng(7).normal(size=(8, 3)), 2, [1, 0.5, 2], 100, 0.0),
    "three, effects of sd 0.5": (
        np.random.default_rng(7).normal(size=(8, 3)), 2, [1, 0.5, 2], 100, 0.5
    ),
    "eight": (
        np.random.default_rng(5).normal(size=(20, 8)), 4, [0.3, 0.2, 0.1, 0, 1, 1, -1, 1], 60, 0.0
    ),
    "clicks": (np.random.default_rng(5).uniform(0, 0.4, (10, 4)), 2, [0.8, 0.2, 1, 0.5], 100, 0.0),
    "clicks, effects of sd 0.05": (
        np.random.default_rng(5).uniform(0, 0.4, (10, 4)), 2, [0.8, 0.2, 1, 0.5], 100, 0.05
    ),
}  # fmt: skip
"""Arms, how many features count, theta, decisions, and the sd of effects."""
DECIDED = (pb.GENTRY(), pb.REGRET(), pb.ProjectedUE(), pb.EIIDS())
JUDGED = (pb.CURSE(), pb.GENTRY(), pb.EIIDS())


class Shares:
    """How often each interval holds, of those that have one, and of those that are not marked."""

    def __init__(self) -> None:
        self.held: dict[str, list[tuple[bool, bool]]] = {name: [] for name in ESTIMATE_NAMES}
        self.warned: list[bool] = []

    def add(self, found: Any, truth: float, warned: bool) -> None:
        """Count the intervals of one table."""
        for name, row in found.iterrows():
            marked = any(mark in row["note"] for mark in ("NOT TO BE TRUSTED", NOT_TESTED))
            if np.isfinite(row["low"]):
                self.held[str(name)].append((bool(row["low"] <= truth <= row["high"]), marked))
        self.warned.append(warned)

    def __str__(self) -> str:
        cells = [_share(held) for held in self.held.values()]
        cells.append(f"{np.mean(self.warned):.0%}")
        return f"{' | '.join(cells)} |"


def _share(held: list[tuple[bool, bool]]) -> str:
    """Return how many intervals hold; if some are marked, also how many of the others."""
    if not held:
        return ""
    text = f"{np.mean([each for each, _ in held]):.1%}"
    rest = [each for each, marked in held if not marked]
    if len(rest) == len(held):
        return text
    return f"{text} ({f'{np.mean(rest):.1%}' if len(rest) >= 20 else 'all marked'})"


def show(rows: Iterable[tuple[str, dict[str, Shares]]]) -> None:
    """Print a table."""
    print(f"| world, log of | what | {' | '.join(ESTIMATE_NAMES)} | warned |")
    print("|---" * (len(ESTIMATE_NAMES) + 3) + "|")
    for name, shares in rows:
        for what, share in shares.items():
            print(f"| {name} | {what} | {share}", flush=True)


def counted(results: Callable[[str], tuple[Any, Any]], truths: dict[str, Any], to: Any) -> None:
    """Judge two policies for each value, and count their intervals and those of the difference."""
    for what in WHAT:
        one, other = results(what)
        warned = one.lack_of_fit().holds is False
        to.setdefault(what, Shares()).add(one.estimates(), truths[what][0], warned)
        away = truths[what][0] - truths[what][1]
        to.setdefault(f"{what}, difference", Shares()).add(one.versus(other), away, warned)


def tables(logs: int) -> Iterable[tuple[str, dict[str, Shares]]]:
    """Yield the shares of fixed policies on tables."""
    for world, (tau, clicks) in TABLES.items():
        for logged in ("uniform", "uneven"):
            shares: dict[str, Shares] = {}
            for seed in range(logs):
                counted(*_table(tau, clicks, logged == "uneven", seed), shares)
            yield f"{world}, {logged}", shares


def _table(tau: float, clicks: bool, uneven: bool, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return how to judge two policies on a log with arms and effects of its own, and the truth."""
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(20, 8))
    arms[:, 0] = 1.0
    theta = np.append(0.0, rng.normal(size=7))
    if clicks:
        theta *= 0.3 / np.abs(arms @ theta).max()
        theta[0] = 0.5
    means = arms @ theta + tau * rng.normal(size=20)
    if clicks:
        means = means.clip(0.02, 0.98)
    p = rng.dirichlet(3 * np.ones(20)).clip(0.01) if uneven else np.ones(20)
    p /= p.sum()
    chances = rng.dirichlet(np.ones(20), size=2)
    action = rng.choice(20, size=ROWS, p=p)
    if clicks:
        returns = (rng.random(ROWS) < means[action]).astype(np.float64)
    else:
        returns = means[action] + NOISE * rng.normal(size=ROWS)
    table = {"arm": action, "p": p[action], "reward": returns}
    log = pb.Log.from_table(table, arms, action="arm", propensity="p", outcome="reward")
    U = pb.Subspace.coordinates(range(KEPT), d=8)

    def results(what: str) -> tuple[Any, Any]:
        one, other = (
            pb.replay(log, lambda arms, context, pi=pi: pi, value=what, subspace=U)
            for pi in chances
        )
        return one, other

    return results, {
        "return": chances @ means,
        "projection": chances @ arms[:, :KEPT] @ theta[:KEPT],
    }


def deciders(logs: int) -> Iterable[tuple[str, dict[str, Shares]]]:
    """Yield the shares of strategies on logs of deciders; all that are judged together."""
    for world in WORLDS:
        for strategy in DECIDED:
            shares: dict[str, Shares] = {}
            for seed in range(logs):
                _decided(strategy, world, seed, shares)
            yield f"{world}, {type(strategy).__name__}", shares


def _decided(strategy: Any, world: str, seed: int, shares: dict[str, Shares]) -> None:
    """Count the intervals of all that are judged on one log of a strategy."""
    arms, kept, theta, steps, tau = WORLDS[world]
    rng = np.random.default_rng(seed + 1000)
    means = arms @ theta + tau * rng.normal(size=len(arms))
    clicks = world.startswith("clicks")
    if clicks:
        means = means.clip(0.02, 0.98)
    U = pb.Subspace.coordinates(range(kept), d=arms.shape[1])
    decider = pb.Decider(strategy, subspace=U, seed=seed)
    for _ in range(steps):
        decision = decider.ask(arms)
        mean = float(means[decision.index])
        noisy = float(rng.random() < mean) if clicks else mean + float(rng.normal())
        decider.tell(decision.id, noisy)
    table = decider.log()
    judged = {what: [pb.replay(table, one, value=what) for one in JUDGED] for what in WHAT}
    for one, other in ((0, 1), (1, 2), (2, 0)):
        truths = {
            "return": [float(judged["return"][i].shares[: len(arms)] @ means[_order(arms, table)])
                       for i in (one, other)],
            # The level comes first, and counts for no projection.
            "projection": [float((judged["projection"][i].features[:, 1:] @ theta).mean())
                           for i in (one, other)],
        }  # fmt: skip
        counted(lambda what: (judged[what][one], judged[what][other]), truths, shares)  # noqa: B023


def _order(arms: Any, table: Any) -> Any:
    """Return the arms in the order in which the log offers them."""
    offered = np.asarray(table["offered"][0], dtype=np.float64).reshape(-1, arms.shape[1])
    return [int((arms == row).all(axis=1).argmax()) for row in offered]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    if "--deciders" not in sys.argv:
        show(tables(numbers[0] if numbers else 1000))
    if "--tables" not in sys.argv:
        show(deciders(numbers[-1] if numbers else 100))
