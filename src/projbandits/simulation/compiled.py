"""The compiled engine: the reference loop's meaning in machine code."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

from projbandits._checks import Array
from projbandits.arms import Ball, Box, ConvexSet, DecisionSet, Ellipsoid, EntropyBall, FiniteArms
from projbandits.problems import Bernoulli, Gaussian, Uniform, World
from projbandits.results import FOUND_BEST_SHARE, FOUND_BEST_WINDOW
from projbandits.simulation.records import Record
from projbandits.simulation.tables import Tables
from projbandits.strategies import (
    EIIDS,
    DirectedIDS,
    EIRatio,
    LinearStrategy,
    ProjectedTS,
    Strategy,
)
from projbandits.strategies.ellipsoid import Ellipsoidal
from projbandits.strategies.greedy import EpsilonGreedy
from projbandits.strategies.ids import DRAWS, Believing, normal_table

NOISES = (Gaussian, Uniform, Bernoulli)
LARGEST = 1e8
"""V^-1 loses this many times the round-off when the square of an arm exceeds the ridge so often."""
WITH_EFFECTS = (EpsilonGreedy, Ellipsoidal, EIIDS, EIRatio)
SETS = (FiniteArms, EntropyBall, Ball, Ellipsoid, Box)


class CompiledRule(NamedTuple):
    """How a strategy of your own chooses, for the compiled loop.

    A `LinearStrategy` offers it by a method `compiled_rule(arms, horizon)`.

    Parameters
    ----------
    function : callable
        Plain Python in the subset that numba compiles. On finitely many arms it is called as
        `function(t, view, rng)` and returns a row; on a convex set as `function(t, view, rng, x)`
        and fills x. `kernels.steps.View` and `kernels.convex.ConvexView` say what it may look at.
    parameters : ndarray
        What the function finds in `view.parameters`.
    widths, inside : bool
        Whether it looks at `view.squares`, and at `view.inside`, for which it needs the squares.
    basis : str
        How D_k is chosen.
    """

    function: Callable[..., Any]
    parameters: Array
    widths: bool = False
    inside: bool = False
    basis: str = "pivoted-qr"


def why_not(world: World, strategy: Strategy) -> str | None:
    """Return why the compiled engine cannot serve, or None if it can."""
    if type(world.noise) not in NOISES:
        return f"it knows Gaussian, uniform and Bernoulli noise, not {world.noise!r}"
    if type(world.arms) not in SETS:
        return f"it has no compiled support points for {type(world.arms).__name__}"
    if not isinstance(strategy, LinearStrategy):
        return f"{type(strategy).__name__} is no LinearStrategy"
    if world.arms.longest**2 > LARGEST * strategy.ridge:
        return (
            f"arms as long as {world.arms.longest:.3g} would cost it accuracy with a ridge of "
            f"{strategy.ridge:g}: scale the features"
        )
    if type(strategy).update is not LinearStrategy.update:
        return f"{type(strategy).__name__} has an update of its own"
    if type(strategy).aim is not LinearStrategy.aim:
        return f"{type(strategy).__name__} has an aim of its own"
    family = unchanged_family(strategy)
    if not hasattr(strategy, "compiled_rule") and family is None:
        return f"{type(strategy).__name__} offers no compiled_rule"
    if strategy.arm_effects is not None and family not in WITH_EFFECTS:
        return f"{type(strategy).__name__} has no compiled rule for arm effects"
    return None


def unchanged_family(strategy: LinearStrategy) -> type[LinearStrategy] | None:
    """Return the family of the library whose choice this strategy makes unchanged."""
    if type(strategy) in (EIIDS, EIRatio, DirectedIDS, ProjectedTS):
        return type(strategy)
    for family in (EpsilonGreedy, Ellipsoidal):
        if isinstance(strategy, family) and type(strategy).select is family.select:
            return family
    return None


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
    rule = _rule(strategy, world.arms, horizon)
    noise = NOISES.index(type(world.noise)), world.noise.scale, noise_rng, strategy_rng
    if tables is not None and strategy.arm_effects is not None:
        return _run_effects(tables, strategy, rule, noise, checkpoints, horizon, stop)
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
    from projbandits.simulation.kernels.steps import finite_view

    learn = tables.whole if strategy.learns_on == "arm" else tables.projected
    aim = tables.whole if strategy.aims_at == "return" else tables.projected
    K, d = learn[0].shape
    B = tables.world.subspace.basis if rule.inside else np.empty((d, 0))
    out = np.empty((3, len(checkpoints)))
    share = _loop(rule.function, finite=True)(
        finite_view(strategy.ridge, learn, aim, tables.basis(rule.basis), rule.parameters, B),
        np.empty((2, d)),
        np.empty(K),
        np.zeros(FOUND_BEST_WINDOW, np.bool_),
        rule.widths,
        learn is aim,
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
    return Record(out[0], out[1], out[2], bool(share > FOUND_BEST_SHARE))


def _run_effects(
    tables: Tables,
    strategy: LinearStrategy,
    rule: CompiledRule,
    noise: tuple[Any, ...],
    checkpoints: NDArray[np.int64],
    horizon: int,
    stop: NDArray[np.uint8],
) -> Record:
    from projbandits.simulation.kernels import effects
    from projbandits.strategies.effects import RATIOS, Effects

    learn = tables.whole if strategy.learns_on == "arm" else tables.projected
    aim = tables.whole if strategy.aims_at == "return" else tables.projected
    K, d = learn[0].shape
    tau, sigma = strategy.known_scales
    prior = Effects.prior(learn[0], strategy.ridge, tau, sigma)
    loops = {
        EpsilonGreedy.select: effects.greedy_effects,
        Ellipsoidal.select: effects.optimistic_effects,
        EIIDS.prospect: effects.eiids_effects,
        EIRatio.select: effects.eiratio_effects,
    }
    out = np.empty((3, len(checkpoints)))
    share = loops[rule.function](
        effects.effect_view(
            prior.penalty,
            prior.ratio,
            prior.noise,
            learn,
            aim[1],
            tables.basis(rule.basis),
            rule.parameters,
        ),
        prior.penalty,
        -1.0 if tau is None else tau,
        0.0 if sigma is None else sigma,
        np.zeros(K),
        np.zeros(K),
        np.empty((3, d)),
        np.empty((d, d)),
        np.empty((2, len(RATIOS))),
        np.zeros(FOUND_BEST_WINDOW, np.bool_),
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
    return Record(out[0], out[1], out[2], bool(share > FOUND_BEST_SHARE))


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
        world.subspace,
        1 + DRAWS + arms.rank if rule.inside else 0,
    )
    _loop(rule.function, finite=False)(
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


def _rule(strategy: LinearStrategy, arms: DecisionSet, horizon: int) -> CompiledRule:
    offered = getattr(strategy, "compiled_rule", None)
    if offered is not None:
        rule: CompiledRule = offered(arms, horizon)
        return rule
    if isinstance(strategy, EpsilonGreedy):
        k = len(arms.basis_arms(strategy.basis))
        coins = epsilons(strategy, k, arms.size, horizon)
        return CompiledRule(EpsilonGreedy.select, coins, basis=strategy.basis)
    if isinstance(strategy, Believing):
        return _believing(strategy, arms)
    assert isinstance(strategy, Ellipsoidal)
    radii = _radii(strategy, arms.d, arms.size, horizon)
    return CompiledRule(Ellipsoidal.select, radii, widths=True)


def _believing(strategy: Believing, arms: DecisionSet) -> CompiledRule:
    """Return a rule whose parameters are sigma or 0, lambda, one more, and the normal numbers."""
    function: Callable[..., Any] = type(strategy).select
    more = 0.0
    if isinstance(strategy, EIIDS):
        function = EIIDS.prospect
    elif isinstance(strategy, DirectedIDS):
        function = DirectedIDS.prospect
        more = strategy.bound if strategy.radius == "published" else 0.0
    elif isinstance(strategy, EIRatio):
        more = float(strategy.horizon)
    parameters = np.array([strategy.noise or 0.0, strategy.ridge, more])
    if not isinstance(arms, FiniteArms):
        parameters = np.concatenate([parameters, normal_table(arms.d).ravel()])
    return CompiledRule(function, parameters, widths=True, inside=True)


@lru_cache(maxsize=32)
def epsilons(strategy: EpsilonGreedy, k: int, size: float, horizon: int) -> Array:
    """Return epsilon_1 to epsilon_horizon, each checked where the schedule is a user's."""
    epsilon = strategy.epsilon_for(k, math.isfinite(size))
    return np.array([epsilon(t) for t in range(1, horizon + 1)])


