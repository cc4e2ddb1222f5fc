"""A trial on finitely many arms as arrays, and the step that every loop on them takes.

Scores and widths are not recomputed at each step. A pull of arm i moves theta-hat along
v = V^-1 f_i, so it moves the score of arm j by c <a_j, v> and its squared width by
-<f_j, v>^2 / (1 + q): both come from one product with v. Loops over arms are innermost, on
transposed matrices, so that they vectorise without reordering any sum.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.problems import Bernoulli, Gaussian, Uniform
from projbandits.simulation.kernels.compiler import inlined

GAUSSIAN, UNIFORM, BERNOULLI = 0, 1, 2
NOISE_CODES: dict[type, int] = {Gaussian: GAUSSIAN, Uniform: UNIFORM, Bernoulli: BERNOULLI}
"""The kinds of noise that `observe` knows."""
VECTOR = 16
"""Rows have a multiple of this many entries: loops over them have no remainder, and the maximum is
found in lanes. Both bring EIIDS 7 to 9 % (docs/numerics.md, `benchmarks.pieces`)."""

SCORES, SQUARES, MOVED, GAPS, INFO, DEVIATIONS, WORK, TERMS, FOLDED = range(9)
"""The rows of `State.arms`: <a_j, theta-hat>, |f_j|^2_{V^-1} (both with effects, if arms have any),
how both move; gap, information, and deviation of the lead over the greedy arm; room."""
WEIGHTS, LINEAR, PULLS, SUMS = range(9, 13)
"""Its rows where arms have effects of their own: 1 / (1 + n_j rho), the squared width of the
features' part, n_j, and the sum of the returns."""
DIRECTION, HALF, TURNED, TOLD = range(4)
MATRIX = 4
"""The rows of `State.room`: V^-1 f and room, B^T v, V theta-hat; a matrix follows."""
PLACES, AMONG, ACROSS, BEYOND = range(4)
"""The layers of `State.inside`, in coordinates of U: B^T x_j, how the wanted reward of each arm
depends on theta; B^T V^-1 B B^T x_j, how it varies with the others'; B^T V^-1 x_j, how the return
of each arm moves the wanted rewards; and how the wanted reward differs from the greedy arm's.
If arms have effects, the coordinates are those of the whole space."""
RATIO, NOISE, COUNT, RETURNS, PENALTY = range(5)
"""The entries of `State.scales`: rho, sigma, the number of pulls, the sum of the squares of the
returns, and lambda."""
NARROW, WIDE, INSIDE = range(3)
"""What a step keeps up to date: scores; squared widths too; the belief inside of U too."""


class State(NamedTuple):
    """The belief, the arms, and room to work in.

    Parameters
    ----------
    inverse, theta, residual : ndarray of shape (d, d), (d,) and (1,)
        V^-1, theta-hat, and `Ridge.residual`: what the estimate could not explain.
    learn : ndarray of shape (K, d)
        The arms as they are learnt on (f_j).
    learn_T, aim_T : ndarray of shape (d, W)
        Transposes of the arms as learnt on and as aimed at (a_j), with columns of zeros for arms
        that do not exist; `learn_T` is empty if it would be the same.
    B : ndarray of shape (d, u)
        An orthonormal basis of U, or no columns if the rule does not look inside.
    inside : ndarray of shape (4, u, W)
        The belief in coordinates of U; its layers are named above.
    arms, room : ndarray of shape (13, W) and (4 + d, d)
        What is known of each arm, and room; their rows are named above.
    parameters, plan : ndarray
        Those of `CompiledRule`.
    basis : ndarray of int
        The rows of D_k.
    scales : ndarray of shape (5,)
        Named above; empty if arms have no effects.
    """

    inverse: Array
    theta: Array
    residual: Array
    learn: Array
    learn_T: Array  # noqa: N815
    aim_T: Array  # noqa: N815
    B: Array
    inside: Array
    arms: Array
    room: Array
    parameters: Array
    plan: Array
    basis: NDArray[np.int64]
    scales: Array


