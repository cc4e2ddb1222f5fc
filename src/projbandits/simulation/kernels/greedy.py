"""epsilon_t-greedy choice in the compiled loops, as in `strategies.greedy`."""

from __future__ import annotations

from projbandits.simulation.kernels.common import argmax, copy, inlined
from projbandits.simulation.kernels.loops import loops
from projbandits.simulation.kernels.offers import spanning
from projbandits.simulation.kernels.support import support


@inlined
def greedy(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EpsilonGreedy.select` does; the parameters are epsilon_1, epsilon_2, ..."""
    if rng.random() < view.parameters[t - 1]:
        return view.basis[int(rng.random() * view.basis.size)]
    return argmax(view.scores, view.lanes)


@inlined
def greedy_on_offer(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `greedy` does, where D_k changes with each step: it is found when it is needed."""
    if rng.random() < view.parameters[t - 1]:
        return spanning(int(rng.random() * view.basis.size), view)
    return argmax(view.scores, view.lanes)


@inlined
def greedy_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `EpsilonGreedy.select` does, on a convex set."""
    if rng.random() < view.parameters[t - 1]:
        copy(view.basis[int(rng.random() * view.basis.shape[0])], x)
    else:
        support(view.region, view.aim, x)


LOOPS = {"greedy": loops("greedy", greedy, greedy_point, greedy_on_offer)}
