"""Kernels on finitely many arms as stock numba: one state, one step, a plain loop for each rule.

`numba_loops_measured` has the clock. SPIKE_PARTS says how the functions that only kernels call are
compiled: "plain", "force" (LLVM inlines them), "bare" (and no entry from Python), "jitable"
(the same by `register_jitable`), "ir" (numba inlines
them).
"""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic, register_jitable

from benchmarks.spikes.numba_cache import kept

PARTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "force": {"forceinline": True},
    "bare": {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True},
    "ir": {"inline": "always"},
    "jitable": {"forceinline": True},
}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
KIND = os.environ.get("SPIKE_PARTS", "jitable")
part: Any = (register_jitable if KIND == "jitable" else njit)(**OPTIONS, **PARTS[KIND])
loop = kept(**OPTIONS)

VECTOR, LEAST_FREE, NOISE_MARGIN, FAR_BEHIND, TIE = 16, 1e-9, 1.0, 37.0, 1e-9
SCORES, SQUARES, MOVED, INDEX, GAPS, INFO, DEVIATIONS, BEHIND, TOLD, TERMS, FOLDED = range(11)
RATIOS, CHANCES = 11, 12
"""The rows of `State.scratch` that have an entry for each arm."""
V, W, TURNED = 13, 14, 15
"""Its rows that have an entry for each coordinate."""
ROWS = 16
"""How many rows there are; a matrix of dim U rows follows."""
PLACES, AMONG, ACROSS, BEYOND = range(4)
"""The layers of `State.inside`: B^T x_j, B^T V^-1 B B^T x_j, B^T V^-1 x_j, and differences."""
GREEDY, WIDE, INSIDE = 0, 1, 2
"""What a step keeps up to date: scores; widths too; what the rule knows inside of U too."""


class State(NamedTuple):
    """The belief, the arms, and room."""

    inverse: Any  # d x d
    theta: Any  # d
    residual: Any  # 1
    learn: Any  # K x d
    learn_T: Any  # noqa: N815 - d x K, with columns of zeros up to a multiple of VECTOR; none if as aim_T
    aim_T: Any  # noqa: N815 - d x K
    B: Any  # d x u
    inside: Any  # 4 x u x K
    scratch: Any  # (ROWS + u) x max(K, d)
    parameters: Any  # of the rule
    basis: Any  # the rows of D_k


class World(NamedTuple):
    """What is true of each arm; a strategy never sees it."""

    means: Any
    costs: Any  # 3 x K: gap, return gap, whether it is a best arm
    noise: int
    scale: float


class Tally(NamedTuple):
    """What is asked about a trial, and the answers."""

    steps: Any
    out: Any  # 3 x steps
    pulls: Any
    so_far: Any  # 3: both regrets and the plays of a best arm
    due: Any  # 1


