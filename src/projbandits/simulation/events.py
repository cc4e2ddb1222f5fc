"""The event engine: exact simulation that visits only the steps that decide something.

It serves epsilon_t-greedy strategies and uncertainty ellipsoids on finitely many arms with Gaussian
noise. While one arm is pulled the belief moves along a line, so the whole stretch is drawn at once;
see docs/event-engine.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits import schedules
from projbandits.arms import FiniteArms
from projbandits.problems import Gaussian, World
from projbandits.problems.base import are_best
from projbandits.simulation import compiled
from projbandits.simulation.streams import key, stream
from projbandits.strategies import LinearStrategy, Strategy
from projbandits.strategies.compiled import over_steps
from projbandits.strategies.ellipsoid import Ellipsoidal
from projbandits.strategies.greedy import EpsilonGreedy

CHECKED_STEPS = 1_000_000
"""A user's schedule is checked at every step up to this one, and beyond it where it is used."""


def why_not(world: World, strategy: Strategy) -> str | None:
    """Return why the event engine cannot serve, or None if it can."""
    name = type(strategy).__name__
    families = (kind for kind in (EpsilonGreedy, Ellipsoidal) if isinstance(strategy, kind))
    if (family := next(families, None)) is None:
        return f"{name} is neither epsilon_t-greedy nor an uncertainty ellipsoid"
    if type(strategy).compiled_rule is not family.compiled_rule:  # type: ignore[attr-defined]
        return f"{name} has its own compiled_rule"
    if (reason := compiled.why_not(world, strategy)) is not None:
        return reason
    assert isinstance(strategy, LinearStrategy)
    if strategy.arm_effects is not None:
        return "arm effects need every step"
    return why_not_here(world, strategy)


def why_not_here(world: World, strategy: LinearStrategy) -> str | None:
    """Return why it cannot serve this world, though it may serve others of the problem, or None."""
    if (reason := compiled.why_not_here(world, strategy)) is not None:
        return reason
    if not world.steady:
        return "what is on offer changes from step to step"
    if type(world.arms) is not FiniteArms:
        return f"it needs finitely many arms, got {type(world.arms).__name__}"
    if type(world.noise) is not Gaussian:
        return f"it needs Gaussian noise, got {world.noise!r}"
    if isinstance(strategy, EpsilonGreedy) and not world.arms.basis_rows(strategy.basis):
        return "it needs an arm that is not zero"
    return None


def run(
    batch: dict[int, World],
    strategy: LinearStrategy,
    steps: NDArray[np.int64],
    seed: int,
    stop: NDArray[np.uint8],
) -> Any:
    """Return the `event_loop.Trace` of one strategy in the worlds of some trials.

    The worlds are of one shape: one call of the kernel plays them all, and other threads go on
    meanwhile. If one of them raises the flag `stop`, it ends early and what it returns is
    meaningless.
    """
    from projbandits.simulation.kernels.compiler import call
    from projbandits.simulation.kernels.event_loop import Trace, events
    from projbandits.simulation.kernels.linear import GAUSSIAN, FiniteWorld, widened

    worlds = batch.values()
    arms = [world.arms for world in worlds if isinstance(world.arms, FiniteArms)]
    whole = np.array([a.vectors for a in arms])
    projected = whole
    if "projection" in (strategy.learns_on, strategy.aims_at):
        projected = whole @ np.array([world.seen.matrix for world in worlds])
    n, K, d = whole.shape
    means = np.array([world.arm_returns for world in worlds])
    rewards = np.array([world.arm_rewards for world in worlds])
    best = are_best(rewards)
    costs = [values.max(axis=1, keepdims=True) - values for values in (rewards, means)]
    scales = np.array([world.noise.scale for world in worlds])
    truth = FiniteWorld(means, np.stack([*costs, best], axis=1), GAUSSIAN, scales)
    trace = Trace(
        steps,
        np.zeros((n, 3, len(steps))),  # not empty: numbers even if it is cut short
        np.zeros((n, K), np.int64),
        np.empty((n, K)),
        np.empty((n, d, d)),
        np.empty((n, d)),
    )
    rest = truth, key(seed), np.array(list(batch)), trace, stop
    aim_T = widened((whole if strategy.aims_at == "return" else projected).swapaxes(1, 2))
    if isinstance(strategy, EpsilonGreedy):
        learn = whole if strategy.learns_on == "arm" else projected
        basis = np.array([a.basis_rows(strategy.basis) for a in arms])
        schedule = _schedule(strategy, basis.shape[1], int(steps[-1]), seed, batch, stop)
        call(events, strategy.penalty, learn, aim_T, *schedule, basis, *rest)
    else:
        from projbandits.simulation.kernels.optimistic_events import optimistic_events
        from projbandits.simulation.kernels.rivals import radius_of

        assert isinstance(strategy, Ellipsoidal)
        same = strategy.aims_at == "return"
        learn_T = aim_T if same else widened(whole.swapaxes(1, 2))
        radius = radius_of(strategy.alpha, d, K)
        call(optimistic_events, strategy.penalty, whole, learn_T, aim_T, same, radius, *rest)
    return trace


def _schedule(
    strategy: EpsilonGreedy,
    k: int,
    horizon: int,
    seed: int,
    trials: Collection[int],
    stop: NDArray[np.uint8],
) -> tuple[tuple[float, float], NDArray[np.int64]]:
    """Return a named schedule as numbers, or another's exploring steps, one row per trial."""
    epsilon = strategy.epsilon_for(k, finite=True)
    if isinstance(epsilon, schedules.Power):
        power = epsilon.alpha * epsilon.k, epsilon.exponent
        return power, np.empty((len(trials), 0), np.int64)
    # Thinning uses few of the values, but is exact only if the others are sound too.
    over_steps(strategy.epsilon_for, k, True, horizon=min(horizon, CHECKED_STEPS))
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
