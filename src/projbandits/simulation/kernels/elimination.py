"""Phased elimination in the compiled loop: it plays a phase that `strategies.elimination` plans."""

from __future__ import annotations

from functools import lru_cache

from projbandits.simulation.kernels.compiler import kernel, lent, part
from projbandits.simulation.kernels.linear import NARROW, stopped
from projbandits.simulation.kernels.step import step
from projbandits.strategies.information import first_largest

part(first_largest)  # now what is compiled may call it
plain = lru_cache(maxsize=None)(kernel)
"""Compile a plain function of a strategy, once."""


@kernel
def steps(state, world, tally, noise_rng, rng, first, last, stop):
    """Play the arms of a phase in turn; the parameters are the last steps of each."""
    state, world, tally = lent(state), lent(world), lent(tally)
    i = 0
    for t in range(first, last + 1):
        if stopped(t, stop):
            break
        while t >= state.parameters[i]:
            i += 1
        step(t, i, NARROW, state, world, tally, noise_rng)
