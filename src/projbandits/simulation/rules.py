"""How strategies choose in the compiled loops: the library's own rules, and those of others."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from projbandits._checks import Array
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.schedules import Epsilon
from projbandits.strategies import EIIDS, DirectedIDS, EIRatio, LinearStrategy, ProjectedTS
from projbandits.strategies.ellipsoid import Ellipsoidal
from projbandits.strategies.greedy import EpsilonGreedy
from projbandits.strategies.ids import Believing, normal_table

WITH_EFFECTS = (
    EpsilonGreedy.select,
    Ellipsoidal.select,
    EIIDS.prospect,
    EIRatio.select,
    DirectedIDS.prospect,
    ProjectedTS.select,
)
"""The functions of the rules that `kernels.effect_rules` knows, in its order."""


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


def unchanged_family(strategy: LinearStrategy) -> type[LinearStrategy] | None:
    """Return the family of the library whose choice this strategy makes unchanged."""
    if type(strategy) in (EIIDS, EIRatio, DirectedIDS, ProjectedTS):
        return type(strategy)
    for family in (EpsilonGreedy, Ellipsoidal):
        if isinstance(strategy, family) and type(strategy).select is family.select:
            return family
    return None


def rule_of(strategy: LinearStrategy, arms: DecisionSet, horizon: int) -> CompiledRule:
    """Return how a strategy chooses on a decision set, up to a horizon."""
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
    radii = _radii(strategy.radius_for, arms.d, arms.size, horizon)
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


def epsilons(strategy: EpsilonGreedy, k: int, size: float, horizon: int) -> Array:
    """Return epsilon_1 to epsilon_horizon, each checked where the schedule is a user's."""
    return _epsilons(strategy.epsilon_for, k, math.isfinite(size), horizon)


# A method equals only that of the same object, while strategies that differ may be equal: `==` of
# a dataclass does not see what a subclass adds.
@lru_cache(maxsize=32)
def _epsilons(epsilon_for: Callable[..., Epsilon], k: int, finite: bool, horizon: int) -> Array:
    epsilon = epsilon_for(k, finite)
    return np.array([epsilon(t) for t in range(1, horizon + 1)])


@lru_cache(maxsize=32)
def _radii(radius_for: Callable[..., float], d: int, size: float, horizon: int) -> Array:
    return np.array([radius_for(t, d, size) for t in range(1, horizon + 1)])


def forget_schedules() -> None:
    """Forget the values of schedules and radii, to ask for them anew."""
    _epsilons.cache_clear()
    _radii.cache_clear()


@lru_cache(maxsize=64)
def loop_of(function: Callable[..., Any], kind: str) -> Any:
    """Return the compiled loop around a rule; the library's own are kept on disk.

    The kind is "finite" arms, finite arms with "effects", or a "convex" set.
    """
    from projbandits.simulation.kernels import (
        convex,
        effect_rules,
        ids_points,
        ids_rules,
        rules,
        steps,
    )

    if kind == "effects":
        return effect_rules.with_effects
    own = {
        (EpsilonGreedy.select, "finite"): rules.greedy_steps,
        (EpsilonGreedy.select, "convex"): rules.greedy_points,
        (Ellipsoidal.select, "finite"): rules.optimistic_steps,
        (Ellipsoidal.select, "convex"): rules.optimistic_points,
        (EIIDS.prospect, "finite"): ids_rules.eiids_steps,
        (EIIDS.prospect, "convex"): ids_points.eiids_points,
        (EIRatio.select, "finite"): ids_rules.eiratio_steps,
        (EIRatio.select, "convex"): ids_points.eiratio_points,
        (DirectedIDS.prospect, "finite"): ids_rules.directed_steps,
        (DirectedIDS.prospect, "convex"): ids_points.directed_points,
        (ProjectedTS.select, "finite"): ids_rules.thompson_steps,
        (ProjectedTS.select, "convex"): ids_points.thompson_points,
    }
    if (function, kind) in own:
        return own[function, kind]
    return rules.bind_rule(convex.convex_steps if kind == "convex" else steps.steps, function)
