"""Learn from the whole observation, decide on the part of it that counts.

The reference implementation of *Learning Orthogonal Projections in Linear Bandits* (Kang and
Tay): decision sets, subspaces, strategies, problems, and a simulator.
"""

import importlib
from typing import TYPE_CHECKING, Any

from projbandits import problems, schedules, strategies, theory
from projbandits._version import __version__
from projbandits.arms import (
    Arm,
    Ball,
    Box,
    DecisionSet,
    Ellipsoid,
    EntropyBall,
    FiniteArms,
    Polytope,
)
from projbandits.results import Result
from projbandits.ridge import Ridge
from projbandits.simulation import simulate
from projbandits.strategies import *  # noqa: F403  (its __all__ is the one list of strategies)
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    from projbandits.estimator import ProjectedRidge
    from projbandits.online import Decider, Decision, replay

__all__ = [
    "Arm",
    "Ball",
    "Box",
    "Decider",
    "Decision",
    "DecisionSet",
    "Ellipsoid",
    "EntropyBall",
    "FiniteArms",
    "Polytope",
    "ProjectedRidge",
    "Result",
    "Ridge",
    "Subspace",
    "__version__",
    "problems",
    "replay",
    "schedules",
    "simulate",
    "strategies",
    "theory",
]
__all__ += strategies.__all__


_LATER = {
    "Decider": "online",
    "Decision": "online",
    "ProjectedRidge": "estimator",
    "replay": "online",
}


def __getattr__(name: str) -> Any:
    """Load what takes time to load, or needs more than the rest does, when it is asked for."""
    if name in ("plots", "testing"):
        return importlib.import_module(f"projbandits.{name}")
    if name in _LATER:
        return getattr(importlib.import_module(f"projbandits.{_LATER[name]}"), name)
    raise AttributeError(f"module 'projbandits' has no attribute {name!r}")
