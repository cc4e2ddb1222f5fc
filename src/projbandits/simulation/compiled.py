"""The compiled engine: the reference loop's meaning in machine code."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.arms import ConvexSet, EntropyBall, FiniteArms, Polytope
from projbandits.problems import Jump, OfferedWorld, Wander, World
from projbandits.simulation.arrays import Arrays, ConvexWorld, widened
from projbandits.strategies import CompiledRule, LinearStrategy, Strategy
from projbandits.strategies.compiled import overridden
from projbandits.strategies.effects import RATIOS, Effects
from projbandits.strategies.information import BELIEF_DRAWS

LARGEST_SQUARE = 1e8
"""How many times a squared arm may exceed the ridge: V^-1 magnifies round-off by that much."""
SEARCHING, FIXED = "ellipsoid.optimistic", 4
"""The rule that searches a convex set has a kernel of its own for the entropy ball of setting c."""
COMPILED_DRIFTS = (type(None), Jump, Wander)
LEARNING = ("init", "update", "learnt", "aim")
"""The methods that the loops do as `LinearStrategy` does, whatever the rule."""


def why_not(world: World, strategy: Strategy) -> str | None:
    """Return why the compiled engine cannot serve, or None if it can."""
    name = type(strategy).__name__
    if not isinstance(strategy, LinearStrategy):
        return f"{name} is no LinearStrategy"
    if not hasattr(strategy, "compiled_rule"):
        return f"{name} offers no compiled_rule"
    for method in LEARNING:
        if getattr(type(strategy), method) is not getattr(LinearStrategy, method):
            return f"{name} has its own {method}, which the compiled loop does not know"
    if (changed := overridden(strategy, "compiled_rule")) is not None:
        return f"{name} defines {changed} anew but no compiled_rule that knows of it"
    if (reason := why_not_here(world, strategy)) is not None:
        return reason
    rule = rule_of(strategy, world, 1)
    if rule is None:
        return f"{name} offers no compiled rule for {world.arms!r}"
    if not isinstance(rule.kernel, str):
        if strategy.arm_effects is not None:
            return f"{name} has no compiled rule for arm effects"
        if not world.steady:
            return f"{name} has no compiled rule for offers that change"
    return None


def why_not_here(world: World, strategy: LinearStrategy) -> str | None:
    """Return why it cannot serve this world, though it may serve others of the problem, or None."""
    from projbandits.simulation.kernels.common import NOISE_CODES
    from projbandits.simulation.kernels.support import REGIONS

    if not (world.steady or isinstance(world, OfferedWorld)):
        return "the world changes from step to step"
    if type(world.noise) not in NOISE_CODES:
        known = ", ".join(kind.__name__ for kind in NOISE_CODES)
        return f"it knows the noises {known}, not {world.noise!r}"
    drift = world.truth.drift if isinstance(world, OfferedWorld) else None
    if type(drift) not in COMPILED_DRIFTS:
        return f"it knows the drifts Jump and Wander, not {drift!r}"
    if type(world.arms) is not FiniteArms and type(world.arms) not in REGIONS:
        return f"it has no compiled support points for {type(world.arms).__name__}"
    if isinstance(world.arms, Polytope) and world.arms.vertices is None:
        return (
            "it lists a polytope's vertices, and these are too many, or their constraints "
            "contradict one another within round-off"
        )
    if world.arms.longest**2 > LARGEST_SQUARE * strategy.penalty:
        return (
            f"arms as long as {world.arms.longest:.3g} would cost it accuracy with a ridge of "
            f"{strategy.penalty:g}: scale the features"
        )
    if strategy.arm_effects is not None and not isinstance(world.arms, FiniteArms):
        return "arm effects need finitely many arms"
    return None


def rule_of(strategy: LinearStrategy, world: World, horizon: int) -> CompiledRule | None:
    """Return how a strategy chooses in a world up to a horizon, if it offers that."""
    offered: Any = strategy
    rule: CompiledRule | None = offered.compiled_rule(world.arms, world.seen, horizon)
    return rule


@lru_cache(maxsize=64)
def loop_of(kernel: Callable[..., Any] | str, kind: str) -> Any:
    """Return the compiled loop around a rule.

    Parameters
    ----------
    kernel : callable or str
        The rule, or the file and the name of one of the library's own.
    kind : {"finite", "effects", "convex", "offers"}
        The kind of world it is played in.
    """
    from projbandits.simulation.kernels.loops import stranger_loop

    if isinstance(kernel, str):
        family, _, name = kernel.partition(".")
        return import_module(f"projbandits.simulation.kernels.{family}").LOOPS[name][kind]
    return stranger_loop(kernel, kind)


def run(
    world: World,
    arrays: Arrays | None,
    strategy: LinearStrategy,
    steps: NDArray[np.int64],
    horizon: int,
    stop: NDArray[np.uint8],
    noise_rng: np.random.Generator,
    strategy_rng: np.random.Generator,
) -> tuple[Array, NDArray[np.int64] | None]:
    """Return what `reference.run` returns: what one strategy cost in one world, and its pulls.

    If another thread raises the flag `stop`, it ends early and what it returns is meaningless.
    """
    from projbandits.simulation.kernels.tally import begin_tally

    rule = rule_of(strategy, world, horizon)
    assert rule is not None  # see `why_not`
    tally = begin_tally(steps, 1 if arrays is None else arrays.arms.size)
    randomness = noise_rng, strategy_rng
    if arrays is None:
        loop, begin = loop_of(rule.kernel, "convex"), _convex(world, strategy, rule)
        loop(*begin, tally, _convex_world(world), *randomness, horizon, stop)
        return tally.out, None
    effects = strategy.arm_effects is not None
    begin = (_with_effects if effects else _without_effects)(arrays, strategy, rule)
    loop, wrong = loop_of(rule.kernel, "effects" if effects else "finite"), np.zeros(2, np.int64)
    loop(*begin, tally, wrong, arrays.truth, *randomness, horizon, stop)
    if wrong[0] > 0:
        raise ValueError(
            f"{strategy!r} must choose a row from 0 to {arrays.arms.size - 1}, its compiled rule "
            f"returned {wrong[1]} at step {wrong[0]}"
        )
    return tally.out, tally.pulls


def _without_effects(
    arrays: Arrays, strategy: LinearStrategy, rule: CompiledRule
) -> tuple[Any, ...]:
    """Return the belief that `finite_steps` begins with, and room to work in."""
    from projbandits.simulation.kernels.finite import finite_view

    learn, aim = _features(arrays, strategy)
    same, d = learn is aim, learn[0].shape[1]
    if rule.padded:
        learn, aim = ((rows, widened(columns)) for rows, columns in (learn, aim))
    B = arrays.world.seen.basis if rule.inside else np.empty((d, 0))
    basis = arrays.basis(rule.basis)
    view = finite_view(strategy.penalty, learn, aim, basis, rule.parameters, rule.plan, B)
    return view, np.empty((2, d)), np.empty_like(view.scores), rule.widths, same


def _with_effects(arrays: Arrays, strategy: LinearStrategy, rule: CompiledRule) -> tuple[Any, ...]:
    """Return the belief that `effect_steps` begins with, and room to work in."""
    from projbandits.simulation.kernels.effects import effect_view

    learn, aim = _features(arrays, strategy)
    d = arrays.arms.d
    tau, sigma = strategy.known_scales
    prior = Effects.prior(d, strategy.penalty, tau, sigma)
    scales = prior.penalty, prior.ratio, prior.noise
    basis = arrays.basis(rule.basis)
    return (
        effect_view(*scales, learn, aim, basis, rule.parameters, rule.plan),
        strategy.penalty,
        -1.0 if tau is None else tau,
        0.0 if sigma is None else sigma,
        np.empty((3, d)),
        np.empty((d, d)),
        np.empty((2, len(RATIOS))),
    )


def _features(
    arrays: Arrays, strategy: LinearStrategy
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the arms as they are learnt on and as they are aimed at, with their transposes."""
    learn = arrays.whole if strategy.learns_on == "arm" else arrays.projected
    aim = arrays.whole if strategy.aims_at == "return" else arrays.projected
    return learn, aim


