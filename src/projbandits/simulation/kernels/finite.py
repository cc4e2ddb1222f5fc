"""The compiled step loop on finitely many arms: the reference loop, at the speed of machine code.

Scores and widths are not recomputed at each step. A pull of arm i moves theta-hat along
v = V^-1 f_i, so it moves the score of arm j by c <a_j, v> and its squared width by
-<f_j, v>^2 / (1 + q): both come from one product with v. Loops over arms are innermost, on
transposed matrices, so that they vectorise without reordering any sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.simulation.kernels.common import LANES, direction, move, observe, products
from projbandits.simulation.kernels.posterior import (
    Inside,
    Own,
    Room,
    inside_of,
    shift,
    turn,
    work_room,
)
from projbandits.simulation.kernels.tally import START, count


class View(NamedTuple):
    """What a rule may look at when it chooses among finitely many arms.

    Parameters
    ----------
    scores : ndarray of shape (K,)
        <a_j, theta-hat>: the estimate of what is aimed at, for each arm.
    squares : ndarray of shape (K,)
        |f_j|^2_{V^-1}: the squared width of each arm; kept only if the rule asks for it.
    inverse, theta : ndarray of shape (d, d) and (d,)
        V^-1 and theta-hat.
    learn, aim : ndarray of shape (K, d)
        The arms as they are learnt on (f_j) and aimed at (a_j).
    learn_columns, aim_columns : ndarray of shape (d, K)
        Their transposes.
    residual : ndarray of shape (1,)
        `Ridge.residual`: what the estimate could not explain.
    basis : ndarray of shape (k,)
        The rows of D_k.
    parameters, plan : ndarray
        What the strategy passed on.
    scratch, lanes : ndarray of shape (K,) and (8,)
        Room to work in.
    inside, room : Inside and Room
        The belief in coordinates of U and room to work in, only if the rule asks for them.
    own : Own or None
        What is known of the arms' own effects, if they have any; scores and squares then include
        them.
    """

    scores: Array
    squares: Array
    inverse: Array
    theta: Array
    learn: Array
    aim: Array
    learn_columns: Array
    aim_columns: Array
    residual: Array
    basis: NDArray[np.int64]
    parameters: Array
    plan: Array
    scratch: Array
    lanes: Array
    inside: Inside
    room: Room
    own: Own | None


Twice = tuple[Array, Array]
"""A matrix and its transpose."""


def finite_view(
    penalty: float,
    learn: Twice,
    aim: Twice,
    basis: NDArray[np.int64],
    parameters: Array,
    plan: Array,
    B: Array,
) -> View:
    """Return the view of a trial that is about to begin.

    The transposes may have columns for arms that do not exist, which never lead; see `widened`.
    B holds a basis of U, or no columns if the rule does not read `inside`.
    """
    d, K = learn[1].shape
    scores, squares = np.zeros(K), np.zeros(K)
    scores[len(learn[0]) :] = -np.inf
    for column in learn[1]:
        squares += column * column / penalty
    return View(
        scores,
        squares,
        np.eye(d) / penalty,
        np.zeros(d),
        learn[0],
        aim[0],
        learn[1],
        aim[1],
        np.zeros(1),
        basis,
        parameters,
        plan,
        np.empty(K),
        np.empty(LANES),
        inside_of(B, learn[1], penalty),
        work_room(K, *B.shape) if B.size else work_room(0, 0, 0),
        None,
    )


def finite_steps(  # type: ignore[no-untyped-def]
    view, room, moved, widths, same, tally, wrong, world, noise_rng, rng, horizon, stop
):
    """Play one trial.

    `room` (2 x d) and `moved` (K) are scratch. If the rule returns a row that does not exist,
    `wrong` is set to the step and the row, and the trial ends.
    """
    scores, squares, inverse, theta, learn = (
        view.scores,
        view.squares,
        view.inverse,
        view.theta,
        view.learn,
    )
    learn_T, aim_T, residual = view.learn_columns, view.aim_columns, view.residual
    v, u = room[0], room[1]
    row = u[: view.inside.basis.shape[1]]
    inside = row.size > 0
    K, so_far = scores.size, START
    for t in range(1, horizon + 1):
        if t % 4096 == 0 and stop[0]:
            break
        i = rule(t, view, rng)  # type: ignore[name-defined]  # noqa: F821  (see `bind`)
        if i < 0 or i >= K:  # before row i is read
            wrong[0], wrong[1] = t, i
            break
        observed = observe(world.noise, world.means[i], world.scale, noise_rng)
        q, p = direction(inverse, theta, learn[i], v)
        w = 1.0 / (1.0 + q)
        c = (observed - p) * w
        residual[0] += c * (observed - p)
        move(inverse, theta, c, w, v, u)
        products(aim_T, v, moved)
        for j in range(K):
            scores[j] += c * moved[j]
        if inside:
            turn(view.inside.basis, v, row)
            shift(view.inside.among, w, row, moved)
        if widths:
            if not same:
                products(learn_T, v, moved)
            for j in range(K):
                squares[j] = max(squares[j] - w * moved[j] * moved[j], 0.0)
        if inside:
            shift(view.inside.across, w, row, moved)
        so_far = count(
            tally, so_far, t, 1, i, world.gaps[i], world.return_gaps[i], world.is_best[i]
        )