class FiniteWorld(NamedTuple):
    """What is true of K arms; a rule never sees it.

    Parameters
    ----------
    means : ndarray of shape (K,)
        The mean return of each arm.
    costs : ndarray of shape (3, K)
        What each arm costs in projection reward and in return, and whether it is a best one.
    noise, scale : int and float
        Which noise, by `NOISE_CODES`, and its parameter.
    """

    means: Array
    costs: Array
    noise: int
    scale: Any


class Tally(NamedTuple):
    """What is asked about a trial, and the answers.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        The steps that are asked about, in order; see `simulation.records.Questions`.
    out : ndarray of shape (3, n)
        The answers: both regrets and the plays of a best arm, up to each step.
    pulls : ndarray of shape (K,)
        How often each arm was played; on a convex set all plays have one entry.
    so_far, due : ndarray of shape (3,) and (1,)
        The answers up to now, and how many questions are answered.
    """

    steps: NDArray[np.int64]
    out: Array
    pulls: NDArray[np.int64]
    so_far: Array
    due: NDArray[np.int64]


def begin_tally(steps: NDArray[np.int64], K: int) -> Tally:
    """Return the tally of a trial with K arms that is about to begin."""
    out = np.zeros((3, len(steps)))
    return Tally(steps, out, np.zeros(K, np.int64), np.zeros(3), np.zeros(1, np.int64))


