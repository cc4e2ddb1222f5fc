"""Thompson sampling in the compiled loops, as in `strategies.thompson`."""

from __future__ import annotations

import math

from projbandits.simulation.kernels.common import argmax, inlined, products
from projbandits.simulation.kernels.loops import loops
from projbandits.simulation.kernels.posterior import RATIO, root, sigma_of, spread
from projbandits.simulation.kernels.support import support
from projbandits.simulation.kernels.variances import factor


@inlined
def thompson(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `ProjectedTS.select` does."""
    drawn_scores(t, view, rng, view.own)
    return argmax(view.room.gaps, view.lanes)


@inlined
def drawn_scores(t, view, rng, own):  # type: ignore[no-untyped-def]
    """Fill `gaps` with the score of each arm under a draw of the belief."""
    room, sigma = view.room, sigma_of(t, view, own)
    z, drawn = room.rows[0], room.rows[1]
    for a in range(z.size):
        z[a] = rng.standard_normal()
    if own is None:
        root(view.inverse, room.matrix)
        spread(view.theta, sigma, room.matrix, z, drawn)
        products(view.aim_columns, drawn, room.gaps)
    else:
        L = room.matrix
        for a in range(z.size):
            for b in range(z.size):
                L[a, b] = view.inverse[a, b]
        factor(L)
        for a in range(z.size):
            drawn[a] = 0.0
            for b in range(a + 1):
                drawn[a] += sigma * L[a, b] * z[b]
        products(view.aim_columns, drawn, room.gaps)
        products(view.learn_columns, drawn, room.scratch)
        for j in range(room.gaps.size):
            w = own.weights[j]
            alone = sigma * math.sqrt(own.scales[RATIO] * w) * rng.standard_normal()
            room.gaps[j] += view.scores[j] - (1.0 - w) * room.scratch[j] + alone


@inlined
def thompson_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `ProjectedTS.select` does, on a convex set."""
    room = view.room
    z, drawn = room.rows[0], room.rows[1]
    for a in range(z.size):
        z[a] = rng.standard_normal()
    root(view.inverse, room.matrix)
    spread(view.theta, sigma_of(t, view, view.own), room.matrix, z, drawn)
    products(view.projection, drawn, z)
    support(view.region, z, x)


LOOPS = {"thompson": loops("thompson", thompson, thompson_point)}
