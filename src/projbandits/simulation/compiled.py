"""The compiled engine: the reference loop's meaning in machine code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

from projbandits._checks import Array
from projbandits.arms import Ball, Box, ConvexSet, Ellipsoid, EntropyBall, FiniteArms
from projbandits.problems import Bernoulli, Gaussian, Uniform, World
from projbandits.results import FOUND_BEST_SHARE, FOUND_BEST_WINDOW
from projbandits.simulation.records import Record
from projbandits.simulation.rules import EFFECTS, loop_of
from projbandits.simulation.tables import Tables
from projbandits.strategies import CompiledRule, LinearStrategy, Strategy
from projbandits.strategies.effects import RATIOS, Effects
from projbandits.strategies.ids import DRAWS
from projbandits.strategies.rule import overridden

NOISES = (Gaussian, Uniform, Bernoulli)
LARGEST = 1e8
"""V^-1 loses this many times the round-off when the square of an arm exceeds the ridge so often."""
SETS = (FiniteArms, EntropyBall, Ball, Ellipsoid, Box)
LEARNING = ("init", "update", "learnt", "aim")
"""What the loops do as `LinearStrategy` does it, whoever offers the rule."""


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
    if strategy.arm_effects is not None and not isinstance(rule.kernel, str):
        return f"{name} has no compiled rule for arm effects"
    return None


def why_not_here(world: World, strategy: LinearStrategy) -> str | None:
    """Return why it cannot serve in this world, where it can in another of the same problem."""
    if type(world.noise) not in NOISES:
        return f"it knows Gaussian, uniform and Bernoulli noise, not {world.noise!r}"
    if type(world.arms) not in SETS:
        return f"it has no compiled support points for {type(world.arms).__name__}"
    if world.arms.longest**2 > LARGEST * strategy.ridge:
        return (
            f"arms as long as {world.arms.longest:.3g} would cost it accuracy with a ridge of "
            f"{strategy.ridge:g}: scale the features"
        )
    if strategy.arm_effects is not None and not isinstance(world.arms, FiniteArms):
        return "arm effects need finitely many arms"
    return None


def rule_of(strategy: LinearStrategy, world: World, horizon: int) -> CompiledRule | None:
    """Return how a strategy chooses in a world up to a horizon, if it offers that."""
    offered: Any = strategy
    rule: CompiledRule | None = offered.compiled_rule(world.arms, world.subspace, horizon)
    return rule


def run(
    world: World,
    tables: Tables | None,
    strategy: LinearStrategy,
    checkpoints: NDArray[np.int64],
    horizon: int,
    stop: NDArray[np.uint8],
    noise_rng: np.random.Generator,
    strategy_rng: np.random.Generator,
) -> Record:
    """Return what one strategy did in one world, exactly as the reference engine would.

    If another thread raises the flag `stop`, it ends soon and what it returns means nothing.
    """
    rule = rule_of(strategy, world, horizon)
    assert rule is not None  # see `why_not`
    noise = NOISES.index(type(world.noise)), world.noise.scale, noise_rng, strategy_rng
    if tables is not None:
        return _run_finite(tables, strategy, rule, noise, checkpoints, horizon, stop)
    return _run_convex(world, strategy, rule, noise, checkpoints, horizon, stop)


def _run_finite(
    tables: Tables,
    strategy: LinearStrategy,
    rule: CompiledRule,
    noise: tuple[Any, ...],
    checkpoints: NDArray[np.int64],
    horizon: int,
    stop: NDArray[np.uint8],
) -> Record:
    out = np.empty((3, len(checkpoints)))
    effects = strategy.arm_effects is not None
    begin = _with_effects if effects else _without_effects
    wrong = np.zeros(2, np.int64)
    share = loop_of(rule.kernel, "effects" if effects else "finite")(
        *begin(tables, strategy, rule),
        np.zeros(FOUND_BEST_WINDOW, np.bool_),
        wrong,
        tables.means,
        tables.gaps,
        tables.return_gaps,
        tables.is_best,
        *noise,
        checkpoints,
        horizon,
        stop,
        out,
    )
    if wrong[0] > 0:
        raise ValueError(
            f"{strategy!r} must choose a row from 0 to {len(tables.means) - 1}, its compiled rule "
            f"returned {wrong[1]} at step {wrong[0]}"
        )
    return Record(out[0], out[1], out[2], bool(share > FOUND_BEST_SHARE))


def _without_effects(
    tables: Tables, strategy: LinearStrategy, rule: CompiledRule
) -> tuple[Any, ...]:
    """Return the belief that `kernels.steps` begins with, and room to work in."""
    from projbandits.simulation.kernels.steps import finite_view

    learn, aim = _features(tables, strategy)
    K, d = learn[0].shape
    B = tables.world.subspace.basis if rule.inside else np.empty((d, 0))
    basis = tables.basis(rule.basis)
    view = finite_view(strategy.ridge, learn, aim, basis, rule.parameters, rule.plan, B)
    return view, np.empty((2, d)), np.empty(K), rule.widths, learn is aim


def _with_effects(tables: Tables, strategy: LinearStrategy, rule: CompiledRule) -> tuple[Any, ...]:
    """Return the belief that `kernels.effects` begins with, and room to work in."""
    from projbandits.simulation.kernels.effects import effect_view

    learn, aim = _features(tables, strategy)
    K, d = learn[0].shape
    tau, sigma = strategy.known_scales
    prior = Effects.prior(learn[0], strategy.ridge, tau, sigma)
    basis = tables.basis(rule.basis)
    return (
        effect_view(
            prior.penalty,
            prior.ratio,
            prior.noise,
            learn,
            aim[1],
            basis,
            rule.parameters,
            EFFECTS.index(str(rule.kernel)),
        ),
        strategy.ridge,
        -1.0 if tau is None else tau,
        0.0 if sigma is None else sigma,
        np.zeros(K),
        np.zeros(K),
        np.empty((3, d)),
        np.empty((d, d)),
        np.empty((2, len(RATIOS))),
    )


def _features(
    tables: Tables, strategy: LinearStrategy
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the arms as they are learnt on and as they are aimed at, with their transposes."""
    learn = tables.whole if strategy.learns_on == "arm" else tables.projected
    aim = tables.whole if strategy.aims_at == "return" else tables.projected
    return learn, aim


