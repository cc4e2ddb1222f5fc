"""How a strategy names its compiled twin, and when the twin may stand in for it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from projbandits._validation import Array

DECLARED = ("learns_on", "aims_at")
"""What a subclass may redeclare: the twin reads these from the strategy itself."""


class CompiledRule(NamedTuple):
    """How a strategy chooses in the compiled loops.

    A `LinearStrategy` offers one through a method `compiled_rule(arms, subspace, horizon)`, which
    is called once per trial and may return None if there is no rule for such a set.

    Parameters
    ----------
    kernel : callable or str
        A function in the subset of Python that numba compiles. On finitely many arms it is called
        as `kernel(t, view, rng)` and returns a row; on a convex set as `kernel(t, view, rng, x)`
        and fills x. `kernels.users.View` lists what it may read. Or the name of the file of one of
        the library's own kernels.
    parameters : ndarray
        What the kernel finds in `view.parameters`.
    plan : ndarray of two dimensions
        What it finds in `view.plan`: a design or a table made for this trial, or room to work in.
    widths, inside : bool
        Whether it reads `view.squares`, and `view.inside`, which needs the squares.
    basis : str
        How D_k is chosen.
    again : callable, optional
        For a rule that plans in phases, on finitely many arms: takes the next step, theta-hat,
        sigma and a function that compiles another, and returns the parameters of the phase and its
        last step.

    Examples
    --------
    >>> import projbandits as pb
    >>> rule = pb.GENTRY(alpha=2.0).compiled_rule(pb.FiniteArms([[1.0]]), None, horizon=3)
    >>> rule.kernel, rule.parameters  # epsilon_t at each step
    ('greedy', array([1.        , 1.        , 0.66666667]))
    """

    kernel: Callable[..., Any] | str
    parameters: Array
    plan: Array = np.empty((0, 0))
    widths: bool = False
    inside: bool = False
    basis: str = "pivoted-qr"
    again: Callable[[int, Array, float, Callable[..., Any]], tuple[Array, int]] | None = None


@lru_cache(maxsize=32)
def over_steps(
    maker: Callable[..., Callable[[int], float]], *arguments: Any, horizon: int
) -> Array:
    """Return the values, at steps 1 to horizon, of the function of t that a method returns.

    They are cached per object: `==` does not see what a subclass adds, so two strategies that
    compare equal may have different schedules.
    """
    value = maker(*arguments)
    return np.fromiter(map(value, range(1, horizon + 1)), np.float64, horizon)


def overridden(strategy: Any, method: str, parts: Collection[str] | None = None) -> str | None:
    """Return the name of something a strategy overrides unknown to its `method`, or None.

    A method such as `compiled_rule` knows how its own class and the classes above choose. It does
    not know of a subclass that chooses differently.

    Parameters
    ----------
    strategy : Strategy
        The strategy to look at.
    method : str
        The method that stands for how it chooses.
    parts : collection of str, optional
        The names to compare; by default all those of the class that defines the method.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.strategies.compiled import overridden
    >>> class Worst(pb.GENTRY):
    ...     def greedy(self, state, arms):
    ...         return arms.best(-self.aim(state))
    >>> overridden(pb.GENTRY(), "compiled_rule"), overridden(Worst(), "compiled_rule")
    (None, 'greedy')
    """
    kind = type(strategy)
    offering = next(parent for parent in kind.__mro__ if method in vars(parent))
    fields = {field.name for field in dataclasses.fields(strategy)}
    looked_at = {*dir(offering), *fields} if parts is None else parts
    for name in sorted({*looked_at} - {*DECLARED, "_abc_impl"}):
        found = inspect.getattr_static(kind, name, None)
        if name in fields:  # a plain value, unless a subclass makes it a property
            if inspect.isdatadescriptor(found):
                return name
        elif name.startswith("__") and name != "__getattribute__":
            continue  # how it is made, compared and shown
        else:
            hidden = name in vars(strategy) and not isinstance(found, cached_property)
            if hidden or found is not inspect.getattr_static(offering, name):
                return name
    return None
