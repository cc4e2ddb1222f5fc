"""A Gaussian walk between two known values: whether it touches a line, and where it is halfway.

The derivation is in docs/event-engine.md.
"""

from __future__ import annotations

import math

from projbandits.simulation.kernels.compiler import inlined
from projbandits.simulation.kernels.philox import normal, uniform

NEGLIGIBLE = -math.log(1e-18)
"""A line is ruled out if the negative logarithm of the probability to touch it is above this.

1e-18 lies below the resolution of the generator: a uniform is a multiple of 2^-53 = 1.1e-16. So
the bound leaves out only what a single draw cannot show; it is not the accuracy of a run.
"""
CLEAR, ABOVE, BELOW, UNKNOWN = 0, 1, 2, 3
FIRST, SECOND, NEITHER = 0, 1, 2


@inlined
def touched(above0, above1, below0, below1, variance, coins):
    """Decide whether a bridge touches a line above it, or one below it.

    The distances from the lines are those at both ends, and the variance is that of the walk from
    one end to the other. Returns CLEAR if it touches neither, ABOVE or BELOW if it touches that
    line, and UNKNOWN, without a draw, if it may touch both or there is no variance.
    """
    if not (above0 > 0.0 and above1 > 0.0 and below0 > 0.0 and below1 > 0.0 and variance > 0.0):
        return UNKNOWN
    above = 2.0 * above0 * above1 / variance
    below = 2.0 * below0 * below1 / variance
    if above > NEGLIGIBLE and below > NEGLIGIBLE:
        return CLEAR
    if above <= NEGLIGIBLE and below <= NEGLIGIBLE:
        return UNKNOWN
    if uniform(coins) >= math.exp(-min(above, below)):
        return CLEAR
    return ABOVE if above < below else BELOW


@inlined
def midpoint(S, T, half, width, sd, noise):
    """Draw a bridge from S to T over `width` steps, `half` steps after S."""
    mean = S + (T - S) * (half / width)
    return mean if sd == 0.0 else mean + sd * math.sqrt(half * (1.0 - half / width)) * normal(noise)


@inlined
def touching_midpoint(y0, y1, half, width, sd, noise, coins):
    """Draw the distance, after half the steps, of a bridge that touches the line it is away from.

    Returns the distance, negative beyond the line, and which half has a touch that its ends do not
    show: FIRST, and nothing is known of the second half; SECOND, and there is none in the first
    half; or NEITHER, as the line is crossed.
    """
    z = midpoint(y0, -y1, half, width, sd, noise)  # mirrored after the first touch
    if z <= 0.0:
        return -z, FIRST
    if uniform(coins) < math.exp(-2.0 * y0 * z / (sd * sd * half)):
        return -z, NEITHER
    return z, SECOND
