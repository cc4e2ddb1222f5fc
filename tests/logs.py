"""Logs whose truth is known, and how they are replayed step by step."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb
from projbandits.evaluation.estimators import ON_MODEL
from projbandits.strategies.open import OpenRows
from tests import naive

U = pb.Subspace.coordinates([0, 1], d=3)
THETA = np.array([1.0, -0.5, 2.0])
NOISE = 0.3


def often(t: int) -> float:
    return 0.6


def always(t: int) -> float:
    return 1.0


def logged(
    seed: int, steps: int = 150, late: int = 0, offer: Callable[..., Any] | None = None
) -> pd.DataFrame:
    """The log of a strategy that explores often, told with a delay."""
    rng = np.random.default_rng(seed)
    decider = pb.Decider(pb.GENTRY(schedule=often), subspace=U, seed=seed, intercept=False)
    waiting = []
    for _ in range(steps):
        X = rng.normal(size=(6, 3)) if offer is None else offer(rng)
        waiting.append(decider.ask(X))
        if len(waiting) > late:
            decision = waiting.pop(0)
            decider.tell(decision.id, float(decision.arm @ THETA + NOISE * rng.normal()))
    return decider.log()


def estimates(replay: Any) -> dict[str, dict[str, float]]:
    """Those of the projection value, which rest on the linear model."""
    found = replay.estimates()
    return {name: found.loc[name].to_dict() for name in ON_MODEL}


def naive_replay(log: pd.DataFrame, strategy: Any) -> naive.Array:
    """m_t of a strategy that learns from the log, each belief made anew from what was told."""
    means = []
    rows = log.to_dict("records")
    for row in rows:
        if row["outcome_position"] < 0:
            continue
        state = strategy.init(pb.FiniteArms(np.eye(3)), U)
        for other in rows:
            if 0 <= other["outcome_position"] < row["step"]:
                x = np.array([other[f"x[{j}]"] for j in range(3)])
                state = strategy.update(state, pb.Arm(x), other["outcome"])
        waiting = [
            [1.0, *(other[f"x[{j}]"] for j in range(3))]
            for other in rows
            if other["step"] < row["step"] and not 0 <= other["outcome_position"] < row["step"]
        ]
        if waiting:
            counted = OpenRows(np.array(waiting), partial(strategy.learnt, state))
            state = state._replace(ridge=state.ridge.counting(counted))
        state = state._replace(step=row["step"])
        arms = pb.FiniteArms(np.asarray(row["offered"]).reshape(-1, 3))
        rng, seen = np.random.default_rng(0), dict[int, float]()
        while sum(seen.values()) < 1 - 1e-9:
            choice = strategy.select(state, arms, rng)
            seen[choice.index] = choice.probability
        means.append(sum(p * U.matrix @ arms.vectors[i] for i, p in seen.items()))
    return np.array(means)


FIXED = np.random.default_rng(7).normal(size=(8, 3))


def named(columns: list[str], steps: int = 30) -> pb.Decider:
    """A decider of tables with these columns, by whose names what is offered is drawn."""
    subspace = pb.Subspace.without("race", columns=columns)
    decider = pb.Decider(pb.GENTRY(schedule=often), subspace=subspace, seed=0, intercept=False)
    rng = np.random.default_rng(0)
    for _ in range(steps):
        X = pd.DataFrame(rng.normal(size=(6, 3)), columns=["a", "b", "race"])
        decider.tell(decider.ask(X).id, float(rng.normal()))
    return decider


def worker(strategy: Any, seed: int) -> pb.Decider:
    """A decider with a history, which decides and is told with a delay."""
    rng = np.random.default_rng(seed)
    decider = pb.Decider(strategy, subspace=U, seed=seed, intercept=False)
    X = rng.normal(size=(50, 3))
    decider.learn(X, X @ THETA + NOISE * rng.normal(size=50))
    play(decider, rng)
    return decider


def play(decider: pb.Decider, rng: np.random.Generator) -> None:
    for t in range(20):
        decider.ask(rng.normal(size=(6, 3)))
        if t % 3:
            first = decider.pending[0]
            decider.tell(first.id, float(first.arm @ THETA + NOISE * rng.normal()))


def means(log: pd.DataFrame) -> naive.Array:
    """m_t of the strategy that decided, from the logged probabilities."""
    known = log[log["outcome_position"] >= 0]
    pairs = zip(known["offered"], known["probabilities"], strict=True)
    return np.array([U.matrix @ (p @ x.reshape(-1, 3)) for x, p in pairs])
