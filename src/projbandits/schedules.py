"""How often to explore: epsilon_t, the paper's three schedules or your own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from projbandits._validation import one_of, real

__all__ = ["Checked", "Power"]

Epsilon = Callable[[int], float]
"""The probability of exploring at step t = 1, 2, ..."""

EXPONENTS = {"finite": 1.0, "infinite": 1.0 / 3.0, "smooth": 0.5}
SCHEDULE_NAMES = ("auto", *EXPONENTS)


@dataclass(frozen=True)
class Power:
    """epsilon_t = min(1, alpha k / t^exponent): equation 9, and Theorem 3.

    Parameters
    ----------
    alpha : float
        How much to explore.
    k : int
        The number of arms in D_k.
    exponent : float
        1 for epsilon^f (finite, Theorem 1), 1/3 for epsilon^i (infinite, Theorem 2) and 1/2 for
        epsilon^s (smooth, Theorem 3).

    Examples
    --------
    >>> from projbandits.schedules import Power
    >>> epsilon = Power(alpha=1.0, k=10, exponent=1.0)
    >>> epsilon(5), epsilon(40)
    (1.0, 0.25)
    """

    alpha: float
    k: int
    exponent: float

    def __call__(self, t: int) -> float:
        """Return the probability of exploring at step t."""
        return min(1.0, self.alpha * self.k / math.pow(t, self.exponent))


@dataclass(frozen=True)
class Checked:
    """A user's schedule, with each value checked as it is used.

    Parameters
    ----------
    schedule : callable
        Takes the step t and returns a probability; must not increase.

    Examples
    --------
    >>> from projbandits.schedules import Checked
    >>> epsilon = Checked(lambda t: 1 / t)
    >>> epsilon(4)
    0.25
    >>> Checked(lambda t: 2.0)(1)
    Traceback (most recent call last):
    ValueError: schedule must return a probability in [0, 1], got 2.0 at step 1: wrap it in ...
    """

    schedule: Callable[[int], float]

    def __call__(self, t: int) -> float:
        """Return the probability of exploring at step t, or raise if it cannot be one."""
        epsilon = self._value(t)
        if t > 1 and epsilon > self._value(t - 1):
            raise ValueError(
                f"schedule must not increase, got {self._value(t - 1)} at step {t - 1} and "
                f"{epsilon} at step {t}"
            )
        return epsilon

    def _value(self, t: int) -> float:
        given = self.schedule(t)
        try:
            epsilon = real(f"schedule({t})", given)
        except ValueError:
            epsilon = math.nan
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(
                f"schedule must return a probability in [0, 1], got {given} at step {t}: "
                "wrap it in min(1, ...)"
            )
        return epsilon


def resolve(schedule: Any, *, alpha: float, k: int, finite: bool) -> Epsilon:
    """Return epsilon_t for a strategy's `schedule` argument.

    Parameters
    ----------
    schedule : {"auto", "finite", "infinite", "smooth"} or callable
        "auto" is "finite" for finitely many arms and "infinite" otherwise. A callable takes the
        step t and returns epsilon_t itself; alpha and k play no part in it.
    alpha : float
        The paper's alpha.
    k : int
        The number of arms in D_k.
    finite : bool
        Whether the decision set is finite.

    Examples
    --------
    >>> from projbandits import schedules
    >>> schedules.resolve("auto", alpha=1.0, k=2, finite=True)(8)
    0.25
    """
    if callable(schedule):
        return Checked(schedule)
    one_of("schedule", schedule, SCHEDULE_NAMES)
    name = ("finite" if finite else "infinite") if schedule == "auto" else schedule
    return Power(alpha, k, EXPONENTS[name])


def validate(schedule: Any) -> None:
    """Raise unless `schedule` is a known name or a callable that looks like a schedule.

    A callable is tried at steps 1 and 2 here; every later value is checked as it is used.
    """
    if callable(schedule):
        checked = Checked(schedule)
        checked(1), checked(2)
    else:
        one_of("schedule", schedule, SCHEDULE_NAMES)
