"""Information-directed strategies: what they share.

From its belief, each derives for every arm a *gap* (how much it may cost) and an *information* (how
much it tells about which arm is best). Then it plays the greedy arm or one other, with the
probability that minimises the squared expected gap per information.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from projbandits._validation import Array, positive
from projbandits.arms import Arm, ConvexSet, DecisionSet, FiniteArms
from projbandits.strategies.base import Choice, LinearStrategy, State
from projbandits.strategies.belief import Moments
from projbandits.strategies.compiled import CompiledRule

BELIEF_DRAWS = 16
"""How many draws of the belief propose a point of a convex set at each step."""
TURNS = 64
"""The draws' normal numbers repeat after this many steps."""
TIE = 1e-9
"""Values whose relative difference is below this differ by rounding: the first is taken."""


class Candidates(NamedTuple):
    """The arms to choose among.

    Parameters
    ----------
    vectors : ndarray of shape (K, d)
        Their features.
    rows : sequence of int or None
        Their rows in a finite set.
    """

    vectors: Array
    rows: Sequence[int] | None

    def arm(self, i: int) -> Arm:
        """Return one of them as an arm of the set."""
        return Arm(self.vectors[i], None if self.rows is None else self.rows[i])


class Prospect(NamedTuple):
    """The greedy arm, and the gap and the information of every arm.

    Parameters
    ----------
    greedy : int
        The arm with the best mean.
    gaps, info : ndarray of shape (K,)
        How much each arm may cost, and how much it tells about which arm is best.
    """

    greedy: int
    gaps: Array
    info: Array


class ArmPair(NamedTuple):
    """The greedy arm, the other one that is played, and the probability with which it is."""

    greedy: Arm
    other: Arm
    p: float


@dataclass(frozen=True, kw_only=True, repr=False)
class GaussianBeliefStrategy(LinearStrategy):
    """A strategy that takes its estimate as the mean of a Gaussian belief.

    Parameters
    ----------
    noise : float, optional
        sigma, the standard deviation of the noise; by default estimated, on the high side.
    penalty : float
        lambda, the weight of the L2 penalty. The belief begins with theta ~ N(0, sigma^2 / lambda):
        if the noise is small beside theta, a large lambda is overconfident.
    """

    noise: float | None = None
    penalty: float = 0.1

    learns_on = "arm"
    aims_at = "projection"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise is not None:
            object.__setattr__(self, "noise", positive("noise", self.noise))

    def candidates(self, state: State, arms: DecisionSet) -> Candidates:
        """Return the arms to choose among: all of them, unless they are too many to weigh.

        On a convex set they are the greedy point, the support points of some draws of the belief,
        and D_k. The draws come from a fixed table, indexed by the step, and not from the generator:
        so the state determines the candidates, and probabilities are exact.
        """
        if isinstance(arms, FiniteArms) and not arms.vast:
            return Candidates(arms.vectors, range(arms.size))
        start = state.step % TURNS * BELIEF_DRAWS
        normals = normal_table(arms.d)[start : start + BELIEF_DRAWS]
        directions = self.belief(state).directions(normals)
        if isinstance(arms, FiniteArms):
            explored = [arm.index for arm in _explored(state, arms) if arm.index is not None]
            rows = [*dict.fromkeys([*arms.best_rows(directions), *explored])]
            return Candidates(arms.vectors[rows], rows)
        if isinstance(arms, ConvexSet):
            points = arms.maximizers(directions)
        else:
            points = np.array([arms.maximize(c) for c in directions])
        return Candidates(np.vstack([points, *(arm.x for arm in _explored(state, arms))]), None)

    def rule_of(self, kernel: str, arms: DecisionSet, more: float = 0.0) -> CompiledRule:
        """Return the rule of a kernel whose parameters are sigma or 0, lambda, and one more."""
        parameters = np.array([self.noise or 0.0, self.penalty, more])
        plan = np.empty((0, 0)) if isinstance(arms, FiniteArms) else normal_table(arms.d)
        return CompiledRule(kernel, parameters, plan, widths=True, inside=True)


@dataclass(frozen=True, kw_only=True, repr=False)
class InformationDirected(GaussianBeliefStrategy):
    """The greedy arm or one other, by the squared expected gap per information."""

    @abstractmethod
    def prospect(self, state: State, moments: Moments) -> Prospect:
        """Return the gap and the information of each arm."""

    step_free: ClassVar[bool] = False
    """Whether gaps and information do not depend on the step; a subclass must say so for itself."""

    def _mixed(self, state: State, arms: DecisionSet) -> ArmPair:
        """Return the two arms that it plays, on the same arms by the same belief found once."""
        if not isinstance(arms, FiniteArms) or arms.vast:
            return self._sought(state, arms)
        step = None if vars(type(self)).get("step_free") else state.step
        return arms.once((self, step, *state[1:]), lambda: self._sought(state, arms))

    def _sought(self, state: State, arms: DecisionSet) -> ArmPair:
        candidates = self.candidates(state, arms)
        prospect = self.prospect(state, self.belief(state).moments(candidates.vectors))
        other, p = two_actions(prospect)
        return ArmPair(candidates.arm(prospect.greedy), candidates.arm(other), p)

    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose between the greedy arm and the best arm to mix it with."""
        greedy, other, p = self._mixed(state, arms)
        return Choice(other, p) if rng.random() < p else Choice(greedy, 1 - p)

    def probabilities(self, state: State, arms: FiniteArms) -> Array:
        """Return the probability of each of finitely many arms."""
        greedy, other, p = self._mixed(state, arms)
        chances = np.zeros(arms.size)
        chances[greedy.index] += 1 - p
        chances[other.index] += p
        return chances


def _explored(state: State, arms: DecisionSet) -> Sequence[Arm]:
    """Return D_k, and what a level takes beside it where one is learnt."""
    return arms.level_arms() if state.ridge.intercept else arms.basis_arms()


def two_actions(prospect: Prospect) -> tuple[int, float]:
    """Return the arm j and the probability p with which to play it instead of the greedy arm h.

    They minimise ((1-p) gap_h + p gap_j)^2 / ((1-p) info_h + p info_j). If j tells more than h,
    that is convex in p, and least at gap_h / (gap_j - gap_h) - 2 info_h / (info_j - info_h).

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.strategies.information import Prospect, two_actions
    >>> two_actions(Prospect(0, gaps=np.array([1.0, 3.0]), info=np.array([0.0, 2.0])))
    (1, 0.5)
    """
    h, gaps, info = prospect
    costs, tells = gaps - gaps[h], info - info[h]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(costs > 0, gaps[h] / costs - 2 * info[h] / tells, 1.0)
        p = np.where(tells > 0, p.clip(0, 1), 0.0)
        ratio = (gaps[h] + p * costs) ** 2 / (info[h] + p * tells)
    ratio = np.where(p > 0, ratio, np.inf if info[h] <= 0 else gaps[h] ** 2 / info[h])
    j = first_least(ratio)
    return j, float(p[j])


def first_least(values: Array) -> int:
    """Return the first position whose value is the least, up to rounding."""
    return int((values <= values.min() * (1 + TIE)).argmax())


def first_largest(values: Array) -> int:
    """Return the first position whose value is the largest, up to rounding."""
    return int((values >= values.max() * (1 - TIE)).argmax())


@lru_cache(maxsize=16)
def normal_table(d: int) -> Array:
    """Return the normal numbers of the draws, one row per draw."""
    return np.random.default_rng(0).standard_normal((TURNS * BELIEF_DRAWS, d))
