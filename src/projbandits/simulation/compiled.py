"""The compiled engine: the reference loop's meaning in machine code."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.arms import ConvexSet, EntropyBall, FiniteArms, Polytope
from projbandits.problems import Jump, OfferedWorld, Wander, World
from projbandits.strategies import CompiledRule, LinearStrategy, Strategy
from projbandits.strategies.compiled import overridden
from projbandits.strategies.effects import next_refit
from projbandits.strategies.information import BELIEF_DRAWS

LARGEST_SQUARE = 1e8
"""How many times a squared arm may exceed the ridge: V^-1 magnifies round-off by that much."""
SEARCHING, FIXED = "ellipsoid", 4
"""The rule that searches a convex set has a kernel of its own for the entropy ball of setting c:
with d a constant, short loops are unrolled, and run twice as fast (docs/numerics.md)."""
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
    from projbandits.simulation.kernels.linear import NOISE_CODES
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


def run(
    world: World,
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
    from projbandits.simulation.kernels.compiler import call
    from projbandits.simulation.kernels.linear import begin_tally

    rule = rule_of(strategy, world, horizon)
    assert rule is not None  # see `why_not`
    finite = isinstance(world.arms, FiniteArms)
    tally = begin_tally(steps, int(world.size) if finite else 1)
    randomness = noise_rng, strategy_rng
    if isinstance(world, OfferedWorld):
        *begin, rng = _offers(world, strategy, rule)
        call(_loop(rule, "offer_steps"), *begin, tally, rng, *randomness, horizon, stop)
    elif finite:
        _play_finite(world, strategy, rule, tally, randomness, horizon, stop)
    else:
        state, truth = _convex(world, strategy, rule)
        call(_loop(rule, "convex_steps"), state, truth, tally, *randomness, horizon, stop)
    return tally.out, tally.pulls if finite else None


def _loop(rule: CompiledRule, name: str) -> Any:
    """Return the loop of one of the library's rules, or the one around a user's."""
    if isinstance(rule.kernel, str):
        return getattr(import_module(f"projbandits.simulation.kernels.{rule.kernel}"), name)
    from projbandits.simulation.kernels.users import convex_loop, finite_loop

    if name == "convex_steps":
        return convex_loop(rule.kernel)
    return finite_loop(rule.kernel, 2 if rule.inside else int(rule.widths))


def _play_finite(
    world: World,
    strategy: LinearStrategy,
    rule: CompiledRule,
    tally: Any,
    randomness: Any,
    horizon: int,
    stop: Any,
) -> None:
    from projbandits.simulation.kernels.compiler import call
    from projbandits.simulation.kernels.effects import begin_effects
    from projbandits.simulation.kernels.linear import NOISE_CODES, FiniteWorld, begin_state

    assert isinstance(world.arms, FiniteArms)
    assert world.arm_returns is not None
    assert world.arm_rewards is not None
    costs = world.best_reward - world.arm_rewards, world.best_return - world.arm_returns
    truth = FiniteWorld(
        np.array(world.arm_returns),
        np.array([*costs, world.is_best]),
        NOISE_CODES[type(world.noise)],
        world.noise.scale,
    )
    whole = world.arms.vectors
    projected = whole
    if "projection" in (strategy.learns_on, strategy.aims_at):
        projected = whole @ world.seen.matrix
    learn = whole if strategy.learns_on == "arm" else projected
    aim = whole if strategy.aims_at == "return" else projected
    given = rule.parameters, rule.plan, np.array(world.arms.basis_rows(rule.basis), np.int64)
    if strategy.arm_effects is not None:
        state = begin_effects(strategy, learn, aim, *given)
    else:
        B = world.seen.basis if rule.inside else None
        state = begin_state(strategy.penalty, learn, aim, *given, B)
    wrong = np.zeros(2, np.int64)
    rest = (stop,) if isinstance(rule.kernel, str) else (stop, wrong)
    loop = _loop(rule, "steps")
    for parameters, first, last in _segments(strategy, rule, state, horizon):
        state = state._replace(parameters=parameters)
        call(loop, state, truth, tally, *randomness, first, last, *rest)
    if wrong[0] > 0:
        raise ValueError(
            f"{strategy!r} must choose a row from 0 to {world.arms.size - 1}, its compiled rule "
            f"returned {wrong[1]} at step {wrong[0]}"
        )


def _segments(
    strategy: LinearStrategy, rule: CompiledRule, state: Any, horizon: int
) -> Iterator[tuple[Array, int, int]]:
    """Yield the rule's parameters with the steps for which they hold.

    Between two of them the rule plans anew, or the scales of the effects are estimated anew.
    """
    from projbandits.simulation.kernels.belief import sigma_of
    from projbandits.simulation.kernels.effects import refit
    from projbandits.simulation.kernels.elimination import plain

    t = 1
    while t <= horizon:
        parameters, last = state.parameters, horizon
        if rule.again is not None:
            parameters, last = rule.again(t, state.theta, sigma_of(t, state), plain)
        elif strategy.arm_effects is not None:
            last = next_refit(t)
        yield parameters, t, min(last, horizon)
        if strategy.arm_effects is not None and last <= horizon:
            refit(state, strategy)
        t = last + 1


def _convex(world: World, strategy: LinearStrategy, rule: CompiledRule) -> tuple[Any, Any]:
    """Return the state that `convex_steps` begins with, and the world."""
    from projbandits.simulation.kernels.convex import ConvexWorld, begin_convex
    from projbandits.simulation.kernels.linear import NOISE_CODES
    from projbandits.simulation.kernels.support import REGIONS

    arms = world.arms
    assert isinstance(arms, ConvexSet)
    assert world.theta is not None
    region = REGIONS[type(arms)](arms)
    if rule.kernel == SEARCHING and type(arms) is EntropyBall and arms.d == FIXED:
        region = region._replace(fixed=(0,) * FIXED)
    state = begin_convex(
        strategy.penalty,
        (strategy.learns_on == "arm", strategy.aims_at == "return"),
        arms.basis(rule.basis),
        arms.spanning_points,
        region,
        rule.parameters,
        rule.plan,
        world.seen,
        1 + BELIEF_DRAWS + arms.rank if rule.inside else 0,
    )
    best = float(world.best_return), float(world.best_reward)
    noise = NOISE_CODES[type(world.noise)], float(world.noise.scale)
    wanted = world.subspace.project(world.theta)
    return state, ConvexWorld(np.array(world.theta), wanted, *best, *noise)


def _offers(world: OfferedWorld, strategy: LinearStrategy, rule: CompiledRule) -> tuple[Any, ...]:
    """Return the state that `offer_steps` begins with, its arms, the catalogue and its stream."""
    from projbandits.simulation.kernels.linear import NOISE_CODES, begin_state, widened
    from projbandits.simulation.kernels.offers import Items, Shown

    truth, K, D = world.truth, world.truth.offered, world.arms.d
    d, drift = truth.items.shape[1], truth.drift
    B = truth.kept.basis if rule.inside else np.empty((d, 0))
    pivoted = widened(np.zeros((d if rule.basis == "pivoted-qr" else 0, K)))
    rows = np.zeros((2, K, D))
    shown = Shown(rows, widened(np.zeros((2, D, K))), np.array(B.T, order="C"), pivoted)
    learn, aim = int(strategy.learns_on != "arm"), int(strategy.aims_at != "return")
    basis = np.zeros(min(K, d), np.int64)
    inside = np.zeros((D, B.shape[1]))
    state = begin_state(
        strategy.penalty, rows[learn], rows[aim], rule.parameters, rule.plan, basis, inside
    )
    state = state._replace(
        learn=rows[learn], learn_T=shown.columns[learn], aim_T=shown.columns[aim]
    )
    items = Items(
        np.array([truth.items, truth.kept.project(truth.items)]),
        np.array(truth.effects),
        np.arange(world.size),
        truth.theta.copy(),
        np.ones(1 + truth.context),
        drift.every if isinstance(drift, Jump) else 0,
        float(drift.rate) if isinstance(drift, Wander) else 0.0,
        NOISE_CODES[type(world.noise)],
        float(world.noise.scale),
    )
    return state, shown, items, copy.deepcopy(truth.rng)


def check_suits(strategy: Strategy) -> None:
    """Raise if a strategy needs the same arms at each step."""
    if getattr(strategy, "same_arms", False) or getattr(strategy, "arm_effects", None) is not None:
        raise ValueError(
            f"strategies must take arms that change, got {strategy!r}: it plans for the arms of "
            "the first step, and each step of this problem offers others"
        )
