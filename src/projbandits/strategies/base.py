"""What a strategy is: the protocol, and the three answers that linear strategies share.

A strategy answers three questions. What does it learn on, the whole arm or its projection? What
does it aim at, the projection reward or the return? How does it explore? The first two are
declared (`learns_on`, `aims_at`), the third is the method `select`.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from projbandits._validation import Array, positive
from projbandits.arms import Arm, DecisionSet, FiniteArms
from projbandits.ridge import Ridge
from projbandits.strategies.belief import Belief, LinearBelief
from projbandits.strategies.documented import with_inherited_parameters
from projbandits.strategies.effects import EffectBelief, Effects
from projbandits.subspace import Subspace

LAST = ("penalty", "arm_effects")
"""Fields that every strategy has; a label shows them last."""


class State(NamedTuple):
    """What a linear strategy carries from one step to the next.

    Parameters
    ----------
    step : int
        t, the step to be decided next, from 1.
    ridge : Ridge
        The estimate of theta from the steps before.
    projection : ndarray of shape (d, d)
        P_U.
    effects : Effects or OfferedEffects, optional
        The belief about each item's own effect, if the strategy models it: of all of them, or of
        those on offer to one choice.
    plan : optional
        What the strategy prepared, see `LinearStrategy.plan` and `LinearStrategy.replan`.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> strategy, arms = pb.GENTRY(), pb.FiniteArms(np.eye(2))
    >>> state = strategy.init(arms, pb.Subspace.coordinates(keep=[0], d=2))
    >>> later = strategy.update(state, arms.arm(1), 3.0)
    >>> (state.step, state.ridge.theta), (later.step, later.ridge.theta)
    ((1, array([0., 0.])), (2, array([0. , 1.5])))
    """

    step: int
    ridge: Ridge
    projection: Array
    effects: Any = None
    plan: Any = None

    @property
    def theta(self) -> Array:
        """theta-hat, with effects of arms taken into account if there are any."""
        belief: Ridge | Effects = self.ridge if self.effects is None else self.effects
        return belief.theta


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What a strategy chose, and the probability with which it chose it.

    Parameters
    ----------
    arm : Arm
        The chosen arm.
    probability : float
        The probability with which it was chosen; nan if the strategy cannot compute it.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> arms = pb.FiniteArms(np.eye(2))
    >>> U = pb.Subspace.coordinates(keep=[0], d=2)
    >>> strategy = pb.GENTRY(alpha=1.0)
    >>> choice = strategy.select(strategy.init(arms, U), arms, np.random.default_rng(0))
    >>> choice.index, choice.probability
    (0, 0.5)
    """

    arm: Arm
    probability: float

    @property
    def index(self) -> int | None:
        """The row of the chosen arm in a finite set."""
        return self.arm.index


