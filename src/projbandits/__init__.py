"""Learn from the whole observation, decide on the part of it that counts.

The reference implementation of *Learning Orthogonal Projections in Linear Bandits* (Kang and
Tay): decision sets, subspaces, strategies, problems, and a simulator.
"""

import importlib
from typing import TYPE_CHECKING, Any

from projbandits._version import __version__

if TYPE_CHECKING:
    from projbandits import problems, schedules, theory
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
    from projbandits.online import Decider, Decision, replay
    from projbandits.online.estimator import ProjectedRidge
    from projbandits.results import Result
    from projbandits.ridge import Ridge
    from projbandits.simulation.simulate import simulate
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
    "Decider",
    "Decision",
    "DecisionSet",
    "DirectedIDS",
    "EIRatio",
    "Ellipsoid",
    "EntropyBall",
    "FiniteArms",
    "Polytope",
    "ProjectedRidge",
    "ProjectedTS",
    "ProjectedUE",
    "Result",
    "Ridge",
    "State",
    "Strategy",
    "Subspace",
    "__version__",
    "problems",
    "replay",
    "schedules",
    "simulate",
    "theory",
]


_HOMES = {
    "arms": "Arm Ball Box DecisionSet Ellipsoid EntropyBall FiniteArms Polytope",
    "online": "Decider Decision replay",
    "online.estimator": "ProjectedRidge",
    "results": "Result",
    "ridge": "Ridge",
    "simulation": "simulate",
    "strategies": "CURSE EIIDS GENTRY REGRET UE Choice DirectedIDS EIRatio ProjectedTS ProjectedUE "
    "State Strategy",
    "subspace": "Subspace",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = ("plots", "problems", "schedules", "testing", "theory")


def __getattr__(name: str) -> Any:
    """Load a name when it is asked for: all of them together take the better part of a second."""
    if name in _MODULES:
        return importlib.import_module(f"projbandits.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"projbandits.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'projbandits' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
