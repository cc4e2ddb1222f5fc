"""The event engine: exact simulation that visits only the steps that decide something.

It serves epsilon_t-greedy strategies on finitely many arms with Gaussian noise. Within a stretch of
one arm everything believed moves along one line, so the stretch is drawn at once; see
docs/event-engine.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits import schedules
from projbandits._checks import Array
from projbandits.arms import FiniteArms
from projbandits.problems import Gaussian, World
from projbandits.problems.base import are_best
from projbandits.results import FOUND_BEST_SHARE, FOUND_BEST_WINDOW
from projbandits.simulation import compiled
from projbandits.simulation.records import Record
from projbandits.simulation.streams import key, stream
from projbandits.strategies import Strategy
from projbandits.strategies.greedy import EpsilonGreedy, epsilons

CHECKED_STEPS = 1_000_000
"""A user's schedule is checked at every step up to here, beyond only where it is asked."""


class Trace(NamedTuple):
    """What trials came to: each arm's pulls and their total return, and the belief at the end."""

    pulls: NDArray[np.int64]
    totals: Array
    inverse: Array
    theta: Array


def why_not(world: World, strategy: Strategy) -> str | None:
    """Return why the event engine cannot serve, or None if it can."""
    if not isinstance(strategy, EpsilonGreedy):
        return f"{type(strategy).__name__} is not epsilon_t-greedy"
    if type(strategy).compiled_rule is not EpsilonGreedy.compiled_rule:
        return f"{type(strategy).__name__} has its own compiled_rule"
    if (reason := compiled.why_not(world, strategy)) is not None:
        return reason
    if strategy.arm_effects is not None:
        return "arm effects need every step"
    return why_not_here(world, strategy)


def why_not_here(world: World, strategy: EpsilonGreedy) -> str | None:
    """Return why it cannot serve in this world, where it can in another of the same problem."""
    if (reason := compiled.why_not_here(world, strategy)) is not None:
        return reason
    if type(world.arms) is not FiniteArms:
        return f"it needs finitely many arms, got {type(world.arms).__name__}"
    if type(world.noise) is not Gaussian:
        return f"it needs Gaussian noise, got {world.noise!r}"
    if not world.arms.basis_rows(strategy.basis):
        return "it needs an arm that is not zero"
    return None


def run(
    batch: dict[int, World],
    strategy: EpsilonGreedy,
    checkpoints: NDArray[np.int64],
    horizon: int,
    seed: int,
    stop: NDArray[np.uint8],
) -> tuple[list[Record], Trace]:
    """Return what one strategy did in the worlds of some trials, and what it believed at the end.

    The worlds are of one shape: one call of the kernel plays them all, and other threads go on
    meanwhile. If one of them raises the flag `stop`, it ends soon and what it returns means
    nothing.
    """
    from projbandits.simulation.kernels.events import events

    worlds = batch.values()
    arms = [world.arms for world in worlds if isinstance(world.arms, FiniteArms)]
    whole = np.array([a.vectors for a in arms])
    projected = whole @ np.array([world.subspace.matrix for world in worlds])
    basis = np.array([a.basis_rows(strategy.basis) for a in arms])
    means = np.array([world.arm_returns for world in worlds])
    rewards = np.array([world.arm_rewards for world in worlds])
    (n, K, d), k = whole.shape, basis.shape[1]
    epsilon = strategy.epsilon_for(k, finite=True)
    if not isinstance(epsilon, schedules.Power):
        # Thinning asks for few of the values; the others must be sound for it to be exact.
        epsilons(strategy, k, K, min(horizon, CHECKED_STEPS))
    scale, exponent, drawn = _schedule(epsilon, horizon, seed, batch, stop)
    steps, at, ends, before, lengths = _questions(checkpoints.tobytes(), horizon)
    out = np.zeros((n, 3, len(steps)))  # not empty: numbers even where it is cut short
    trace = Trace(
        np.empty((n, K), np.int64), np.empty((n, K)), np.empty((n, d, d)), np.empty((n, d))
    )
    events(
        strategy.ridge,
        whole if strategy.learns_on == "arm" else projected,
        np.array((whole if strategy.aims_at == "return" else projected).swapaxes(1, 2), order="C"),
        basis,
        scale,
        exponent,
        drawn,
        means,
        rewards.max(axis=1, keepdims=True) - rewards,
        means.max(axis=1, keepdims=True) - means,
        are_best(rewards),
        np.array([world.noise.scale for world in worlds]),
        key(seed),
        np.array(list(batch)),
        steps,
        stop,
        out,
        *trace,
    )
    plays = np.concatenate([np.zeros((n, 1)), out[:, 2]], axis=1)
    shares = (plays[:, ends] - plays[:, before]) / lengths
    regret, return_regret = out[:, 0, at], out[:, 1, at]
    found = (shares[:, -1] > FOUND_BEST_SHARE).tolist()
    records = [
        Record(*one) for one in zip(regret, return_regret, shares[:, :-1], found, strict=True)
    ]
    return records, trace


@lru_cache(maxsize=16)
def _questions(checkpoints: bytes, horizon: int) -> tuple[NDArray[np.int64], ...]:
    """Return the steps to ask the kernel about, and where to find the answers.

    They are the checkpoints, the horizon, and where the window before each of them begins. The
    counts at the ends and before the windows are looked up in the counts with a 0 put in front.
    """
    asked = np.frombuffer(checkpoints, dtype=np.int64)
    last = np.append(asked, horizon)
    first = np.maximum(last - FOUND_BEST_WINDOW, 0)
    steps = np.unique(np.concatenate([last, first[first > 0]]))
    ends = np.searchsorted(steps, last) + 1
    return (
        steps,
        np.searchsorted(steps, asked),
        ends,
        np.searchsorted(steps, first, "right"),
        last - first,
    )


def _schedule(
    epsilon: schedules.Epsilon,
    horizon: int,
    seed: int,
    trials: Collection[int],
    stop: NDArray[np.uint8],
) -> tuple[float, float, NDArray[np.int64]]:
    """Return a named schedule as numbers, or the exploring steps of another, a row a trial."""
    if isinstance(epsilon, schedules.Power):
        return epsilon.alpha * epsilon.k, epsilon.exponent, np.empty((len(trials), 0), np.int64)
    rows = [_exploring_steps(epsilon, horizon, stream(seed, i, "strategy"), stop) for i in trials]
    drawn = np.full((len(rows), max(map(len, rows))), horizon + 1)
    for row, steps in zip(drawn, rows, strict=True):
        row[: len(steps)] = steps
    return 0.0, -1.0, drawn


def _exploring_steps(
    epsilon: schedules.Epsilon, horizon: int, rng: np.random.Generator, stop: NDArray[np.uint8]
) -> list[int]:
    """Return the steps that explore, by thinning, which is exact if later epsilons are no larger.

    Raises
    ------
    ValueError
        If the epsilon where a jump lands, or at the horizon beyond it, is larger than where it
        began.
    """
    steps = []
    t = 1
    while t <= horizon and not stop[0]:
        start, bound = t, epsilon(t)
        if bound == 0.0:
            t = horizon + 1
        elif bound < 1.0:
            t += math.floor(min(math.log(1.0 - rng.random()) / math.log1p(-bound), horizon))
        asked = min(t, horizon)
        there = epsilon(asked)
        if there > bound:
            raise ValueError(
                f"schedule must not increase, got {bound} at step {start} and {there} at step "
                f"{asked}"
            )
        if t <= horizon and rng.random() * bound < there:
            steps.append(t)
        t += 1
    return steps