def state_of(
    learn: Any, aim: Any, penalty: float, parameters: Any, basis: Any, B: Any = None
) -> State:
    """Return the state of a trial that is about to begin."""
    K, d = learn.shape
    wide = -(-K // VECTOR) * VECTOR
    learn_T, aim_T = np.zeros((d, wide)), np.zeros((d, wide))
    learn_T[:, :K], aim_T[:, :K] = learn.T, aim.T
    B = np.empty((d, 0)) if B is None else np.ascontiguousarray(B)
    inside = np.zeros((4, B.shape[1], wide))
    inside[PLACES] = B.T @ learn_T
    inside[AMONG] = inside[ACROSS] = inside[PLACES] / penalty
    scratch = np.zeros((ROWS + B.shape[1], max(wide, -(-d // VECTOR) * VECTOR)))
    scratch[SCORES, K:] = -np.inf
    for column in learn_T:
        scratch[SQUARES, :wide] += column * column / penalty
    learn_T = np.empty((d, 0)) if learn is aim else learn_T
    arrays = np.eye(d) / penalty, np.zeros(d), np.zeros(1)
    return State(*arrays, learn, learn_T, aim_T, B, inside, scratch, parameters, basis)


def tally_of(steps: Any, K: int) -> Tally:
    """Return the tally of a trial that is about to begin."""
    out, due = np.zeros((3, len(steps))), np.zeros(1, np.int64)
    return Tally(steps, out, np.zeros(K, np.int64), np.zeros(3), due)


# ---- linear.py: what every rule needs ----


@intrinsic
def pointer(typing, address):  # type: ignore[no-untyped-def]
    """Return an address as a pointer, as in numba's documentation of `intrinsic`."""

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(types.uintp), code


@part
def view(array):  # type: ignore[no-untyped-def]
    """Return the same array, without a counter of references."""
    return carray(pointer(array.ctypes.data), array.shape, array.dtype)


@part
def lent(state, world, tally):  # type: ignore[no-untyped-def]
    """Return the same arrays without counters of references: a loop's caller keeps them.

    Otherwise each access to a field or a row counts up and down, atomically: most of a step.
    """
    s = State(
        view(state.inverse),
        view(state.theta),
        view(state.residual),
        view(state.learn),
        view(state.learn_T),
        view(state.aim_T),
        view(state.B),
        view(state.inside),
        view(state.scratch),
        view(state.parameters),
        view(state.basis),
    )
    w = World(view(world.means), view(world.costs), world.noise, world.scale)
    counts = view(tally.steps), view(tally.out), view(tally.pulls), view(tally.so_far)
    return s, w, Tally(counts[0], counts[1], counts[2], counts[3], view(tally.due))


@part
def product(matrix_T, v, out):  # type: ignore[no-untyped-def]
    """Fill out with <row_j, v> for each row of a matrix given by its transpose."""
    d, n = v.size, matrix_T.shape[1]
    for j in range(n):
        out[j] = 0.0
    a = 0
    while a + 4 <= d:
        v0, v1, v2, v3 = v[a], v[a + 1], v[a + 2], v[a + 3]
        for j in range(n):
            two = (out[j] + v0 * matrix_T[a, j]) + v1 * matrix_T[a + 1, j]
            out[j] = (two + v2 * matrix_T[a + 2, j]) + v3 * matrix_T[a + 3, j]
        a += 4
    while a < d:
        for j in range(n):
            out[j] += v[a] * matrix_T[a, j]
        a += 1


@part
def first_largest(values, n):  # type: ignore[no-untyped-def]
    """Return the first position of the largest value."""
    s0, s1, s2, s3 = values[0], values[1], values[2], values[3]
    for j in range(4, n, 4):  # n is a multiple of VECTOR
        s0 = values[j] if values[j] > s0 else s0
        s1 = values[j + 1] if values[j + 1] > s1 else s1
        s2 = values[j + 2] if values[j + 2] > s2 else s2
        s3 = values[j + 3] if values[j + 3] > s3 else s3
    largest = max(max(s0, s1), max(s2, s3))
    first = 0
    while values[first] != largest and first + 1 < n:
        first += 1
    return first


@part
def observe(i, world, rng):  # type: ignore[no-untyped-def]
    """Return one observation of arm i."""
    mean, scale = world.means[i], world.scale
    if world.noise == 0:
        return mean + scale * rng.standard_normal()
    if world.noise == 1:
        return mean + scale * math.sqrt(3.0) * (2.0 * rng.random() - 1.0)
    width = 2.0 * scale
    lower = math.floor(mean / width)
    return width * (lower + (1.0 if rng.random() < mean / width - lower else 0.0))


@part
def step(t, i, follow, state, world, tally, rng):  # type: ignore[no-untyped-def]
    """Pull arm i: observe, update what follows from the belief, count.

    One function: each level of calls is optimised by itself, which takes a second here.
    """
    observed = observe(i, world, rng)
    inverse, theta, scratch = state.inverse, state.theta, state.scratch
    f, v, u, moved = state.learn[i], scratch[V], scratch[W], scratch[MOVED]
    scores, squares = scratch[SCORES], scratch[SQUARES]
    d, K = theta.size, state.aim_T.shape[1]
    product(inverse, f, v[:d])
    q, p = 0.0, 0.0
    for a in range(d):
        q += v[a] * f[a]
        p += theta[a] * f[a]
    w = 1.0 / (1.0 + q)
    c = (observed - p) * w
    root = math.sqrt(w)
    state.residual[0] += c * (observed - p)
    for a in range(d):
        theta[a] += c * v[a]
        u[a] = root * v[a]
    for a in range(d):
        ua = u[a]
        for b in range(d):
            inverse[a, b] -= ua * u[b]
    product(state.aim_T, v[:d], moved)
    for j in range(K):
        scores[j] += c * moved[j]
    if follow == INSIDE:
        turned = scratch[TURNED]
        product(state.B, v[:d], turned)
        shift(state.inside[AMONG], w, turned, moved)
    if follow >= WIDE:
        if state.learn_T.size > 0:  # otherwise the same as aim_T
            product(state.learn_T, v[:d], moved)
        for j in range(K):
            squares[j] = max(squares[j] - w * moved[j] * moved[j], 0.0)
    if follow == INSIDE:
        shift(state.inside[ACROSS], w, turned, moved)
    count(t, i, world.costs, tally)


@part
def shift(covariances, w, turned, moved):  # type: ignore[no-untyped-def]
    """Update B^T V^-1 c_j for V^-1 moving by -w v v^T; `turned` is B^T v, `moved` <c_j, v>."""
    for a in range(covariances.shape[0]):
        share = w * turned[a]
        for j in range(covariances.shape[1]):
            covariances[a, j] -= share * moved[j]


@part
def count(t, i, costs, tally):  # type: ignore[no-untyped-def]
    """Count a pull of arm i at step t, and answer what is asked."""
    tally.pulls[i] += 1
    for k in range(3):
        tally.so_far[k] += costs[k, i]
    due = tally.due[0]
    if due < tally.steps.size and tally.steps[due] == t:
        for k in range(3):
            tally.out[k, due] = tally.so_far[k]
        tally.due[0] = due + 1


@part
def stopped(t, stop):  # type: ignore[no-untyped-def]
    """Return whether another thread has raised the flag; looked at now and then."""
    return t % 4096 == 0 and stop[0] != 0


# ---- greedy.py ----


@part
def greedy(t, state, rng):  # type: ignore[no-untyped-def]
    """Choose as `EpsilonGreedy.select` does."""
    if rng.random() < state.parameters[t - 1]:
        return state.basis[int(rng.random() * state.basis.size)]
    return first_largest(state.scratch[SCORES], state.aim_T.shape[1])


@loop
def greedy_steps(state, world, tally, noise_rng, rng, horizon, stop):  # type: ignore[no-untyped-def]
    """Play a trial of an epsilon_t-greedy strategy."""
    state, world, tally = lent(state, world, tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        i = greedy(t, state, rng)
        step(t, i, GREEDY, state, world, tally, noise_rng)


# ---- ellipsoid.py ----


@part
def optimistic(t, state):  # type: ignore[no-untyped-def]
    """Choose as `Ellipsoidal.select` does."""
    scores, squares = state.scratch[SCORES], state.scratch[SQUARES]
    index, K = state.scratch[INDEX], state.aim_T.shape[1]
    radius = state.parameters[t - 1]
    for j in range(K):
        index[j] = scores[j] + radius * math.sqrt(squares[j])
    return first_largest(index, K)


@loop
def optimistic_steps(state, world, tally, noise_rng, rng, horizon, stop):  # type: ignore[no-untyped-def]
    """Play a trial of an ellipsoid strategy."""
    state, world, tally = lent(state, world, tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        i = optimistic(t, state)
        step(t, i, WIDE, state, world, tally, noise_rng)


# ---- improvement.py ----

FAR_BELOW = 80.0
TO_INTEGER, LOG2_E = 1.5 * 2.0**52, 1.4426950408889634
LOG_2_HIGH, LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


@part
def lowest(values, n):  # type: ignore[no-untyped-def]
    """Return the least value, by four comparisons side by side; n is a multiple of four."""
    s0, s1, s2, s3 = np.inf, np.inf, np.inf, np.inf
    for j in range(0, n, 4):
        s0 = values[j] if values[j] < s0 else s0
        s1 = values[j + 1] if values[j + 1] < s1 else s1
        s2 = values[j + 2] if values[j + 2] < s2 else s2
        s3 = values[j + 3] if values[j + 3] < s3 else s3
    return min(min(s0, s1), min(s2, s3))


@part
def total(values, n):  # type: ignore[no-untyped-def]
    """Return the sum, by four sums side by side; n is a multiple of four."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(0, n, 4):
        s0 += values[j]
        s1 += values[j + 1]
        s2 += values[j + 2]
        s3 += values[j + 3]
    return (s0 + s1) + (s2 + s3)


@part
def cautious_noise(t, penalty, state):  # type: ignore[no-untyped-def]
    """Return sigma as `Ridge.cautious_noise` estimates it."""
    if state.residual[0] <= 0.0:
        return 1.0
    d, trace = state.theta.size, 0.0
    for a in range(d):
        trace += state.inverse[a, a]
    free = max(t - 1 - (d - penalty * trace), LEAST_FREE)
    return math.sqrt(state.residual[0] / free * (1.0 + NOISE_MARGIN * math.sqrt(2.0 / free)))


@part
def compare(h, state):  # type: ignore[no-untyped-def]
    """Fill in how far each arm is behind arm h, the differences and their deviations."""
    places, among, beyond = state.inside[PLACES], state.inside[AMONG], state.inside[BEYOND]
    scores, gaps = state.scratch[SCORES], state.scratch[GAPS]
    deviations, K = state.scratch[DEVIATIONS], state.aim_T.shape[1]
    for j in range(K):
        deviations[j] = 0.0
    for a in range(places.shape[0]):
        origin, moved = places[a, h], among[a, h]
        for j in range(K):
            beyond[a, j] = places[a, j] - origin
            deviations[j] += beyond[a, j] * (among[a, j] - moved)
    best = scores[h]
    for j in range(K):
        gaps[j] = best - scores[j]
        deviations[j] = math.sqrt(max(deviations[j], 0.0))


@part
def falling(x):  # type: ignore[no-untyped-def]
    """Return exp(-x) for 0 <= x <= 700, to 3e-16; unlike `math.exp` it vectorises."""
    shifted = TO_INTEGER - x * LOG2_E
    k = shifted - TO_INTEGER
    r = (-x - k * LOG_2_HIGH) - k * LOG_2_LOW
    s = 1.0 / 479001600.0
    s = ((s * r + 1.0 / 39916800.0) * r + 1.0 / 3628800.0) * r + 1.0 / 362880.0
    s = ((s * r + 1.0 / 40320.0) * r + 1.0 / 5040.0) * r + 1.0 / 720.0
    s = ((s * r + 1.0 / 120.0) * r + 1.0 / 24.0) * r + 1.0 / 6.0
    s = ((s * r + 0.5) * r + 1.0) * r + 1.0
    power = np.float64(shifted).view(np.int64) << 52
    return np.int64(np.float64(s).view(np.int64) + power).view(np.float64)


@part
def hidden(u):  # type: ignore[no-untyped-def]
    """Return 1 - u Phi(-u) / phi(u) for u >= 0, to 3e-14: a polynomial in t = 4 / (4 + u)."""
    t = 4.0 / (4.0 + u)
    r = 0.02504048794216523
    r = ((r * t - 0.2600227228168807) * t + 1.224527118790178) * t - 3.4400453315968824
    r = (r * t + 6.382615655342452) * t - 8.206042546326382
    r = ((r * t + 7.538305557226105) * t - 5.1394541252988954) * t + 2.728581353121928
    r = ((r * t - 1.1007141036530792) * t + 0.3089324342904526) * t - 0.1245070486670508
    r = ((r * t - 0.0019327776561081627) * t + 0.03389139918315997) * t + 0.10286078430640458
    r = ((r * t + 0.16258229492722853) * t + 0.19897534198964414) * t + 0.2031249785624038
    r = ((r * t + 0.17578125033532505) * t + 0.12499999999783751) * t + 0.06250000000000311
    return r * t * t


@part
def promise(h, sigma, state):  # type: ignore[no-untyped-def]
    """Add the hidden gain to the gaps, and fill in the weight of each arm's lead."""
    gaps, deviations = state.scratch[GAPS], state.scratch[DEVIATIONS]
    weights, u, K = state.scratch[INFO], state.scratch[BEHIND], state.aim_T.shape[1]
    deviations[h] = 0.0
    beyond = FAR_BEHIND + 0.4
    for j in range(K):
        deviations[j] *= sigma
        behind = gaps[j] / deviations[j]
        u[j] = behind if behind < beyond else beyond
    least = lowest(u, K)
    farthest = math.sqrt(min(least * least + FAR_BELOW, FAR_BEHIND * FAR_BEHIND))
    for j in range(K):
        density = falling(0.5 * u[j] * u[j])
        density = density if u[j] <= farthest else 0.0
        weight = density / deviations[j]
        weights[j] = weight if density > 0.0 else 0.0
        u[j] = deviations[j] * density * hidden(u[j])
    delta = total(u, K) / math.sqrt(2.0 * math.pi)
    for j in range(K):
        gaps[j] += delta
    return 0.5 * sigma * sigma / math.sqrt(2.0 * math.pi)


@part
def weigh(state):  # type: ignore[no-untyped-def]
    """Fill the upper half of sum_y weight_y c_y c_y^T below the rows; c_y is how y differs."""
    columns, weights = state.inside[BEYOND], state.scratch[INFO]
    row, folded, M = state.scratch[TERMS], state.scratch[FOLDED], state.scratch[ROWS:]
    K = columns.shape[1]
    n = K // 4
    for a in range(columns.shape[0]):
        for j in range(K):
            row[j] = weights[j] * columns[a, j]
        for b in range(a, columns.shape[0]):
            for j in range(n):
                first = row[j] * columns[b, j] + row[n + j] * columns[b, n + j]
                last = row[2 * n + j] * columns[b, 2 * n + j]
                folded[j] = first + (last + row[3 * n + j] * columns[b, 3 * n + j])
            M[a, b] = total(folded, n)


@part
def quadratic(columns, M, row, out):  # type: ignore[no-untyped-def]
    """Fill out with c_j^T M c_j for each column c_j; `row` is room."""
    n, K = columns.shape
    for j in range(K):
        out[j] = 0.0
    for a in range(n):
        b = a + 1
        half = 0.5 * M[a, a]
        if (n - b) % 2 == 0:
            for j in range(K):
                row[j] = half * columns[a, j]
        else:
            one = M[a, b]
            for j in range(K):
                row[j] = half * columns[a, j] + one * columns[b, j]
            b += 1
        while b < n:
            one, two = M[a, b], M[a, b + 1]
            for j in range(K):
                row[j] += one * columns[b, j] + two * columns[b + 1, j]
            b += 2
        for j in range(K):
            out[j] += 2.0 * row[j] * columns[a, j]


@part
def two_actions(h, state):  # type: ignore[no-untyped-def]
    """Return j and p as `strategies.information.two_actions` does."""
    gaps, info, ratios = state.scratch[GAPS], state.scratch[INFO], state.scratch[RATIOS]
    chances, K = state.scratch[CHANCES], state.aim_T.shape[1]
    gap, known = gaps[h], info[h]
    alone = gap * gap / known if known > 0.0 else np.inf
    for j in range(K):
        costs, tells = gaps[j] - gap, info[j] - known
        p = gap / costs - 2.0 * known / tells
        p = p if costs > 0.0 else 1.0
        p = 1.0 if p > 1.0 else p
        p = p if tells > 0.0 and p > 0.0 else 0.0
        mixed = gap + p * costs
        ratio = mixed * mixed / (known + p * tells)
        ratios[j] = ratio if p > 0.0 else alone
        chances[j] = p
    least = lowest(ratios, K)
    j = 0
    while ratios[j] > least * (1.0 + TIE):
        j += 1
    return j, chances[j]


@part
def eiids(t, state, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIIDS.select` does."""
    info, told, squares = state.scratch[INFO], state.scratch[TOLD], state.scratch[SQUARES]
    K = state.aim_T.shape[1]
    h = first_largest(state.scratch[SCORES], K)
    compare(h, state)
    noise, penalty = state.parameters[0], state.parameters[1]
    factor = promise(h, noise if noise > 0.0 else cautious_noise(t, penalty, state), state)
    weigh(state)
    quadratic(state.inside[ACROSS], state.scratch[ROWS:], state.scratch[TERMS], told)
    for j in range(K):
        info[j] = factor * max(told[j], 0.0) / (1.0 + squares[j])
    j, p = two_actions(h, state)
    return j if rng.random() < p else h


@loop
def eiids_steps(state, world, tally, noise_rng, rng, horizon, stop):  # type: ignore[no-untyped-def]
    """Play a trial of EIIDS."""
    state, world, tally = lent(state, world, tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        i = eiids(t, state, rng)
        step(t, i, INSIDE, state, world, tally, noise_rng)
