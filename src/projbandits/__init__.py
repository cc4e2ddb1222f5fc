"""Learn from the whole observation, decide on the part of it that counts.

The reference implementation of *Learning Orthogonal Projections in Linear Bandits* (Kang and
Tay): decision sets, subspaces, strategies, problems, and a simulator.
"""

import importlib
from typing import TYPE_CHECKING, Any

from projbandits._version import __version__

if TYPE_CHECKING:
    from projbandits import arms, problems, schedules, strategies, theory
    from projbandits.arms import *  # noqa: F403
    from projbandits.deciding import Decider, Decision
    from projbandits.estimator import ProjectedRidge
    from projbandits.evaluation import Log, replay
    from projbandits.features import Features
    from projbandits.finding import Found, SideInformation, find_subspace
    from projbandits.results import Result
    from projbandits.ridge import Ridge
    from projbandits.service.client import connect
    from projbandits.simulation.simulate import simulate
    from projbandits.strategies import *  # noqa: F403
    from projbandits.subspace import Subspace

    __all__ = [
        "Decider",
        "Decision",
        "Features",
        "Found",
        "Log",
        "ProjectedRidge",
        "Result",
        "Ridge",
        "SideInformation",
        "Subspace",
        "__version__",
        "connect",
        "find_subspace",
        "problems",
        "replay",
        "schedules",
        "simulate",
        "strategies",
        "theory",
    ]
    __all__ += arms.__all__
    __all__ += strategies.__all__

_MODULES = ("plots", "problems", "schedules", "strategies", "testing", "theory")
_HOMES = {
    "subspace": ("Subspace",),
    "arms": None,
    "ridge": ("Ridge",),
    "finding": ("Found", "SideInformation", "find_subspace"),
    "strategies": None,
    "results": ("Result",),
    "simulation": ("simulate",),
    "deciding": ("Decider", "Decision"),
    "evaluation": ("Log", "replay"),
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
