"""The rules of the information-directed strategies and of Thompson sampling.

`parameters` begins with sigma, or 0 if it is to be estimated.
"""

from __future__ import annotations

import math

from numba import njit

from projbandits.simulation.kernels.common import argmax, bind, products
from projbandits.simulation.kernels.ids import (
    best_ratio,
    cautious_noise,
    directed,
    improvement,
    root,
    two_actions,
)
from projbandits.simulation.kernels.steps import steps


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiids_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIIDS.select` does."""
    h = _improvement(t, view)
    j, p = two_actions(h, view.room)
    return j if rng.random() < p else h


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiratio_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIRatio.select` does; the second parameter is the horizon."""
    h = _improvement(t, view)
    return best_ratio(h, max(view.parameters[1] - t, 0.0), view.room)


@njit(nogil=True, error_model="numpy", forceinline=True)
def _improvement(t, view):  # type: ignore[no-untyped-def]
    sigma = cautious_noise(view.parameters[0], view.residual[0], t - 1)
    h = argmax(view.scores, view.lanes)
    improvement(h, sigma, view.scores, view.squares, view.inside, view.room)
    return h


@njit(nogil=True, error_model="numpy", forceinline=True)
def directed_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `DirectedIDS.select` does; see `reach` for the parameters."""
    h = argmax(view.scores, view.lanes)
    radius = reach(t, view)
    directed(h, radius, view.scores, view.squares, view.inside, view.room)
    j, p = two_actions(h, view.room)
    return j if rng.random() < p else h


@njit(nogil=True, error_model="numpy", forceinline=True)
def reach(t, view):  # type: ignore[no-untyped-def]
    """Return sigma times the radius of `DirectedIDS`; parameters: sigma, lambda, bound or 0."""
    sigma = cautious_noise(view.parameters[0], view.residual[0], t - 1)
    penalty, bound = view.parameters[1], view.parameters[2]
    log_t = math.log(t)
    if bound == 0.0:
        return sigma * math.sqrt(log_t / 2.0)
    grown = root(view.inverse, view.room.matrix) - view.theta.size * math.log(penalty)
    return sigma * math.sqrt(4.0 * log_t + grown) + math.sqrt(penalty) * bound


@njit(nogil=True, error_model="numpy", forceinline=True)
def thompson_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `ProjectedTS.select` does."""
    room = view.room
    sigma = cautious_noise(view.parameters[0], view.residual[0], t - 1)
    z, drawn = room.rows[0], room.rows[1]
    for a in range(z.size):
        z[a] = rng.standard_normal()
    draw(view.inverse, view.theta, sigma, z, room.matrix, drawn)
    products(view.aim_T, drawn, room.scratch)
    return argmax(room.scratch, view.lanes)


@njit(nogil=True, error_model="numpy", forceinline=True)
def draw(inverse, theta, sigma, z, L, drawn):  # type: ignore[no-untyped-def]
    """Fill drawn = theta-hat + sigma L z with L L^T = V^-1."""
    root(inverse, L)
    for a in range(z.size):
        total = 0.0
        for b in range(a + 1):
            total += L[a, b] * z[b]
        drawn[a] = theta[a] + sigma * total


eiids_steps = bind(steps, "eiids_steps", allocates=False, rule=eiids_rule)
eiratio_steps = bind(steps, "eiratio_steps", allocates=False, rule=eiratio_rule)
directed_steps = bind(steps, "directed_steps", allocates=False, rule=directed_rule)
thompson_steps = bind(steps, "thompson_steps", allocates=False, rule=thompson_rule)
