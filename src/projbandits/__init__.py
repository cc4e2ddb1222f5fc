"""Learn from the whole observation, decide on the part of it that counts.

An independent implementation of *Learning Orthogonal Projections in Linear Bandits* (Kang and
Tay): decision sets, subspaces, strategies, problems, and a simulator.
"""

import importlib
from typing import TYPE_CHECKING, Any

from projbandits._version import __version__ as __version__

if TYPE_CHECKING:
    from projbandits import exceptions as exceptions
    from projbandits import plots as plots
    from projbandits import problems as problems
    from projbandits import schedules as schedules
    from projbandits import strategies as strategies
    from projbandits import testing as testing
    from projbandits import theory as theory
    from projbandits.arms import *  # noqa: F403
    from projbandits.deciding import Decider as Decider
    from projbandits.deciding import Decision as Decision
    from projbandits.estimator import ProjectedRidge as ProjectedRidge
    from projbandits.evaluation.log import Log as Log
    from projbandits.evaluation.replay import replay as replay
    from projbandits.features.features import Features as Features
    from projbandits.finding import SideInformation as SideInformation
    from projbandits.finding import SubspaceEstimate as SubspaceEstimate
    from projbandits.finding import find_subspace as find_subspace
    from projbandits.results import Result as Result
    from projbandits.ridge import Ridge as Ridge
    from projbandits.service.client import connect as connect
    from projbandits.simulation.simulate import simulate as simulate
    from projbandits.strategies import *  # noqa: F403
    from projbandits.subspace import Subspace as Subspace

_MODULES = ("exceptions", "plots", "problems", "schedules", "strategies", "testing", "theory")
_HOMES = {
    "subspace": ("Subspace",),
    "arms": None,
    "ridge": ("Ridge",),
    "finding": ("SubspaceEstimate", "SideInformation", "find_subspace"),
    "strategies": None,
    "results": ("Result",),
    "simulation": ("simulate",),
    "deciding": ("Decider", "Decision"),
    "evaluation.log": ("Log",),
    "evaluation.replay": ("replay",),
    "estimator": ("ProjectedRidge",),
    "features": ("Features",),
    "service.client": ("connect",),
}
"""Which names are in which module; where it says none, the module's own `__all__` does."""


def __getattr__(name: str) -> Any:
    """Load a name when it is asked for: all of them together take the better part of a second."""
    if name == "__all__":
        named = [each for home in _HOMES for each in _names(home)]
        return sorted({*named, "__version__", *_MODULES} - {"plots", "testing"})
    if name in _MODULES:
        return importlib.import_module(f"projbandits.{name}")
    if not name.startswith("_"):
        for home in _HOMES:
            if name in _names(home):
                value = getattr(importlib.import_module(f"projbandits.{home}"), name)
                globals()[name] = value
                return value
    raise AttributeError(f"module 'projbandits' has no attribute {name!r}")


def _names(home: str) -> tuple[str, ...]:
    known = _HOMES[home]
    return tuple(importlib.import_module(f"projbandits.{home}").__all__) if known is None else known


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__"), *_MODULES})
