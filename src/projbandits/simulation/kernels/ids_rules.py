"""The rules of the information-directed strategies and of Thompson sampling, on finitely many arms.

`parameters` begins with sigma, or 0 if it is to be estimated, and lambda.
"""

from __future__ import annotations

import math

from numba import njit

from projbandits.simulation.kernels.common import argmax, bind, products
from projbandits.simulation.kernels.ids import cautious_noise, root, spread
from projbandits.simulation.kernels.prospects import (
    best_ratio,
    directed,
    improvement,
    two_actions,
)
from projbandits.simulation.kernels.steps import steps


@njit(nogil=True, error_model="numpy", forceinline=True)
def sigma_of(t, view):  # type: ignore[no-untyped-def]
    """Return sigma as given, or as estimated from what was seen before step t."""
    if view.parameters[0] > 0.0:
        return view.parameters[0]
    return cautious_noise(view.residual[0], t - 1, view.inverse, view.parameters[1])


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiids_of(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIIDS.select` does, among the arms that the view shows."""
    h = argmax(view.scores, view.lanes)
    improvement(h, sigma_of(t, view), view.scores, view.squares, view.inside, view.room)
    j, p = two_actions(h, view.room)
    return j if rng.random() < p else h


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiratio_of(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIRatio.select` does; the third parameter is the horizon."""
    h = argmax(view.scores, view.lanes)
    improvement(h, sigma_of(t, view), view.scores, view.squares, view.inside, view.room)
    return best_ratio(h, max(view.parameters[2] - t, 0.0), view.room)


@njit(nogil=True, error_model="numpy", forceinline=True)
def directed_of(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `DirectedIDS.select` does; the third parameter is the bound on theta, or 0."""
    h = argmax(view.scores, view.lanes)
    directed(h, _reach(t, view), view.scores, view.squares, view.inside, view.room)
    j, p = two_actions(h, view.room)
    return j if rng.random() < p else h


@njit(nogil=True, error_model="numpy", forceinline=True)
def _reach(t, view):  # type: ignore[no-untyped-def]
    """Return sigma times the radius of `DirectedIDS`."""
    sigma, penalty, bound = sigma_of(t, view), view.parameters[1], view.parameters[2]
    if bound == 0.0:
        return sigma * math.sqrt(math.log(t) / 2.0)
    grown = root(view.inverse, view.room.matrix) - view.theta.size * math.log(penalty)
    return sigma * math.sqrt(4.0 * math.log(t) + max(grown, 0.0)) + math.sqrt(penalty) * bound


@njit(nogil=True, error_model="numpy", forceinline=True)
def thompson_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `ProjectedTS.select` does."""
    room = view.room
    z, drawn = room.rows[0], room.rows[1]
    for a in range(z.size):
        z[a] = rng.standard_normal()
    root(view.inverse, room.matrix)
    spread(view.theta, sigma_of(t, view), room.matrix, z, drawn)
    products(view.aim_columns, drawn, room.scratch)
    return argmax(room.scratch, view.lanes)


eiids_steps = bind(steps, "eiids_steps", allocates=False, rule=eiids_of)
eiratio_steps = bind(steps, "eiratio_steps", allocates=False, rule=eiratio_of)
directed_steps = bind(steps, "directed_steps", allocates=False, rule=directed_of)
thompson_steps = bind(steps, "thompson_steps", allocates=False, rule=thompson_rule)
