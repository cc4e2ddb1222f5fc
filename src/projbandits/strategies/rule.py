"""How a strategy says what its compiled twin is, and when that twin may stand for it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from projbandits._checks import Array

DECLARED = ("learns_on", "aims_at")
"""What a subclass may declare anew: whoever stands for a strategy reads it from the strategy."""


class CompiledRule(NamedTuple):
    """How a strategy chooses in the compiled loops.

    A `LinearStrategy` offers it by a method `compiled_rule(arms, subspace, horizon)`, which is
    called once for each trial; it may return None where it has none for such a set.

    Parameters
    ----------
    kernel : callable or str
        A function in the subset of Python that numba compiles. On finitely many arms it is called
        as `kernel(t, view, rng)` and returns a row; on a convex set as `kernel(t, view, rng, x)`
        and fills x. `kernels.steps.View` and `kernels.convex.ConvexView` say what it may look at.
        Or the name of one of the library's own kernels.
    parameters : ndarray
        What the kernel finds in `view.parameters`.
    plan : ndarray of two dimensions
        What it finds in `view.plan`: a design or a table made for this trial, or room to work in.
    widths, inside : bool
        Whether it looks at `view.squares`, and at `view.inside`, for which it needs the squares.
    basis : str
        How D_k is chosen.
    """

    kernel: Callable[..., Any] | str
    parameters: Array
    plan: Array = np.empty((0, 0))
    widths: bool = False
    inside: bool = False
    basis: str = "pivoted-qr"


def overridden(strategy: Any, method: str, parts: Collection[str] | None = None) -> str | None:
    """Return something that a strategy defines anew and its `method` cannot know of, or None.

    A method such as `compiled_rule` speaks for everything that its class and the classes above
    say of a choice. It does not speak for a subclass that says something else.

    Parameters
    ----------
    strategy : Strategy
        Who chooses.
    method : str
        The method that speaks for it.
    parts : collection of str, optional
        What to look at; by default everything that the class of the method has.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.strategies.rule import overridden
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
        if name in fields:  # a value, unless somebody computes it anew at each look
            if inspect.isdatadescriptor(found):
                return name
        elif name.startswith("__") and name != "__getattribute__":
            continue  # how it is made, compared and shown
        else:
            hidden = name in vars(strategy) and not isinstance(found, cached_property)
            if hidden or found is not inspect.getattr_static(offering, name):
                return name
    return None