@lru_cache(maxsize=32)
def _radii(strategy: Ellipsoidal, d: int, size: float, horizon: int) -> Array:
    return np.array([strategy.radius_for(t, d, size) for t in range(1, horizon + 1)])


@lru_cache(maxsize=64)
def _loop(function: Callable[..., Any], finite: bool) -> Any:
    """Return the compiled loop around a rule; the library's own are kept on disk."""
    from projbandits.simulation.kernels import convex, ids_points, ids_rules, rules, steps

    own = {
        (EIIDS.prospect, True): ids_rules.eiids_steps,
        (EIRatio.select, True): ids_rules.eiratio_steps,
        (DirectedIDS.prospect, True): ids_rules.directed_steps,
        (ProjectedTS.select, True): ids_rules.thompson_steps,
        (EIIDS.prospect, False): ids_points.eiids_points,
        (EIRatio.select, False): ids_points.eiratio_points,
        (DirectedIDS.prospect, False): ids_points.directed_points,
        (ProjectedTS.select, False): ids_points.thompson_points,
        (EpsilonGreedy.select, True): rules.greedy_steps,
        (EpsilonGreedy.select, False): rules.greedy_points,
        (Ellipsoidal.select, True): rules.optimistic_steps,
        (Ellipsoidal.select, False): rules.optimistic_points,
    }
    if (function, finite) in own:
        return own[function, finite]
    return rules.bind_rule(steps.steps if finite else convex.convex_steps, function)


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