@runtime_checkable
class Strategy(Protocol):
    """What the simulator and the conformance checks ask of a strategy.

    A strategy is an immutable object whose `repr` is its label. It never sees theta: it knows
    the decision set, the subspace, its own choices and the returns they brought.

    Examples
    --------
    Any object with these methods is one. This one plays each arm in turn.

    >>> import projbandits as pb
    >>> class RoundRobin:
    ...     def init(self, arms, subspace):
    ...         return 0
    ...     def select(self, state, arms, rng):
    ...         return pb.Choice(arms.arm(state % arms.size), 1.0)
    ...     def update(self, state, arm, observed):
    ...         return state + 1
    ...     def __repr__(self):
    ...         return "RoundRobin()"
    >>> isinstance(RoundRobin(), pb.Strategy)
    True
    >>> problem = pb.problems.random_arms(arms=10)
    >>> pb.simulate(problem, RoundRobin(), trials=1, horizon=30, progress=False).pulls
    array([[[3, 3, 3, 3, 3, 3, 3, 3, 3, 3]]])
    """

    def init(self, arms: DecisionSet, subspace: Subspace) -> Any:
        """Return the state before the first step."""
        ...

    def select(self, state: Any, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose an arm; the state stays as it is."""
        ...

    def update(self, state: Any, arm: Arm, observed: float) -> Any:
        """Return the state after `arm` brought the return `observed`."""
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class LinearStrategy(ABC):
    """A strategy over one ridge estimate; subclasses declare two answers and write `select`.

    Parameters
    ----------
    penalty : float
        lambda, the weight of the L2 penalty.
    arm_effects : float, "auto" or None
        tau, the standard deviation of an arm's own effect beyond its features, which then counts as
        wanted; "auto" estimates it as data arrives. Needs finitely many arms, the same at each
        step of a simulation, or named in a decider; see docs/strategies.md.

    Examples
    --------
    What is best by the estimate of the projection reward, with no exploration.

    >>> import numpy as np, projbandits as pb
    >>> class Greedy(pb.LinearStrategy):
    ...     learns_on, aims_at = "arm", "projection"
    ...     def select(self, state, arms, rng):
    ...         return pb.Choice(self.greedy(state, arms), 1.0)
    >>> arms, U = pb.FiniteArms(np.eye(2)), pb.Subspace.coordinates(keep=[0], d=2)
    >>> greedy, rng = Greedy(), np.random.default_rng(0)
    >>> state = greedy.update(greedy.init(arms, U), arms.arm(1), 5.0)
    >>> greedy.select(state, arms, rng).index  # the return of arm 1 does not count
    0
    """

    penalty: float = 1.0
    arm_effects: float | str | None = None

    learns_on: ClassVar[Literal["arm", "projection"]]
    aims_at: ClassVar[Literal["projection", "return"]]
    same_arms: ClassVar[bool] = False
    """Whether it must be offered the same finitely many arms at each step."""

    def __init_subclass__(cls) -> None:
        cls.__doc__ = with_inherited_parameters(cls)

    def __post_init__(self) -> None:
        object.__setattr__(self, "penalty", positive("penalty", self.penalty))
        if isinstance(self.arm_effects, str):
            if self.arm_effects != "auto":
                raise ValueError(
                    f"arm_effects must be 'auto' or a positive number, got {self.arm_effects!r}"
                )
            object.__setattr__(self, "arm_effects", "auto")
        elif self.arm_effects is not None:
            tau = positive("arm_effects", self.arm_effects)
            object.__setattr__(self, "arm_effects", tau)

    def init(self, arms: DecisionSet, subspace: Subspace) -> State:
        """Return the state before the first step."""
        columns = arms.columns if isinstance(arms, FiniteArms) else None
        subspace.check_fits(arms.d, columns)
        if self.same_arms and not isinstance(arms, FiniteArms):
            raise ValueError(f"{type(self).__name__} needs finitely many arms, got {arms!r}")
        plan = self.plan(arms, subspace)
        state = State(1, Ridge.prior(arms.d, self.penalty), subspace.matrix, plan=plan)
        if self.arm_effects is None:
            return state
        if not isinstance(arms, FiniteArms):
            raise ValueError(f"arm_effects needs finitely many arms, got {arms!r}: leave it out")
        learnt = self.learnt(state, arms.vectors)
        scales = self.penalty, *self.known_scales
        return state._replace(effects=Effects.prior(arms.d, *scales, arms=learnt))

    def plan(self, arms: DecisionSet, subspace: Subspace) -> Any:
        """Return what the strategy prepares once per trial, such as a design or a table."""
        return None

    def replan(self, state: State) -> Any:
        """Return the plan for the next step; `update` asks for it when the return is learnt."""
        return state.plan

    @abstractmethod
    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose an arm; the state stays as it is."""

    def update(self, state: State, arm: Arm, observed: float) -> State:
        """Return the state after `arm` brought the return `observed`."""
        if not math.isfinite(observed):
            raise ValueError(f"observed must be finite, got {observed}: leave such a return out")
        x = self.learnt(state, arm.x)
        ridge, effects = state.ridge.update(x, observed), state.effects
        if effects is not None:
            item = arm.label if effects.arms is None else arm.index
            effects = effects.update(item, x, observed)
            if effects.refit_due:
                effects = effects.fitted(*self.known_scales)
        after = State(state.step + 1, ridge, state.projection, effects, state.plan)
        plan = self.replan(after)
        return after if plan is after.plan else after._replace(plan=plan)

    @property
    def known_scales(self) -> tuple[float | None, float | None]:
        """The scales tau and sigma, each None if unknown."""
        tau = None if isinstance(self.arm_effects, str) else self.arm_effects
        return tau, getattr(self, "noise", None)

    def learnt(self, state: State, X: Array) -> Array:
        """Return the features of X, one arm or one per row, that the strategy learns on."""
        return X if self.learns_on == "arm" else np.einsum("...i,ij->...j", X, state.projection)

    def belief(self, state: State) -> Belief:
        """Return what the strategy believes about the arms."""
        wanted = state.projection if self.aims_at == "projection" else None
        if state.effects is not None:
            return EffectBelief(state.effects, partial(self.learnt, state), wanted)
        return LinearBelief(state.ridge, self.aim(state), wanted, self.known_scales[1])

    def greedy(self, state: State, arms: DecisionSet) -> Arm:
        """Return the arm that is best by the estimate; ties go to the lowest index."""
        return self.belief(state).best(arms)

    def aim(self, state: State) -> Array:
        """Return the direction whose inner product with an arm estimates what is wanted.

        As <P_U x, P_U theta> = <x, P_U theta>, that is P_U theta-hat for the projection reward
        and theta-hat for the return.
        """
        return state.projection @ state.theta if self.aims_at == "projection" else state.theta

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={_text(value)}"
            for field in sorted(dataclasses.fields(self), key=lambda field: field.name in LAST)
            if (value := getattr(self, field.name)) != field.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _text(value: Any) -> str:
    """Return the text of a field in a label; a function is shown by its name."""
    return getattr(value, "__qualname__", None) or repr(value)
