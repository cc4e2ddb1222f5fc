"""The theorems' assumptions, constants and bounds.

Symbols as in the paper: Delta the smallest positive gap in projection reward, delta_Dk the
smallest eigenvalue of sum over D_k of x x^T on span(D), Z and S bounds on the lengths of arms and
of theta, vartheta the noise's sub-Gaussian parameter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from projbandits._blas import single_threaded_blas
from projbandits._validation import Array, integer
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.problems import World
from projbandits.subspace import Subspace


@dataclass(frozen=True)
class Assumption1:
    """Whether U lies in span(D), and if not, where it sticks out.

    Parameters
    ----------
    holds : bool
        Whether every direction of U can be learnt from the arms.
    k : int
        The dimension of span(D).
    direction : ndarray of shape (d,), or None
        The unit vector of U farthest from span(D), if it does not hold.
    message : str
        The same in words.

    Examples
    --------
    >>> import projbandits as pb
    >>> arms = pb.FiniteArms([[1.0, 0.0], [2.0, 0.0]])
    >>> pb.theory.check_assumption_1(arms, pb.Subspace.coordinates(keep=[0], d=2))
    Assumption1(holds=True, k=1, direction=None, message='U lies in span(D), of dimension 1')
    """

    holds: bool
    k: int
    direction: Array | None
    message: str


def check_assumption_1(arms: DecisionSet, subspace: Subspace) -> Assumption1:
    """Tell whether U lies in span(D), naming the direction of U outside it if not.

    Parameters
    ----------
    arms : DecisionSet
        D.
    subspace : Subspace
        U.

    Examples
    --------
    >>> import projbandits as pb
    >>> arms = pb.FiniteArms([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    >>> U = pb.Subspace.without("price", columns=["price", "length", "colour"])
    >>> check = pb.theory.check_assumption_1(arms, U)
    >>> check.holds, check.message
    (False, 'the direction 1 colour of U lies outside span(D), which has dimension 2 of 3')
    """
    subspace.check_fits(arms.d, arms.columns if isinstance(arms, FiniteArms) else None)
    direction = subspace.direction_outside(arms.span())
    if direction is None:
        return Assumption1(True, arms.rank, None, f"U lies in span(D), of dimension {arms.rank}")
    message = (
        f"the direction {subspace.describe(direction)} of U lies outside span(D), "
        f"which has dimension {arms.rank} of {arms.d}"
    )
    return Assumption1(False, arms.rank, direction, message)


@dataclass(frozen=True)
class Constants:
    """The constants of the theorems for one world.

    Parameters
    ----------
    d, k : int
        The dimensions of the space and of span(D).
    arms : float
        |D|, infinite for a convex set.
    gap : float
        Delta, the smallest positive projection regret of an arm; 0 on an infinite set, where
        there is none, and infinite if all arms are equally good.
    delta_basis : float
        delta_Dk.
    Z, S : float
        Bounds on |x| and on |theta|.
    noise : float
        vartheta.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> world = pb.problems.entropy_ball().world(np.random.default_rng(0))
    >>> c = pb.theory.constants(world)
    >>> c.d, c.k, c.arms, c.noise, c.alpha_threshold
    (4, 4, inf, 0.5, inf)
    """

    d: int
    k: int
    arms: float
    gap: float
    delta_basis: float
    Z: float
    S: float
    noise: float

    @property
    def alpha_threshold(self) -> float:
        """The alpha that Theorem 1 asks GENTRY to exceed on finitely many arms.

        max(24 d Z^2 vartheta^2 / (Delta^2 delta_Dk), 10); infinite on an infinite set, to which
        the theorem does not apply.
        """
        if self.gap == 0:
            return math.inf
        scale = self.gap**2 * self.delta_basis
        return max(24 * self.d * self.Z**2 * self.noise**2 / scale, 10.0)


@single_threaded_blas()
def constants(world: World, basis: str = "pivoted-qr") -> Constants:
    """Return the constants of the theorems for one world and one choice of D_k.

    Parameters
    ----------
    world : World
        A world with a theta.
    basis : {"pivoted-qr", "first"}
        How D_k is chosen; see `DecisionSet.basis`.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> U = pb.Subspace.coordinates(keep=[0, 1], d=3)
    >>> problem = pb.problems.instance(np.eye(3), theta=[1.0, 0.5, 9.0], subspace=U, noise=0.5)
    >>> c = pb.theory.constants(problem.world(np.random.default_rng(0)))
    >>> c.gap, c.delta_basis, c.alpha_threshold
    (0.5, 1.0, 72.0)
    """
    if world.theta is None:
        raise ValueError(
            "world must have one theta, got one that is misspecified or whose offers change: the "
            "theorems assume that returns are linear in the arm, and the arms the same at each step"
        )
    chosen = world.arms.basis(basis)
    smallest = float(np.linalg.svd(chosen, compute_uv=False)[-1])
    gap = 0.0
    if world.arm_rewards is not None:
        gaps = (world.best_reward - world.arm_rewards)[~world.is_best]
        gap = float(gaps.min(initial=math.inf))
    return Constants(
        d=world.arms.d,
        k=len(chosen),
        arms=world.arms.size,
        gap=gap,
        delta_basis=smallest**2,
        Z=world.arms.longest,
        S=float(np.linalg.norm(world.theta)),
        noise=world.noise.scale,
    )


def theorem_1(n: npt.ArrayLike, arms: int) -> Array:
    """Return |D| log n, the order that Theorem 1 states for GENTRY on finitely many arms.

    Parameters
    ----------
    n : array of numbers
        The numbers of steps.
    arms : int
        |D|.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.theory.theorem_1([1, 10], arms=45).round(2)
    array([  0.  , 103.62])
    """
    return integer("arms", arms, least=1) * np.log(_steps(n))


def theorem_2(n: npt.ArrayLike, k: int, d: int) -> Array:
    """Return max(k, sqrt d) n^(2/3) sqrt(log n), as Theorem 2 states on infinite compact sets.

    Parameters
    ----------
    n : array of numbers
        The numbers of steps.
    k, d : int
        The dimensions of span(D) and of the space.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.theory.theorem_2([1, 1000], k=4, d=4).round(1)
    array([   0. , 1051.3])
    """
    steps = _steps(n)
    factor = max(integer("k", k, least=1), math.sqrt(integer("d", d, least=1)))
    return factor * steps ** (2 / 3) * np.sqrt(np.log(steps))


def theorem_3(n: npt.ArrayLike, d: int) -> Array:
    """Return d sqrt n, the order that Theorem 3 states on a smooth set with epsilon^s.

    The printed proof gives it up to a factor of log n only; see docs/readings.md.

    Parameters
    ----------
    n : array of numbers
        The numbers of steps.
    d : int
        The dimension of the space.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.theory.theorem_3([1, 10_000], d=4)
    array([  4., 400.])
    """
    return integer("d", d, least=1) * np.sqrt(_steps(n))


def _steps(n: npt.ArrayLike) -> Array:
    steps = np.asarray(n, dtype=np.float64)
    if not (steps >= 1).all():
        raise ValueError(f"n must be at least 1, got {steps.min()}")
    return steps
