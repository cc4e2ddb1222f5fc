"""The same rules on a convex set: they choose among points that the belief proposes."""

from __future__ import annotations

from numba import njit

from projbandits.simulation.kernels.common import bind, products
from projbandits.simulation.kernels.convex import convex_steps
from projbandits.simulation.kernels.ids import root, spread
from projbandits.simulation.kernels.ids_rules import (
    directed_of,
    eiids_of,
    eiratio_of,
    sigma_of,
)
from projbandits.simulation.kernels.support import support
from projbandits.strategies.ids import DRAWS, TURNS

HEAD = 3
"""The parameters before the normal numbers."""


@njit(nogil=True, error_model="numpy", forceinline=True)
def _propose(t, view):  # type: ignore[no-untyped-def]
    """Fill the candidates of `Believing.candidates`, and what is believed of them."""
    room, d = view.room, view.theta.size
    z, drawn, x = room.rows[0], room.rows[1], room.rows[2]
    root(view.inverse, room.matrix)
    sigma = sigma_of(t, view)
    start = HEAD + t % TURNS * DRAWS * d
    for i in range(view.scores.size):
        if i == 0:
            support(view.region, view.aim, x)
        elif i <= DRAWS:
            for a in range(d):
                z[a] = view.parameters[start + (i - 1) * d + a]
            spread(view.theta, sigma, room.matrix, z, drawn)
            products(view.projection, drawn, z)
            support(view.region, z, x)
        else:
            for a in range(d):
                x[a] = view.basis[i - 1 - DRAWS, a]
        for a in range(d):
            view.candidates[i, a] = x[a]


@njit(nogil=True, error_model="numpy", forceinline=True)
def _believe(view):  # type: ignore[no-untyped-def]
    """Fill the means, the widths and the belief inside of U of the candidates."""
    inside, v = view.inside, view.room.rows[0]
    d, u = inside.basis.shape
    for i in range(view.scores.size):
        x = view.candidates[i]
        products(view.inverse, x, v)
        score, square = 0.0, 0.0
        for a in range(d):
            score += view.aim[a] * x[a]
            square += v[a] * x[a]
        view.scores[i], view.squares[i] = score, square
        for b in range(u):
            place, across = 0.0, 0.0
            for a in range(d):
                place += inside.basis[a, b] * x[a]
                across += inside.basis[a, b] * v[a]
            inside.places[b, i], inside.across[b, i] = place, across
    x = view.room.rows[1]
    for b in range(u):
        for a in range(d):
            x[a] = inside.basis[a, b]
        products(view.inverse, x, v)
        for c in range(u):
            total = 0.0
            for a in range(d):
                total += inside.basis[a, c] * v[a]
            inside.within[b, c] = total


@njit(nogil=True, error_model="numpy", forceinline=True)
def _take(i, view, x):  # type: ignore[no-untyped-def]
    for a in range(x.size):
        x[a] = view.candidates[i, a]


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiids_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `EIIDS.select` does."""
    _propose(t, view)
    _believe(view)
    _take(eiids_of(t, view, rng), view, x)


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiratio_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `EIRatio.select` does."""
    _propose(t, view)
    _believe(view)
    _take(eiratio_of(t, view, rng), view, x)


@njit(nogil=True, error_model="numpy", forceinline=True)
def directed_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `DirectedIDS.select` does."""
    _propose(t, view)
    _believe(view)
    _take(directed_of(t, view, rng), view, x)


@njit(nogil=True, error_model="numpy", forceinline=True)
def thompson_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `ProjectedTS.select` does."""
    room = view.room
    z, drawn = room.rows[0], room.rows[1]
    for a in range(z.size):
        z[a] = rng.standard_normal()
    root(view.inverse, room.matrix)
    spread(view.theta, sigma_of(t, view), room.matrix, z, drawn)
    products(view.projection, drawn, z)
    support(view.region, z, x)


eiids_points = bind(convex_steps, "eiids_points", allocates=False, rule=eiids_point)
eiratio_points = bind(convex_steps, "eiratio_points", allocates=False, rule=eiratio_point)
directed_points = bind(convex_steps, "directed_points", allocates=False, rule=directed_point)
thompson_points = bind(convex_steps, "thompson_points", allocates=False, rule=thompson_point)
