"""Random streams inside a kernel: Philox 4x64-10, which needs only a key and a counter, no seeding.

A block of four numbers is a bijection of a counter, scrambled under a key (Salmon, Moraes, Dror and
Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011). The seed makes the key, and trial and
purpose are a part of the counter, so streams never overlap and starting one is free. The bits are
those of `numpy.random.Philox`; normals are made from them by Box and Muller's transform.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.simulation.kernels.compiler import inlined, part

PHILOX_BLOCK = 4
FIRST, SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
FIRST_STEP, SECOND_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
UNUSED_BITS = np.uint64(11)  # of 64, so that 53 are left, as many as a float has


class Stream(NamedTuple):
    """A stream of uniforms or of normals, never of both: `values` holds the current block."""

    words: NDArray[np.uint64]
    """The counter (block, 0, trial, purpose), the key, and how many values are used up."""
    values: Array


@inlined
def begin(key, trial, purpose):
    """Return the stream of one trial for one purpose, at its beginning."""
    words = np.zeros(7, np.uint64)
    words[2], words[3] = trial, purpose
    words[4], words[5] = key[0], key[1]
    words[6] = PHILOX_BLOCK
    return Stream(words, np.empty(PHILOX_BLOCK))


@inlined
def high(a, b):
    """Return the upper 64 bits of a product."""
    a0, a1, b0, b1 = a & LOW, a >> HALF, b & LOW, b >> HALF
    middle = a1 * b0 + ((a0 * b0) >> HALF)
    other = a0 * b1 + (middle & LOW)
    return a1 * b1 + (middle >> HALF) + (other >> HALF)


@part
def refill(stream):
    """Fill the values with the next block of uniforms in [0, 1)."""
    words, values = stream
    words[0] += np.uint64(1)
    c0, c1, c2, c3, k0, k1 = words[0], words[1], words[2], words[3], words[4], words[5]
    for _ in range(10):
        c0, c1, c2, c3 = (
            high(SECOND, c2) ^ c1 ^ k0,
            SECOND * c2,
            high(FIRST, c0) ^ c3 ^ k1,
            FIRST * c0,
        )
        k0 += FIRST_STEP
        k1 += SECOND_STEP
    values[0] = (c0 >> UNUSED_BITS) * 2.0**-53
    values[1] = (c1 >> UNUSED_BITS) * 2.0**-53
    values[2] = (c2 >> UNUSED_BITS) * 2.0**-53
    values[3] = (c3 >> UNUSED_BITS) * 2.0**-53
    words[6] = 0


@part
def uniform(stream):
    """Return the next number of a stream of uniforms in [0, 1)."""
    if stream.words[6] == PHILOX_BLOCK:
        refill(stream)
    stream.words[6] += np.uint64(1)
    return stream.values[stream.words[6] - np.uint64(1)]


@part
def normal(stream):
    """Return the next number of a stream of standard normals."""
    if stream.words[6] == PHILOX_BLOCK:
        refill(stream)
        for i in range(0, PHILOX_BLOCK, 2):
            radius = math.sqrt(-2.0 * math.log(1.0 - stream.values[i]))
            angle = 2.0 * math.pi * stream.values[i + 1]
            stream.values[i] = radius * math.cos(angle)
            stream.values[i + 1] = radius * math.sin(angle)
    stream.words[6] += np.uint64(1)
    return stream.values[stream.words[6] - np.uint64(1)]