def aligned(*shape: int) -> Array:
    """Return zeros that begin where a vector does, so that no row of vectors straddles two."""
    room = np.zeros(math.prod(shape) + VECTOR)
    begin = -(room.ctypes.data // 8) % VECTOR
    return room[begin : begin + math.prod(shape)].reshape(shape)


def widened(columns: Array) -> Array:
    """Return matrices with an arm per column, with columns of zeros up to a multiple of `VECTOR`.

    An arm of zeros whose score is -inf never leads, and nothing is learnt from it.
    """
    out = aligned(*columns.shape[:-1], -(-columns.shape[-1] // VECTOR) * VECTOR)
    out[..., : columns.shape[-1]] = columns
    return out


def begin_state(
    penalty: float,
    learn: Array,
    aim: Array,
    parameters: Array,
    plan: Array,
    basis: NDArray[np.int64],
    B: Array | None = None,
    scales: Array | None = None,
) -> State:
    """Return the state of a trial that is about to begin."""
    learn_T, aim_T = widened(learn.T), widened(aim.T)
    d, width = aim_T.shape
    B = np.empty((d, 0)) if B is None else np.ascontiguousarray(B)
    inside = aligned(4, B.shape[1], width)
    inside[PLACES] = B.T @ learn_T
    inside[AMONG] = inside[ACROSS] = inside[PLACES] / penalty
    arms = aligned(SUMS + 1, width)
    arms[SCORES, len(learn) :] = -np.inf
    for column in learn_T:
        arms[SQUARES] += column * column / penalty
    return State(
        np.eye(d) / penalty,
        np.zeros(d),
        np.zeros(1),
        np.array(learn, order="C"),
        np.empty((d, 0)) if learn is aim and scales is None else learn_T,
        aim_T,
        B,
        inside,
        arms,
        np.zeros((MATRIX + d, d)),
        np.array(parameters),
        np.array(plan),
        np.array(basis, np.int64),
        np.empty(0) if scales is None else scales,
    )


@inlined
def stopped(t, stop):
    """Return whether another thread has raised the flag; it is looked at now and then."""
    return t % 4096 == 0 and stop[0] != 0


@inlined
def first_largest(values):
    """Return the first position of the largest value.

    A running maximum cannot be vectorised without reordering, so eight run side by side.
    """
    a, b, c, d = values[0], values[1], values[2], values[3]
    e, f, g, h = values[4], values[5], values[6], values[7]
    for j in range(8, values.size, 8):
        a, b = max(a, values[j]), max(b, values[j + 1])
        c, d = max(c, values[j + 2]), max(d, values[j + 3])
        e, f = max(e, values[j + 4]), max(f, values[j + 5])
        g, h = max(g, values[j + 6]), max(h, values[j + 7])
    largest = max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))
    first = 0
    while values[first] != largest and first + 1 < values.size:  # among nan there is no largest
        first += 1
    return first


@inlined
def lowest(values):
    """Return the least value, by four comparisons side by side."""
    a, b, c, d = np.inf, np.inf, np.inf, np.inf
    for j in range(0, values.size, 4):
        a, b = min(a, values[j]), min(b, values[j + 1])
        c, d = min(c, values[j + 2]), min(d, values[j + 3])
    return min(min(a, b), min(c, d))


@inlined
def observe(noise, mean, scale, rng):
    """Return one observation, drawn as the classes of `problems.noise` draw it."""
    if noise == GAUSSIAN:
        return mean + scale * rng.standard_normal()
    if noise == UNIFORM:
        return mean + scale * math.sqrt(3.0) * (2.0 * rng.random() - 1.0)
    width = 2.0 * scale
    lower = math.floor(mean / width)
    return width * (lower + (1.0 if rng.random() < mean / width - lower else 0.0))


@inlined
def product(matrix_T, v, out):
    """Fill out with <row_j, v> for each row of a matrix given by its transpose.

    Four terms at a time, in order: the sums are the same, and `out` is written less often.
    """
    d, n = v.size, out.size
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


@inlined
def direction(inverse, theta, f, v):
    """Fill v = V^-1 f and return q = <f, v> and p = <f, theta-hat>."""
    product(inverse, f, v)
    q, p = 0.0, 0.0
    for a in range(f.size):
        q += v[a] * f[a]
        p += theta[a] * f[a]
    return q, p


@inlined
def move(inverse, theta, c, w, v, u, n=0):
    """Move theta-hat by c v and V^-1 by -w v v^T, symmetric to the last bit; u is room.

    `n` is d if that is a constant.
    """
    d = n or v.size
    root = math.sqrt(w)
    for a in range(d):
        theta[a] += c * v[a]
        u[a] = root * v[a]
    for a in range(d):
        ua = u[a]
        for b in range(d):
            inverse[a, b] -= ua * u[b]


@inlined
def shift(covariances, w, turned, moved):
    """Update B^T V^-1 c_j for V^-1 moving by -w v v^T; `turned` is B^T v, `moved` <c_j, v>."""
    for a in range(covariances.shape[0]):
        share = w * turned[a]
        for j in range(moved.size):
            covariances[a, j] -= share * moved[j]


@inlined
def learn(i, observed, state):
    """Move the belief by one observation of arm i; return how far, c and w of `move`."""
    v = state.room[DIRECTION]
    q, p = direction(state.inverse, state.theta, state.learn[i], v)
    w = 1.0 / (1.0 + q)
    c = (observed - p) * w
    state.residual[0] += c * (observed - p)
    move(state.inverse, state.theta, c, w, v, state.room[HALF])
    return c, w


@inlined
def update(i, observed, keeps, state):
    """Learn one observation of arm i, and all that follows for the others."""
    scores, squares, moved = state.arms[SCORES], state.arms[SQUARES], state.arms[MOVED]
    v, turned = state.room[DIRECTION], state.room[TURNED, : state.B.shape[1]]
    c, w = learn(i, observed, state)
    product(state.aim_T, v, moved)
    for j in range(moved.size):
        scores[j] += c * moved[j]
    if keeps == INSIDE:
        product(state.B, v, turned)
        shift(state.inside[AMONG], w, turned, moved)
    if keeps != NARROW:
        if state.learn_T.size > 0:
            product(state.learn_T, v, moved)
        for j in range(moved.size):
            squares[j] = max(squares[j] - w * moved[j] * moved[j], 0.0)
    if keeps == INSIDE:
        shift(state.inside[ACROSS], w, turned, moved)


@inlined
def count(tally, t, m, i, gap, return_gap, best):
    """Count m plays of arm i from step t on, and answer what is asked."""
    so_far, due = tally.so_far, tally.due[0]
    tally.pulls[i] += m
    while due < tally.steps.size and tally.steps[due] < t + m:
        played = tally.steps[due] - t + 1
        tally.out[0, due] = so_far[0] + gap * played
        tally.out[1, due] = so_far[1] + return_gap * played
        tally.out[2, due] = so_far[2] + best * played
        due += 1
    tally.due[0] = due
    so_far[0] += gap * m
    so_far[1] += return_gap * m
    so_far[2] += best * m
