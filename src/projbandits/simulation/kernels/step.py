"""The step that all loops on arms that never change share: observe, update, count."""

from __future__ import annotations

from projbandits.simulation.kernels.compiler import inlined
from projbandits.simulation.kernels.effects import update_effects
from projbandits.simulation.kernels.linear import count, observe, update


@inlined
def step(t, i, keeps, state, world, tally, rng):
    """Play arm i at step t; `keeps` says what the rule reads: NARROW, WIDE or INSIDE."""
    observed = observe(world.noise, world.means[i], world.scale, rng)
    if state.scales.size > 0:
        update_effects(i, observed, state)
    else:
        update(i, observed, keeps, state)
    count(tally, t, 1, i, world.costs[0, i], world.costs[1, i], world.costs[2, i])
