"""The event engine: exact simulation that visits only the steps that decide something.

It serves epsilon_t-greedy strategies on finitely many arms with Gaussian noise. Within a stretch of
one arm everything believed moves along one line, so the stretch is drawn at once; see
docs/event-engine.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits import schedules
from projbandits._checks import Array
from projbandits.arms import FiniteArms
from projbandits.problems import Gaussian, World
from projbandits.results import FOUND_BEST_SHARE, FOUND_BEST_WINDOW
from projbandits.simulation import compiled
from projbandits.simulation.records import Record
from projbandits.simulation.tables import Tables
from projbandits.strategies import Strategy
from projbandits.strategies.greedy import EpsilonGreedy

CHECKED_STEPS = 1_000_000
"""A user's schedule is checked at every step up to here, beyond only where it is asked."""


class Trace(NamedTuple):
    """What a trial came to: each arm's pulls and their total return, and the belief at the end."""

    pulls: NDArray[np.int64]
    totals: Array
    inverse: Array
    theta: Array


def why_not(world: World, strategy: Strategy) -> str | None:
    """Return why the event engine cannot serve, or None if it can."""
    if not isinstance(strategy, EpsilonGreedy) or compiled.unchanged_family(strategy) is None:
        return f"{type(strategy).__name__} is not epsilon_t-greedy"
    if (reason := compiled.why_not(world, strategy)) is not None:
        return reason
    if type(world.arms) is not FiniteArms:
        return f"it needs finitely many arms, got {type(world.arms).__name__}"
    if type(world.noise) is not Gaussian:
        return f"it needs Gaussian noise, got {world.noise!r}"
    if not world.arms.basis_arms(strategy.basis):
        return "it needs an arm that is not zero"
    return None


def run(
    tables: Tables,
    strategy: EpsilonGreedy,
    checkpoints: NDArray[np.int64],
    horizon: int,
    noise_rng: np.random.Generator,
    strategy_rng: np.random.Generator,
) -> tuple[Record, Trace]:
    """Return what one strategy did in one world, and what it believed at the end."""
    from projbandits.simulation.kernels.events import events

    learn, _ = tables.whole if strategy.learns_on == "arm" else tables.projected
    _, aim_T = tables.whole if strategy.aims_at == "return" else tables.projected
    K, d = learn.shape
    basis = tables.basis(strategy.basis)
    epsilon = strategy.epsilon_for(len(basis), finite=True)
    if not isinstance(epsilon, schedules.Power):
        # Thinning asks for few of the values; the others must be sound for it to be exact.
        compiled.epsilons(strategy, len(basis), K, min(horizon, CHECKED_STEPS))
    scale, exponent, drawn = _schedule(epsilon, horizon, strategy_rng)
    steps, at, ends, before, lengths = _questions(checkpoints.tobytes(), horizon)
    out = np.empty((3, len(steps)))
    trace = Trace(np.empty(K, np.int64), np.empty(K), np.empty((d, d)), np.empty(d))
    events(
        strategy.ridge,
        learn,
        aim_T,
        basis,
        scale,
        exponent,
        drawn,
        tables.means,
        tables.gaps,
        tables.return_gaps,
        tables.is_best,
        tables.world.noise.scale,
        noise_rng,
        strategy_rng,
        steps,
        out,
        *trace,
    )
    plays = np.concatenate([_NONE, out[2]])
    shares = (plays[ends] - plays[before]) / lengths
    record = Record(out[0, at], out[1, at], shares[:-1], bool(shares[-1] > FOUND_BEST_SHARE))
    return record, trace


_NONE = np.zeros(1)


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
    epsilon: schedules.Epsilon, horizon: int, rng: np.random.Generator
) -> tuple[float, float, NDArray[np.int64]]:
    """Return a named schedule as numbers, or the exploring steps of another by thinning."""
    if isinstance(epsilon, schedules.Power):
        return epsilon.alpha * epsilon.k, epsilon.exponent, np.empty(0, np.int64)
    steps = []
    t = 1
    while t <= horizon:
        bound = epsilon(t)
        if bound == 0.0:
            break
        if bound < 1.0:
            t += math.floor(math.log(1.0 - rng.random()) / math.log1p(-bound))
        if t <= horizon and rng.random() * bound < epsilon(t):
            steps.append(t)
        t += 1
    return 0.0, -1.0, np.array(steps, dtype=np.int64)
