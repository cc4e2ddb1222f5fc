"""Small simulations: every strategy, in every kind of world, on every engine that serves it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.oracles import adapter

HORIZON, TRIALS = 150, 2
SLOW_HORIZON = 30
"""For the readable loop on convex sets, where the search for an optimistic point takes long."""
SHORT = "small"
"""The world of the short form; kernels of others would have to be compiled."""

greedy: list[dict[str, Any]] = [
    {},
    {"alpha": 3.0, "basis": "first", "penalty": 0.5},
    {"schedule": "smooth"},
    {"schedule": "slow"},
    {"arm_effects": "auto"},
    {"arm_effects": 0.5},
]
others: list[dict[str, Any]] = [{}, {"alpha": 0.5, "schedule": "smooth"}, {"arm_effects": 0.5}]
optimistic: list[dict[str, Any]] = [{}, {"alpha": 0.7, "penalty": 2.0}, {"arm_effects": "auto"}]
bayesian: list[dict[str, Any]] = [
    {},
    {"noise": 0.5, "penalty": 1.0},
    {"arm_effects": "auto"},
    {"arm_effects": 0.3, "noise": 0.4},
]
STRATEGIES: dict[str, list[dict[str, Any]]] = {
    "GENTRY": greedy,
    **dict.fromkeys(("CURSE", "REGRET"), others),
    **dict.fromkeys(("UE", "ProjectedUE"), optimistic),
    "EIIDS": bayesian,
    "DirectedIDS": [*bayesian, {"radius": "published", "bound": 2.0}],
    "ProjectedTS": bayesian,
    "EIRatio": [{"horizon": HORIZON, **options} for options in bayesian],
    "ProjectedElimination": [{"horizon": HORIZON}, {"horizon": HORIZON, "noise": 0.5}],
    "SeekingGENTRY": [{"groups": 3, "leave_out": 2}],
}


def slow(t: int) -> float:
    """Return the epsilon of a schedule that is none of the named ones."""
    return min(1.0, 2.0 / math.pow(1.0 + t, 0.7))


def worlds() -> dict[str, Callable[[], Any]]:
    """Return worlds of every kind that an engine treats in a way of its own."""

    def flat() -> Any:
        rng = np.random.default_rng(7)
        arms = np.column_stack([rng.uniform(-1, 1, (9, 3)), np.zeros(9)])
        arms[4] = 0.0
        arms[7] = arms[2]
        subspace = adapter.keep([0, 1], 4)
        return adapter.made("instance", arms, theta=[1.0, -0.5, 0.2, 0.0], subspace=subspace)

    def on(kind: str, *given: Any) -> Callable[[], Any]:
        return lambda: adapter.made("random_theta", adapter.made(kind, *given), u=2)

    def drawn(**options: Any) -> Callable[[], Any]:
        return lambda: adapter.made("random_arms", **options)

    def offered(**options: Any) -> Callable[[], Any]:
        sizes = {"catalogue": 30, "offered": 6, "d": 4, "u": 2}
        return lambda: adapter.made("offers", **sizes, **options)

    normals = np.random.default_rng(5).standard_normal((80, 5))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    cube = np.vstack([np.eye(3), -np.eye(3)])
    uniform = adapter.made("Uniform", scale=0.3)
    return {
        "small": drawn(d=4, arms=7, u=2),
        "coordinates": drawn(d=6, arms=12, u=3, subspace="coordinates", noise=uniform),
        "clicks": drawn(d=3, arms=10, u=2, noise=adapter.made("Bernoulli")),
        "flat": flat,
        "offers": offered(),
        "offers with viewers": offered(context=1),
        "drift": offered(drift=("Wander", {"rate": 0.1})),
        "estimated subspace": lambda: adapter.made(
            "estimated_subspace", adapter.made("random_arms", d=4, arms=7, u=2), size=50
        ),
        "groups": lambda: adapter.made("groups", d=4, arms=7, u=2, groups=3),
        "entropy ball": lambda: adapter.made("entropy_ball"),
        "ball": on("Ball", 3, 2.0),
        "ellipsoid": on("Ellipsoid", np.diag([1.0, 2.0, 3.0])),
        "box": on("Box", [-1, -1, 0], [1, 2, 1]),
        "polytope": on("Polytope", cube, np.ones(6)),
        "polytope with many vertices": on("Polytope", normals, np.ones(80)),
    }


CONVEX = (
    "entropy ball", "ball", "ellipsoid", "box", "polytope", "polytope with many vertices",
)  # fmt: skip


def label(name: str, options: dict[str, Any]) -> str:
    """Return how the frozen file calls a strategy, whatever its repr is."""
    return f"{name}({', '.join(f'{key}={value}' for key, value in options.items())})"


def simulations(*, short: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each world with its numbers by strategy and engine."""
    for world, make in worlds().items():
        if short and world != SHORT:
            continue
        problem, found = make(), dict[str, Any]()
        for name, forms in STRATEGIES.items():
            for options in forms:
                given = {**options, "schedule": slow} if "slow" in options.values() else options
                by_engine = _engines(world, problem, adapter.made(name, **given))
                if by_engine:
                    found[label(name, options)] = by_engine
        yield world, found


def _engines(world: str, problem: Any, strategy: Any) -> dict[str, Any]:
    """Return the numbers of each engine that serves."""
    found = {}
    for engine in adapter.ENGINES:
        slow = engine == "reference" and world in CONVEX
        horizon = SLOW_HORIZON if slow else HORIZON
        steps = [horizon // 10, horizon]
        numbers = adapter.simulate(
            problem, strategy, engine, trials=TRIALS, horizon=horizon, checkpoints=steps
        )
        if numbers is not None:
            found[engine] = numbers
    return found


def shared(by_engine: dict[str, Any], equal: Callable[[Any, Any], bool]) -> dict[str, Any]:
    """Return the numbers once for all engines that have the same ones."""
    found: dict[str, Any] = {}
    for engine, numbers in by_engine.items():
        same = next((names for names, others in found.items() if equal(others, numbers)), None)
        if same is None:
            found[engine] = numbers
        else:
            found[f"{same}, {engine}"] = found.pop(same)
    return found


def apart(found: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers by engine that `shared` put together."""
    return {engine: numbers for names, numbers in found.items() for engine in names.split(", ")}
