"""Clicks that come late: `python -m benchmarks.delays`.

100 items with d = 10 standardised features, 7 of which count. An item is clicked with probability
expit(b + <x, theta>), with theta in a random direction and |theta| = 0.75, the deviation of the
items' logits, and b such that 2 % of all items are clicked. All items are on offer at every
decision, through the public API, and a click is told `delay` decisions later. What is lost are
wanted clicks: with the kept part alone, w_j = expit(b + <P_U x_j, theta>), the sum of max w - w of
the item shown. Uniform choice loses 543 +- 12 in 10,000 decisions (400 worlds).

`EIIDS, open not counted` is the same strategy without the decisions whose outcome is open.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections import deque
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

import projbandits as pb
from projbandits._validation import Array
from projbandits.strategies import Choice, State

ITEMS, D, KEPT, RATE, SPREAD = 100, 10, 7, 0.02, 0.75
DELAYS = (0, 100, 1000)


class NotCounted(pb.EIIDS):
    """EIIDS by what was told alone."""

    def select(self, state: State, arms: pb.DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose as if no decision were open."""
        return super().select(state._replace(ridge=state.ridge.told), arms, rng)


STRATEGIES: dict[str, pb.LinearStrategy | None] = {
    "uniform": None,
    "ProjectedTS": pb.ProjectedTS(),
    "EIIDS, open not counted": NotCounted(),
    "EIIDS": pb.EIIDS(),
}


class World(NamedTuple):
    """The items, their chances of a click, and how many wanted clicks showing each one loses."""

    X: Array
    chances: Array
    losses: Array


class Played(NamedTuple):
    """Lost wanted clicks, and how many items were shown in the first 1,000 decisions."""

    lost: float
    shown: int


def world(seed: int, rate: float = RATE) -> World:
    """Return a world."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ITEMS, D))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    theta = rng.standard_normal(D)
    theta *= SPREAD / np.linalg.norm(theta)
    b = brentq(lambda level: float(expit(level + X @ theta).mean()) - rate, -20.0, 20.0)
    wanted = expit(b + X[:, :KEPT] @ theta[:KEPT])
    return World(X, expit(b + X @ theta), wanted.max() - wanted)


def play(strategy: pb.LinearStrategy | None, delay: int, steps: int, seed: int) -> Played:
    """Return how a strategy does in one world."""
    X, chances, losses = world(seed)
    luck = np.random.default_rng([seed, 1]).random(steps)
    if strategy is None:
        chosen = np.random.default_rng([seed, 2]).integers(0, ITEMS, min(steps, 1000))
        return Played(steps * float(losses.mean()), len(set(chosen.tolist())))
    U = pb.Subspace.coordinates(range(KEPT), d=D)
    decider = pb.Decider(strategy, subspace=U, seed=seed)
    waiting, lost, shown = deque[tuple[str, float]](), 0.0, set[int]()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="more decisions are open")
        for t in range(steps):
            decision = decider.ask(X)
            assert decision.index is not None
            lost += losses[decision.index]
            if t < 1000:
                shown.add(decision.index)
            waiting.append((decision.id, float(luck[t] < chances[decision.index])))
            if len(waiting) > delay:
                decider.tell(*waiting.popleft())
    return Played(float(lost), len(shown))


def table(worlds: int, steps: int, names: list[str] | None = None) -> str:
    """Return lost wanted clicks and items shown, by delay, as Markdown."""
    lines = [
        f"| strategy | {' | '.join(f'delay {delay:,}: lost | shown' for delay in DELAYS)} |",
        "|---|" + "---:|" * (2 * len(DELAYS)),
    ]
    for name in names or [*STRATEGIES]:
        cells = []
        for delay in DELAYS:
            played = [play(STRATEGIES[name], delay, steps, seed) for seed in range(worlds)]
            lost = np.array([each.lost for each in played])
            error = lost.std(ddof=1) / math.sqrt(worlds) if worlds > 1 else math.nan
            cells.append(f"{lost.mean():.0f} ± {error:.0f}")
            cells.append(f"{min(p.shown for p in played)} to {max(p.shown for p in played)}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10_000)
    options = parser.parse_args()
    print(f"{options.worlds} worlds, {options.steps:,} decisions; mean ± standard error.\n")
    print(table(options.worlds, options.steps))


if __name__ == "__main__":
    main()
