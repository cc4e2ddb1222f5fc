"""Learn from the whole observation, decide on the part of it that counts.

The reference implementation of *Learning Orthogonal Projections in Linear Bandits* (Kang and
Tay): decision sets, subspaces, strategies, problems, and a simulator.
"""

import importlib
from types import ModuleType

from projbandits import problems, schedules, theory
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
from projbandits.strategies import (
    CURSE,
    EIIDS,
    GENTRY,
    REGRET,
    UE,
    Choice,
    DirectedIDS,
    EIRatio,
    ProjectedTS,
    ProjectedUE,
    State,
    Strategy,
)
from projbandits.subspace import Subspace

__all__ = [
    "CURSE",
    "EIIDS",
    "GENTRY",
    "REGRET",
    "UE",
    "Arm",
    "Ball",
    "Box",
    "Choice",
    "DecisionSet",
    "DirectedIDS",
    "EIRatio",
    "Ellipsoid",
    "EntropyBall",
    "FiniteArms",
    "Polytope",
    "ProjectedTS",
    "ProjectedUE",
    "Result",
    "Ridge",
    "State",
    "Strategy",
    "Subspace",
    "__version__",
    "problems",
    "schedules",
    "simulate",
    "theory",
]


def __getattr__(name: str) -> ModuleType:
    """Load `plots` (and with it matplotlib) and `testing` when they are first asked for."""
    if name in ("plots", "testing"):
        return importlib.import_module(f"projbandits.{name}")
    raise AttributeError(f"module 'projbandits' has no attribute {name!r}")