def _run_convex(
    world: World,
    strategy: LinearStrategy,
    rule: CompiledRule,
    noise: tuple[Any, ...],
    checkpoints: NDArray[np.int64],
    horizon: int,
    stop: NDArray[np.uint8],
) -> Record:
    from projbandits.simulation.kernels.convex import convex_view

    assert isinstance(world.arms, ConvexSet)
    assert world.theta is not None
    out = np.empty((2, len(checkpoints)))
    learns_whole, aims_whole = strategy.learns_on == "arm", strategy.aims_at == "return"
    arms = world.arms
    view = convex_view(
        aims_whole,
        strategy.ridge,
        arms.basis(rule.basis),
        arms.spanning_points,
        _region(arms),
        rule.parameters,
        rule.plan,
        world.subspace,
        1 + DRAWS + arms.rank if rule.inside else 0,
    )
    loop_of(rule.kernel, "convex")(
        view,
        np.empty((4, arms.d)),
        learns_whole,
        aims_whole,
        world.theta,
        world.subspace.project(world.theta),
        world.best_return,
        world.best_reward,
        *noise,
        checkpoints,
        horizon,
        stop,
        out,
    )
    return Record(out[0], out[1], None, None)


def _region(arms: ConvexSet) -> Any:
    from projbandits.simulation.kernels import support

    d = arms.d
    none, no_axes, room = np.zeros(d), np.zeros((d, d)), np.empty((2, d))
    if isinstance(arms, EntropyBall):
        most = 1.0 + lambertw(arms.bound + (d - 1) / math.e).real
        roots = np.full(len(arms.spanning_points) + 1, most)
        return support.Region(support.ENTROPY, arms.bound, none, none, no_axes, most, roots, room)
    if isinstance(arms, Ball):
        return support.Region(
            support.BALL, arms.radius, arms.center, none, no_axes, 0.0, none, room
        )
    if isinstance(arms, Ellipsoid):
        axes = np.array(arms.axes, order="C")
        return support.Region(
            support.ELLIPSOID, 0.0, arms.center, arms.lengths, axes, 0.0, none, room
        )
    assert isinstance(arms, Box)
    return support.Region(support.BOX, 0.0, arms.lower, arms.upper, no_axes, 0.0, none, room)
