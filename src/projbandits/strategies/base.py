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
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from projbandits._checks import Array, positive
from projbandits.arms import Arm, DecisionSet, FiniteArms
from projbandits.ridge import Ridge
from projbandits.subspace import Subspace


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
    """

    step: int
    ridge: Ridge
    projection: Array


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What a strategy chose, and the probability with which it chose it.

    The probability is nan where a strategy cannot tell it.

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
    ridge : float
        lambda, the weight of the L2 penalty.
    """

    ridge: float = 1.0

    learns_on: ClassVar[Literal["arm", "projection"]]
    aims_at: ClassVar[Literal["projection", "return"]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ridge", positive("ridge", self.ridge))

    def init(self, arms: DecisionSet, subspace: Subspace) -> State:
        """Return the state before the first step."""
        columns = arms.columns if isinstance(arms, FiniteArms) else None
        subspace.check_fits(arms.d, columns)
        return State(1, Ridge.prior(arms.d, self.ridge), subspace.matrix)

    @abstractmethod
    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose an arm; the state stays as it is."""

    def update(self, state: State, arm: Arm, observed: float) -> State:
        """Return the state after `arm` brought the return `observed`."""
        if not math.isfinite(observed):
            raise ValueError(f"observed must be finite, got {observed}: leave such a return out")
        learnt = arm.x if self.learns_on == "arm" else state.projection @ arm.x
        return state._replace(step=state.step + 1, ridge=state.ridge.update(learnt, observed))

    def aim(self, state: State) -> Array:
        """Return the direction whose inner product with an arm estimates what is wanted.

        As <P_U x, P_U theta> = <x, P_U theta>, that is P_U theta-hat for the projection reward
        and theta-hat for the return.
        """
        theta = state.ridge.theta
        return state.projection @ theta if self.aims_at == "projection" else theta

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={_text(value)}"
            for field in sorted(dataclasses.fields(self), key=lambda field: field.name == "ridge")
            if (value := getattr(self, field.name)) != field.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _text(value: Any) -> str:
    """Return a field as it stands in a label; a function goes by its name."""
    return getattr(value, "__qualname__", None) or repr(value)
