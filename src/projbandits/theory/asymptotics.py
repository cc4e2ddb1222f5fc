"""c(theta), the constant of log n that no consistent strategy can beat on finitely many arms.

It is the value of a convex program over the pulls of each arm (docs/limits.md, section 4), found
here by Newton's method on a barrier, with a lower bound from the dual that certifies it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from projbandits._blas import single_threaded_blas
from projbandits._linalg import pivots
from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.problems import World

CERTIFIED = 1e-5
"""The relative distance between the value and its lower bound at which the search ends."""
STEPS = 200
"""How many Newton steps are taken at most; about forty are usual."""
CENTRAL, FASTER = 0.03, 30.0
"""When Newton expects to fall by less than the first, the weight of the cost grows by the other."""
DIRECTIONS_DEPENDENT = 1e-9
"""What is left of a vector below this share of the longest is round-off."""


class AsymptoticConstant(NamedTuple):
    """c(theta), and how surely it is known.

    Parameters
    ----------
    value, lower : float
        c(theta) is at most `value` and at least `lower`.
    pulls : ndarray of shape (K,)
        How often each arm is pulled, in units of log n, to reach `value`; zero for the best arms,
        whose pulls cost nothing and are not limited.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> U = pb.Subspace.coordinates([0, 1], d=2)
    >>> problem = pb.problems.instance(np.eye(2), theta=[1.0, 0.5], subspace=U, noise=0.5)
    >>> c = pb.theory.asymptotic_constant(problem.world(np.random.default_rng(0)))
    >>> c.pulls.round(3)
    array([0., 2.])
    """

    value: float
    lower: float
    pulls: Array


@single_threaded_blas()
def asymptotic_constant(world: World) -> AsymptoticConstant:
    """Return c(theta): every consistent strategy has liminf R_n / log n >= c(theta).

    With h the best arm and N_z log n pulls of arm z, it is the least sum of N_z gap_z such that
    |F_y - F_h|^2 in the norm of (sum_z N_z x_z x_z^T)^-1 is at most gap_y^2 / (2 sigma^2) for every
    y that is not best. Pulls of the best arm are free. The noise is taken to be Gaussian.

    If several arms are best, their differences must follow from their own returns; otherwise no
    number of pulls per log n is enough, and the constant is infinite.

    Parameters
    ----------
    world : World
        A world with finitely many arms and a theta.

    Examples
    --------
    Two arms that show what they are worth: 2 sigma^2 / gap, as for any bandit.

    >>> import numpy as np, projbandits as pb
    >>> U = pb.Subspace.coordinates([0, 1], d=2)
    >>> problem = pb.problems.instance(np.eye(2), theta=[1.0, 0.5], subspace=U, noise=0.5)
    >>> c = pb.theory.asymptotic_constant(problem.world(np.random.default_rng(0)))
    >>> round(c.value, 4), round(c.lower, 4)
    (1.0, 1.0)
    """
    if world.theta is None or world.arm_rewards is None or not isinstance(world.arms, FiniteArms):
        raise ValueError(
            f"world must have finitely many arms and a theta, got {world.arms!r} and theta = "
            f"{world.theta!r}: the constant of log n is that of a linear model with finitely many"
        )
    X, best = world.arms.vectors, world.is_best
    assert best is not None
    F: Array = X @ world.subspace.matrix
    gaps = (world.best_reward - world.arm_rewards)[~best]
    B = _left(X, X[best])
    leads = (F[best] - F[best][0]) @ B
    scale = max(float(np.abs(F).max()), np.finfo(np.float64).tiny)
    pulls = np.zeros(len(X))
    if np.abs(leads).max(initial=0.0) > DIRECTIONS_DEPENDENT * scale and world.noise.scale > 0:
        return AsymptoticConstant(math.inf, math.inf, pulls)
    beyond = (F[~best] - F[best][0]) @ B
    told = np.abs(beyond).max(axis=1, initial=0.0) <= DIRECTIONS_DEPENDENT * scale
    W = beyond[~told] / gaps[~told, None]
    if len(W) == 0 or world.noise.scale == 0:
        return AsymptoticConstant(0.0, 0.0, pulls)
    costs, lower = _cheapest((X[~best] @ B) / np.sqrt(gaps)[:, None], W)
    unit = 2 * world.noise.scale**2
    pulls[~best] = unit * costs / gaps
    return AsymptoticConstant(unit * float(costs.sum()), unit * lower, pulls)


def _left(X: Array, known: Array) -> Array:
    """Return an orthonormal basis of what the rows of X span beyond those of `known`."""
    d = X.shape[1]
    seen = np.zeros((d, 0))
    for rows in (known, X):
        rest = rows - (rows @ seen) @ seen.T
        rest -= (rest @ seen) @ seen.T
        size = float(np.linalg.norm(X, axis=1).max())
        _, order = pivots(rest)
        for i in order[:d]:
            v = rest[i] - seen @ (seen.T @ rest[i])
            v -= seen @ (seen.T @ v)
            if (length := float(np.linalg.norm(v))) > DIRECTIONS_DEPENDENT * size:
                seen = np.column_stack([seen, v / length])
        if rows is known:
            count = seen.shape[1]
    return seen[:, count:]


def _cheapest(Z: Array, W: Array) -> tuple[Array, float]:
    """Return costs v with max_y |w_y|^2 <= 1 in the norm of (sum v z z^T)^-1, of the least sum.

    Also a lower bound on that sum. For weights l_y that add up to 1, f = sum l_y |w_y|^2 and
    a_z = sum l_y <z, w_y>^2 in V^-1, no sum is below f^2 / max a_z: f is convex in v, its gradient
    is -a, and it falls as 1 / v. The barrier's own weights 1 / (1 - |w_y|^2) make that tight.
    """
    costs = np.full(len(Z), 1.0)
    size = float(_squares(Z, W, costs)[0].max()) * len(Z)
    W, costs = W / math.sqrt(size), costs * 2 / len(Z)  # now the squares are at most 1/2
    weight, upper, lower, kept = 1.0, math.inf, 0.0, costs
    terms = len(Z) + len(W)  # at the centre the lower bound is that much below, over the weight
    squares, G, H = _squares(Z, W, costs)
    for _ in range(STEPS):
        G2, slack = G**2, 1 - squares
        pushed = G2 @ (1 / slack)
        told = float((squares / slack).sum()) ** 2 / float((1 / slack).sum())
        lower = max(lower, told / float(pushed.max()))
        if (total := float(costs.sum() * squares.max())) < upper:
            upper, kept = total, costs * squares.max()
        if upper - lower <= CERTIFIED * upper:
            break
        gradient = (weight - pushed) * costs - 1
        hessian = 2 * H * ((G / slack) @ G.T) + (G2 / slack**2) @ G2.T
        hessian = hessian * costs[:, None] * costs + np.eye(len(costs))
        step = -np.linalg.solve(hessian, gradient)  # relative to the costs
        falls = -float(gradient @ step)
        length = min(1.0, 0.99 / max(float(-step.min()), 1e-300))
        height = _height(weight, costs, squares)
        while True:
            moved = costs * (1 + length * step)
            squares, G, H = _squares(Z, W, moved)
            if squares.max() < 1 and (
                falls < CENTRAL  # near the centre a full step is right, and heights only round
                or _height(weight, moved, squares) <= height - 0.1 * length * falls
            ):
                break
            length /= 2
            if length < 1e-9:
                return kept * size, lower * size
        costs = moved
        if falls < CENTRAL and terms > 0.1 * CERTIFIED * upper * weight:
            weight *= FASTER
    return kept * size, lower * size


def _height(weight: float, costs: Array, squares: Array) -> float:
    """Return the cost with its barriers."""
    return float(weight * costs.sum() - np.log(costs).sum() - np.log(1 - squares).sum())


def _squares(Z: Array, W: Array, costs: Array) -> tuple[Array, Array, Array]:
    """Return |w_y|^2, <z, w_y> and <z, z'> in the norm of V^-1."""
    inverse = np.linalg.inv((Z.T * costs) @ Z)
    ZV = Z @ inverse
    return np.einsum("ij,ij->i", W @ inverse, W), ZV @ W.T, ZV @ Z.T
