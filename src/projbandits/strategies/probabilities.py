"""With which probability a strategy would choose each of the arms on offer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.strategies.compiled import overridden

CHOICE_DRAWS = 2000


def probabilities(strategy: Any, state: Any, arms: FiniteArms) -> Array | None:
    """Return the probability of each arm, or None where they cannot be had.

    A strategy may offer them as its own method `probabilities(state, arms)`. For others, and for
    one that has changed the choice since, choices are drawn until the stated probabilities of the
    arms seen add up to one; if 2,000 draws do not suffice, they cannot be had.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> from projbandits.strategies.probabilities import probabilities
    >>> arms, U = pb.FiniteArms(np.eye(2)), pb.Subspace.coordinates(keep=[0], d=2)
    >>> strategy = pb.GENTRY(schedule="smooth", alpha=0.25)
    >>> probabilities(strategy, strategy.init(arms, U), arms)
    array([0.75, 0.25])
    """
    own = _own(strategy)
    if own is not None:
        return np.asarray(own(state, arms), dtype=np.float64)
    rng = np.random.default_rng(0)
    found = np.zeros(arms.size)
    for _ in range(CHOICE_DRAWS):
        choice = strategy.select(state, arms, rng)
        if math.isnan(choice.probability):
            return None
        found[choice.arm.index] = choice.probability
        if found.sum() >= 1 - 1e-9:
            return found
    return None


_looked_at: tuple[Any, Any] = None, None


def _own(strategy: Any) -> Any:
    """Return a strategy's own method, if it stands for its choice; it takes time to find out."""
    global _looked_at
    last, own = _looked_at
    if last is not strategy:
        own = getattr(strategy, "probabilities", None)
        if own is not None and overridden(strategy, "probabilities", ["select"]) is not None:
            own = None
        _looked_at = strategy, own
    return own
