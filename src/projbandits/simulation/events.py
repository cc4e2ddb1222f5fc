"""The event engine: exact simulation that visits only the steps that decide something.

It serves epsilon_t-greedy strategies on finitely many arms with Gaussian noise. While one arm is
pulled the belief moves along a line, so the whole stretch is drawn at once; see
docs/event-engine.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits import schedules
from projbandits._checks import Array
from projbandits.arms import FiniteArms
from projbandits.problems import Gaussian, World
from projbandits.problems.base import are_best
from projbandits.simulation import compiled
from projbandits.simulation.arrays import FiniteWorld
from projbandits.simulation.streams import key, stream
from projbandits.strategies import Strategy
from projbandits.strategies.greedy import EpsilonGreedy
from projbandits.strategies.rule import over_steps

CHECKED_STEPS = 1_000_000
"""A user's schedule is checked at every step up to this one, and beyond it where it is used."""


class Trace(NamedTuple):
    """How trials ended: each arm's pulls and their total return, and the final belief."""

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
    """Return why it cannot serve this world, though it may serve others of the problem, or None."""
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
    steps: NDArray[np.int64],
    seed: int,
    stop: NDArray[np.uint8],
) -> tuple[Array, Trace]:
    """Return regrets and best plays of one strategy in the worlds of some trials, and the trace.

    The worlds are of one shape: one call of the kernel plays them all, and other threads go on
    meanwhile. If one of them raises the flag `stop`, it ends early and what it returns is
    meaningless.
    """
    from projbandits.simulation.kernels.event_loop import events

    worlds, horizon = batch.values(), int(steps[-1])
    arms = [world.arms for world in worlds if isinstance(world.arms, FiniteArms)]
    whole = np.array([a.vectors for a in arms])
    projected = whole @ np.array([world.subspace.matrix for world in worlds])
    basis = np.array([a.basis_rows(strategy.basis) for a in arms])
    means = np.array([world.arm_returns for world in worlds])
    rewards = np.array([world.arm_rewards for world in worlds])
    (n, K, d), k = whole.shape, basis.shape[1]
    epsilon = strategy.epsilon_for(k, finite=True)
    if not isinstance(epsilon, schedules.Power):
        # Thinning uses few of the values, but is exact only if the others are sound too.
        over_steps(strategy.epsilon_for, k, True, horizon=min(horizon, CHECKED_STEPS))
    schedule, drawn = _schedule(epsilon, horizon, seed, batch, stop)
    out = np.zeros((n, 3, len(steps)))  # not empty: numbers even if it is cut short
    trace = Trace(
        np.empty((n, K), np.int64), np.empty((n, K)), np.empty((n, d, d)), np.empty((n, d))
    )
    truth = FiniteWorld(
        means,
        rewards.max(axis=1, keepdims=True) - rewards,
        means.max(axis=1, keepdims=True) - means,
        are_best(rewards),
        0,
        np.array([world.noise.scale for world in worlds]),
    )
    events(
        strategy.ridge,
        whole if strategy.learns_on == "arm" else projected,
        np.array((whole if strategy.aims_at == "return" else projected).swapaxes(1, 2), order="C"),
        schedule,
        drawn,
        basis,
        truth,
        key(seed),
        np.array(list(batch)),
        steps,
        out,
        trace,
        stop,
    )
    return out, trace


def _schedule(
    epsilon: schedules.Epsilon,
    horizon: int,
    seed: int,
    trials: Collection[int],
    stop: NDArray[np.uint8],
) -> tuple[tuple[float, float], NDArray[np.int64]]:
    """Return a named schedule as numbers, or another's exploring steps, one row per trial."""
    if isinstance(epsilon, schedules.Power):
        power = epsilon.alpha * epsilon.k, epsilon.exponent
        return power, np.empty((len(trials), 0), np.int64)
    rows = [_exploring_steps(epsilon, horizon, stream(seed, i, "strategy"), stop) for i in trials]
    drawn = np.full((len(rows), max(map(len, rows))), horizon + 1)
    for row, steps in zip(drawn, rows, strict=True):
        row[: len(steps)] = steps
    return (0.0, -1.0), drawn


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
