"""GENTRY that is not told U, and finds it where groups disagree, together with the best arm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from projbandits._validation import Array, integer
from projbandits.arms import Arm, DecisionSet
from projbandits.finding.groups import leading
from projbandits.finding.mixed import GroupSums, Mixed, fitted, loosened
from projbandits.strategies.base import State
from projbandits.strategies.greedy import EpsilonGreedy
from projbandits.subspace import Subspace

GROWTH = 1.3
"""U is found anew whenever the steps have grown by this factor."""
SEEKING_ROUNDS = 30
"""How many rounds of EM that takes at most; the next time goes on from there."""


class Sought(NamedTuple):
    """What is known of groups: their sums, the model, what it aims at, and when it is made anew.

    Parameters
    ----------
    sums : ndarray of shape (G, d + 2, d + 2)
        The second moments of the rows [1, x, r] of each group.
    model : Mixed or None
        The mixed model, once there is one.
    aim : ndarray of shape (d,)
        P_U mu.
    rest : ndarray of shape (d, r)
        What is left out.
    due : int
        The step from which on it is made anew.
    """

    sums: Array
    model: Mixed | None
    aim: Array
    rest: Array
    due: int


@dataclass(frozen=True, kw_only=True, repr=False)
class SeekingGENTRY(EpsilonGreedy):
    """GENTRY that finds U as data comes, from groups that take turns.

    It makes no use of the subspace that it is given. Returns are kept as sums for each group. When
    the steps have grown by a factor of 1.3, a mixed model is fitted to them: its leading directions
    are left out, and P_U mu is aimed at, so that outside of D_k it plays::

        X_t     = argmax_x <x, P_U mu>
        theta_g = mu + b_g  for each group g, b_g outside of U

    It is for simulations: it lives in `projbandits.strategies.seeking` and not beside the others,
    because a decider has no groups that take turns. See `projbandits.problems.groups`.

    Parameters
    ----------
    groups : int
        G, the number of groups: step t is that of group (t - 1) mod G.
    leave_out : int
        How many directions to leave out.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.strategies.seeking import SeekingGENTRY
    >>> result = pb.simulate(pb.problems.groups(groups=3), [SeekingGENTRY(groups=3)],
    ...                      trials=1, horizon=50, progress=False)
    >>> result.engines
    ('reference',)
    """

    groups: int = field(default=8)
    leave_out: int = field(default=2)

    learns_on = "arm"
    aims_at = "projection"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arm_effects is not None:
            raise ValueError(f"arm_effects must be None here, got {self.arm_effects!r}")
        object.__setattr__(self, "groups", integer("groups", self.groups, least=2))
        object.__setattr__(self, "leave_out", integer("leave_out", self.leave_out, least=1))

    def plan(self, arms: DecisionSet, subspace: Subspace) -> Sought:
        """Return that nothing is known yet."""
        d = arms.d
        if self.leave_out >= d:
            raise ValueError(f"leave_out must be less than {d}, got {self.leave_out}")
        sums = np.zeros((self.groups, d + 2, d + 2))
        return Sought(sums, None, np.zeros(d), np.empty((d, 0)), 2 * self.groups)

    def update(self, state: State, arm: Arm, observed: float) -> State:
        """Return the state after the group of this step returned `observed` for `arm`."""
        after = super().update(state, arm, observed)
        sought: Sought = after.plan
        row = np.array([1.0, *arm.x, observed])
        sums = sought.sums.copy()
        sums[(state.step - 1) % self.groups] += np.outer(row, row)
        sought = sought._replace(sums=sums)
        if after.step >= sought.due:
            sought = self._found(sought, after.step)
        return after._replace(plan=sought)

    def _found(self, sought: Sought, step: int) -> Sought:
        """Return what is known with U found anew."""
        d = len(sought.aim)
        held = GroupSums.of(sought.sums)
        # As if every group had seen a return of 0 along each axis: it holds mu while data are few.
        held = held._replace(xx=held.xx + self.penalty / self.groups * np.eye(d))
        start = None if sought.model is None else loosened(sought.model)
        model = fitted(held, np.eye(d), start, SEEKING_ROUNDS)
        rest, _ = leading(model, self.leave_out)
        aim = model.mu - rest @ (rest.T @ model.mu)
        due = max(step + 1, int(GROWTH * step))
        return Sought(sought.sums, model, aim, rest, due)

    def aim(self, state: State) -> Array:
        """Return P_U mu, with U and mu as they were last found."""
        aim: Array = state.plan.aim
        return aim
