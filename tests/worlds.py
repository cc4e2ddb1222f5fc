"""Worlds and strategies that several tests play, and how they play them."""

import copy
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import projbandits as pb
from projbandits.problems import Bernoulli, Problem, Uniform
from projbandits.strategies import LinearStrategy
from tests.everyone import everyone
from tests.sets import PRISM

SETTING_A = pb.problems.random_arms(d=4, arms=8, u=2)
PAIR = [pb.GENTRY(), pb.UE()]
GREEDY = [pb.GENTRY(), pb.CURSE(alpha=0.5), pb.REGRET(alpha=2.0, schedule="smooth")]
OPTIMISTIC = [pb.UE(), pb.ProjectedUE(alpha=0.3)]
FORMS: list[LinearStrategy] = [
    pb.GENTRY(),
    pb.CURSE(alpha=0.3, basis="first"),
    pb.REGRET(penalty=2.0),
    pb.UE(alpha=0.3),
    pb.ProjectedUE(),
    pb.EIIDS(),
    pb.EIIDS(noise=0.2, penalty=1.0),
    pb.DirectedIDS(),
    pb.DirectedIDS(radius="published"),
    pb.DirectedIDS(radius="published", bound=2.0, noise=0.4, penalty=2.0),
]
ALL = [*FORMS, *(s for s in everyone() if type(s) not in {type(form) for form in FORMS})]
"""Every strategy, some in several forms."""
U3 = pb.Subspace.coordinates([0, 1], d=3)
THETA = [1.0, 0.5, -0.7]


def given(arms: Any, subspace: pb.Subspace = U3, **options: Any) -> Problem:
    return pb.problems.instance(arms, theta=THETA, subspace=subspace, **options)


TWINS = np.random.default_rng(0).uniform(-1, 1, size=(5, 3))[[0, 1, 1, 2, 3, 4, 0]]
PLANE = np.random.default_rng(1).uniform(-1, 1, size=(6, 2)) @ np.eye(2, 3)
FINITE: dict[str, Problem] = {
    "setting-a": pb.problems.random_arms(),
    "setting-b": pb.problems.random_arms(subspace="coordinates"),
    "uniform": pb.problems.random_arms(noise=Uniform(0.5)),
    "bernoulli": pb.problems.random_arms(noise=Bernoulli(0.5)),
    "no-noise": pb.problems.random_arms(noise=0.0),
    "wine": pb.problems.wine(arms=40),
    "twins": given(TWINS),
    "zero-arm": given(np.vstack([np.zeros(3), np.eye(3)])),
    "best-arm-of-zeros": given(np.vstack([-np.eye(3)[:2], np.zeros(3), np.eye(3)[2]]), noise=0.3),
    "k-below-d": given(PLANE),
    "single": given([[1.0, 2.0, 0.0]], pb.Subspace.span([[1.0], [2.0], [0.0]])),
}
CONVEX: dict[str, Problem] = {
    "setting-c": pb.problems.entropy_ball(),
    "entropy-below-0": pb.problems.entropy_ball(bound=-0.5),
    "ball": given(pb.Ball(3)),
    "ball-centred": given(pb.Ball(3, center=[1.0, 2.0, 0.0]), noise=Uniform()),
    "ellipsoid": given(pb.Ellipsoid([[2.0, 0.5, 0], [0.5, 1.0, 0], [0, 0, 4.0]], center=[1, 0, 0])),
    "box": given(pb.Box([-1.0, 0.0, -1.0], [1.0, 1.0, 2.0]), noise=Bernoulli()),
    "polytope": given(pb.Polytope(*PRISM)),
}


def run(
    problem: Any = SETTING_A, strategies: Any = PAIR, engine: str = "auto", **options: Any
) -> pb.Result:
    size = {"trials": 6, "horizon": 60, "progress": False, **options}
    return pb.simulate(problem, strategies, engine=engine, **size)


def same(one: pb.Result, other: pb.Result) -> bool:
    names = ("regret", "return_regret", "best_share", "found_best", "pulls", "trial_numbers")
    return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)


def world_of(problem: Problem, trial: int, seed: int = 0) -> pb.problems.World:
    """Return the world of a trial as a simulation makes it, with its own generator."""

    class Watched:
        def world(self, rng: np.random.Generator) -> pb.problems.World:
            kept.append(copy.deepcopy(rng))
            return problem.world(rng)

        def __repr__(self) -> str:
            return "Watched()"

    kept: list[np.random.Generator] = []
    size = {"trials": range(trial, trial + 1), "horizon": 1, "progress": False}
    pb.simulate(Watched(), pb.GENTRY(), seed=seed, engine="reference", **size)  # type: ignore[arg-type]
    return problem.world(kept[-1])


LEVEL = 1e-4


def p_value(one: Any, other: Any) -> float:
    """Of Kolmogorov and Smirnov's two-sample test; conservative where values repeat."""
    return float(stats.ks_2samp(one.round(9), other.round(9), method="asymp").pvalue)


def flag(*, raised: bool = False) -> NDArray[np.uint8]:
    return np.full(1, raised, np.uint8)


def never(t: int) -> float:
    return 0.0


def always(t: int) -> float:
    return 0.3


@dataclass(frozen=True)
class Recorder:
    """A strategy that plays the arms in turn and checks nothing."""

    def init(self, arms: pb.DecisionSet, subspace: pb.Subspace) -> int:
        return 0

    def select(self, state: int, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        assert isinstance(arms, pb.FiniteArms)
        return pb.Choice(arms.arm(state % arms.size), 1.0)

    def update(self, state: int, arm: pb.Arm, observed: float) -> int:
        return state + 1


class Unnamed(Recorder):
    __repr__ = object.__repr__


def taught(strategy: LinearStrategy, seed: int = 0) -> tuple[pb.FiniteArms, pb.State]:
    """A state after 30 random pulls in a random world, at a step where epsilon is small."""
    rng = np.random.default_rng(seed)
    arms = pb.FiniteArms(rng.uniform(-1, 1, size=(8, 4)))
    U = pb.Subspace.span(rng.uniform(-1, 1, size=(4, 2)))
    theta = rng.uniform(-1, 1, size=4)
    state = strategy.init(arms, U)
    for i in rng.integers(8, size=30):
        observed = arms.vectors[i] @ theta + rng.normal()
        state = strategy.update(state, arms.arm(int(i)), float(observed))
    return arms, state._replace(step=10**6)


def trials_in(store: Path) -> int:
    """Return how many trials are kept, of strategies that have the same ones."""
    ranges = {tuple(map(int, path.name.split("-")[1:3])) for path in store.glob("part-*")}
    return len({trial for first, last in ranges for trial in range(first, last + 1)})


def until(true: Any, process: "subprocess.Popen[Any]") -> None:
    """Wait until something is true while a process runs."""
    deadline = time.monotonic() + 120
    while not true() and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