def _convex(world: World, strategy: LinearStrategy, rule: CompiledRule) -> tuple[Any, ...]:
    """Return the belief that `convex_steps` begins with, and room to work in."""
    from projbandits.simulation.kernels.convex import convex_view
    from projbandits.simulation.kernels.support import REGIONS

    arms = world.arms
    assert isinstance(arms, ConvexSet)
    learns_whole, aims_whole = strategy.learns_on == "arm", strategy.aims_at == "return"
    region = REGIONS[type(arms)](arms)
    if rule.kernel == SEARCHING and type(arms) is EntropyBall and arms.d == FIXED:
        region = region._replace(fixed=(0,) * FIXED)
    view = convex_view(
        aims_whole,
        strategy.penalty,
        arms.basis(rule.basis),
        arms.spanning_points,
        region,
        rule.parameters,
        rule.plan,
        world.seen,
        1 + BELIEF_DRAWS + arms.rank if rule.inside else 0,
    )
    return view, np.empty((4, arms.d)), learns_whole, aims_whole


def _convex_world(world: World) -> ConvexWorld:
    from projbandits.simulation.kernels.common import NOISE_CODES

    assert world.theta is not None
    return ConvexWorld(
        world.theta,
        world.subspace.project(world.theta),
        world.best_return,
        world.best_reward,
        NOISE_CODES[type(world.noise)],
        world.noise.scale,
    )
