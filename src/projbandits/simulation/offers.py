"""Worlds whose offers change, in the compiled engine; see `problems.offers`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.problems import Jump, OfferedWorld, Wander
from projbandits.simulation.compiled import loop_of, rule_of
from projbandits.strategies import CompiledRule, LinearStrategy, Strategy


def check_suits(strategy: Strategy) -> None:
    """Raise if a strategy needs the same arms at each step."""
    if getattr(strategy, "same_arms", False) or getattr(strategy, "arm_effects", None) is not None:
        raise ValueError(
            f"strategies must take arms that change, got {strategy!r}: it plans for the arms of "
            "the first step, and each step of this problem offers others"
        )


def run(
    world: OfferedWorld,
    strategy: LinearStrategy,
    steps: NDArray[np.int64],
    horizon: int,
    stop: NDArray[np.uint8],
    noise_rng: np.random.Generator,
    strategy_rng: np.random.Generator,
) -> tuple[Array, NDArray[np.int64]]:
    """Return what `compiled.run` returns, of a world whose offers change."""
    from projbandits.simulation.kernels.tally import begin_tally

    rule = rule_of(strategy, world, horizon)
    assert rule is not None  # see `compiled.why_not`
    tally, wrong = begin_tally(steps, world.size), np.zeros(2, np.int64)
    begin = *_begin(world, strategy, rule), rule.widths, tally, wrong, _items(world)
    randomness = copy.deepcopy(world.truth.rng), noise_rng, strategy_rng
    loop_of(rule.kernel, "offers")(*begin, *randomness, horizon, stop)
    assert wrong[0] == 0  # only strangers' rules go astray
    return tally.out, tally.pulls


def _begin(world: OfferedWorld, strategy: LinearStrategy, rule: CompiledRule) -> tuple[Any, Any]:
    """Return what the rule sees, and the arms on offer, before the first step."""
    from projbandits.simulation.kernels.finite import finite_view
    from projbandits.simulation.kernels.offers import Shown
    from projbandits.simulation.kernels.posterior import Inside, work_room

    K, D = world.truth.offered, world.arms.d
    d = world.truth.items.shape[1]
    plan, columns = rule.plan, np.zeros((D, K))
    if rule.kernel == "greedy.greedy" and rule.basis == "pivoted-qr":
        plan = np.zeros((D + d + 1, K))
        columns = plan[:D]
    whole, kept = (np.zeros((K, D)), columns), (np.zeros((K, D)), np.zeros((D, K)))
    B = world.truth.kept.basis if rule.inside else np.empty((d, 0))
    u = B.shape[1]
    shown = Shown(
        whole[0],
        kept[0],
        whole[1],
        kept[1],
        np.zeros(K),
        np.zeros(K),
        np.array(B.T, order="C"),
        np.zeros((d, d)),
        np.zeros((2, D)),
    )
    view = finite_view(
        strategy.penalty,
        whole if strategy.learns_on == "arm" else kept,
        whole if strategy.aims_at == "return" else kept,
        np.zeros(min(K, d), np.int64),
        rule.parameters,
        plan,
        np.empty((D, 0)),
    )
    inside = Inside(B, np.zeros((u, K)), np.zeros((u, K)), np.zeros((u, K)))
    return view._replace(inside=inside, room=work_room(K, D, u)), shown


def _items(world: OfferedWorld) -> Any:
    """Return the catalogue as the kernel takes it, before the first step."""
    from projbandits.simulation.kernels.common import NOISE_CODES
    from projbandits.simulation.kernels.offers import Items

    truth = world.truth
    return Items(
        np.array(truth.items, order="C"),
        np.array(truth.kept.project(truth.items), order="C"),
        truth.effects,
        np.arange(world.size),
        truth.theta.copy(),
        np.ones(1 + truth.context),
        truth.drift.every if isinstance(truth.drift, Jump) else 0,
        truth.drift.rate if isinstance(truth.drift, Wander) else 0.0,
        NOISE_CODES[type(world.noise)],
        world.noise.scale,
    )
