"""Which engine serves which strategy in which world, and playing trials with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import one_of
from projbandits.arms import ConvexSet, DecisionSet, FiniteArms
from projbandits.problems import World
from projbandits.simulation import compiled, events, reference
from projbandits.simulation.plan import Spec
from projbandits.simulation.records import Questions, Records
from projbandits.simulation.streams import stream
from projbandits.strategies import LinearStrategy, Strategy
from projbandits.strategies.ellipsoid import Ellipsoidal
from projbandits.strategies.greedy import EpsilonGreedy

FASTEST_FIRST: dict[str, ModuleType] = {"events": events, "compiled": compiled}
ENGINES = ("auto", *FASTEST_FIRST, "reference")
BATCH = 100_000
"""About how many features of arms a batch of worlds holds in all: batching speeds up small worlds,
and would only cost memory with large ones."""


def choose(engine: str, world: World, strategy: Strategy) -> str:
    """Return the engine to use; "auto" is the fastest that plays as the reference engine does.

    Raises
    ------
    ValueError
        If the engine asked for cannot serve; the message says why.
    """
    one_of("engine", engine, ENGINES)
    if not world.steady:
        compiled.check_suits(strategy)
    if engine == "auto":
        able = (n for n, module in FASTEST_FIRST.items() if module.why_not(world, strategy) is None)
        return next(able, "reference")
    if engine != "reference":
        reason = FASTEST_FIRST[engine].why_not(world, strategy)
        if reason is not None:
            raise _refusal(engine, strategy, reason, "use engine='auto'")
    return engine


def searches(world: World, strategy: Strategy) -> bool:
    """Tell whether each arm is the end of a search, which may end below the maximum.

    The optimistic score is convex, and its maximum on a convex set has no closed form.
    """
    return isinstance(strategy, Ellipsoidal) and isinstance(world.arms, ConvexSet)


def _refusal(engine: str, strategy: Strategy, reason: str, remedy: str) -> ValueError:
    return ValueError(f"engine {engine!r} cannot run {strategy!r} here: {reason}; {remedy}")


def batches(
    spec: Spec, trials: Iterable[int], *, single: bool = False
) -> Iterator[dict[int, World]]:
    """Yield the worlds of some trials, batching neighbours that are small and of one shape."""
    methods = {s.basis for s in spec.strategies if isinstance(s, EpsilonGreedy)}
    batch: dict[int, World] = {}
    shape: tuple[int, ...] = ()
    room = 0
    for trial in trials:
        world = spec.problem.world(stream(spec.seed, trial, "world"))
        found = _shape(world.arms, methods)
        if batch and (found != shape or room <= 0):
            yield batch
            batch = {}
        if not batch:
            shape, room = found, 0 if single else BATCH
        batch[trial] = world
        room -= int(world.arms.d * min(world.size, BATCH))
    yield batch


def _shape(arms: DecisionSet, methods: set[str]) -> tuple[int, ...]:
    if not isinstance(arms, FiniteArms):
        return ()
    return (*arms.vectors.shape, *(len(arms.basis_rows(method)) for method in methods))


def play(spec: Spec, batch: dict[int, World], stop: NDArray[np.uint8]) -> Iterator[Records]:
    """Yield what each strategy did in a batch of worlds; a raised stop flag cuts it short."""
    questions = Questions(spec.steps, spec.horizon)
    for strategy, engine in zip(spec.strategies, spec.engines, strict=True):
        if stop[0]:
            return
        for world in batch.values() if engine != "reference" else ():
            # The engine was chosen by the first world; this one may be of another kind.
            reason = FASTEST_FIRST[engine].why_not_here(world, strategy)
            if reason is not None:
                raise _refusal(engine, strategy, reason, "use engine='reference'")
        if engine == "events":
            assert isinstance(strategy, LinearStrategy)
            trace = events.run(batch, strategy, questions.steps, spec.seed, stop)
            yield questions.records(trace.out, trace.pulls)
            continue
        outs, pulls = [], []
        for trial, world in batch.items():
            if stop[0]:
                return
            streams = (stream(spec.seed, trial, purpose) for purpose in ("noise", "strategy"))
            size = questions.steps, spec.horizon
            if engine == "reference":
                out, pulled = reference.run(world, strategy, *size, *streams)
            else:
                assert isinstance(strategy, LinearStrategy)
                out, pulled = compiled.run(world, strategy, *size, stop, *streams)
            outs.append(out)
            pulls.append(pulled)
        finite = pulls[0] is not None  # one kind of world in a batch
        counts = np.array(pulls) if finite else None
        yield questions.records(np.array(outs), counts, steady=world.steady)
