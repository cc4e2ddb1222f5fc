"""Which engine serves which strategy in which world, and playing one trial with it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import one_of
from projbandits.arms import FiniteArms
from projbandits.problems import World
from projbandits.simulation import compiled, events, reference
from projbandits.simulation.records import Record
from projbandits.simulation.spec import Spec
from projbandits.simulation.streams import stream
from projbandits.simulation.tables import Tables
from projbandits.strategies import LinearStrategy, Strategy
from projbandits.strategies.greedy import EpsilonGreedy

FASTEST_FIRST = {"events": events.why_not, "compiled": compiled.why_not}
ENGINES = ("auto", *FASTEST_FIRST, "reference")


def choose(engine: str, world: World, strategy: Strategy) -> str:
    """Return the engine to use; "auto" is the fastest that is exact.

    Raises
    ------
    ValueError
        If the engine asked for cannot serve; the message says why.
    """
    one_of("engine", engine, ENGINES)
    if engine == "auto":
        able = (name for name, why_not in FASTEST_FIRST.items() if why_not(world, strategy) is None)
        return next(able, "reference")
    _check(engine, world, strategy, "use engine='auto'")
    return engine


def _check(engine: str, world: World, strategy: Strategy, remedy: str) -> None:
    reason = FASTEST_FIRST[engine](world, strategy) if engine in FASTEST_FIRST else None
    if reason is not None:
        raise ValueError(f"engine {engine!r} cannot run {strategy!r} here: {reason}; {remedy}")


def play(spec: Spec, trial: int, stop: NDArray[np.uint8]) -> Iterator[Record]:
    """Yield what each strategy did in the world of one trial; a raised stop flag cuts it short."""
    world = spec.problem.world(stream(spec.seed, trial, "world"))
    tables = Tables(world) if isinstance(world.arms, FiniteArms) else None
    for strategy, engine in zip(spec.strategies, spec.engines, strict=True):
        # Chosen by the first world; another may be of another kind.
        _check(engine, world, strategy, "use engine='reference'")
        streams = (stream(spec.seed, trial, purpose) for purpose in ("noise", "strategy"))
        if engine == "reference":
            yield reference.run(world, strategy, spec.steps, spec.horizon, *streams)
        elif engine == "compiled":
            assert isinstance(strategy, LinearStrategy)
            yield compiled.run(world, tables, strategy, spec.steps, spec.horizon, stop, *streams)
        else:
            assert isinstance(strategy, EpsilonGreedy)
            assert tables is not None
            yield events.run(tables, strategy, spec.steps, spec.horizon, *streams)[0]
