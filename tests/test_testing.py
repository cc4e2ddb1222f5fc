"""The conformance checks refuse parts that are wrong in ways people get them wrong."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

import projbandits as pb
from projbandits.problems import Gaussian, World
from projbandits.testing import check_decision_set, check_problem, check_strategy

Rng = np.random.Generator
Array = npt.NDArray[np.float64]


class Liar(pb.GENTRY):
    """States the wrong probability."""

    def select(self, state: pb.State, arms: pb.DecisionSet, rng: Rng) -> pb.Choice:
        return dataclasses.replace(super().select(state, arms, rng), probability=0.5)


class Careless(pb.GENTRY):
    """Takes its coins from elsewhere."""

    def select(self, state: pb.State, arms: pb.DecisionSet, rng: Rng) -> pb.Choice:
        return super().select(state, arms, np.random.default_rng())


class Overwriter(pb.GENTRY):
    """Writes into its old state."""

    def update(self, state: pb.State, arm: pb.Arm, observed: float) -> pb.State:
        new = super().update(state, arm, observed)
        state.ridge.factor[:] = new.ridge.factor
        return new


@dataclass(frozen=True)
class Rememberer:
    """Keeps what it knows in itself, so that one play disturbs another."""

    seen: list[int] = field(default_factory=list)

    def init(self, arms: pb.DecisionSet, subspace: pb.Subspace) -> int:
        return 0

    def select(self, state: int, arms: pb.DecisionSet, rng: Rng) -> pb.Choice:
        return pb.Choice(arms.basis_arms()[len(self.seen) % arms.rank], 1.0)

    def update(self, state: int, arm: pb.Arm, observed: float) -> int:
        self.seen.append(1)
        return state + 1

    def __repr__(self) -> str:
        return "Rememberer()"


@dataclass(frozen=True)
class Stateless:
    """Plays D_k uniformly; right, and nothing to remember."""

    def init(self, arms: pb.DecisionSet, subspace: pb.Subspace) -> dict[str, Any]:
        return {"nothing": np.array([np.nan])}

    def select(self, state: Any, arms: pb.DecisionSet, rng: Rng) -> pb.Choice:
        basis = arms.basis_arms()
        return pb.Choice(basis[int(rng.random() * len(basis))], 1 / len(basis))

    def update(self, state: Any, arm: pb.Arm, observed: float) -> Any:
        return state


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (Liar(alpha=0.5), "stated probability 0.5"),
        (Careless(alpha=0.5), "two plays with the same randomness differ"),
        (Overwriter(alpha=0.5), "update changed the state in place"),
        (Rememberer(), "two plays with the same randomness differ"),
        (object(), "lacks init, select or update"),
    ],
)
def test_wrong_strategies_are_refused(strategy: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_strategy(strategy)


def test_any_kind_of_state_will_do() -> None:
    check_strategy(Stateless())


def wide(state: pb.State) -> bool:
    return float(np.trace(state.projection)) > 1.5


class Hoarder(pb.GENTRY):
    """Where U has several dimensions, goes by what it keeps in itself."""

    seen: ClassVar[list[int]] = []

    def select(self, state: pb.State, arms: pb.DecisionSet, rng: Rng) -> pb.Choice:
        if not wide(state):
            return super().select(state, arms, rng)
        return pb.Choice(arms.basis_arms()[len(self.seen) % arms.rank], 1.0)

    def update(self, state: pb.State, arm: pb.Arm, observed: float) -> pb.State:
        self.seen.append(1)
        return super().update(state, arm, observed)


class Stray(pb.GENTRY):
    """Where U has several dimensions, chooses what is not on offer."""

    def select(self, state: pb.State, arms: pb.DecisionSet, rng: Rng) -> pb.Choice:
        choice = super().select(state, arms, rng)
        if not wide(state):
            return choice
        return dataclasses.replace(choice, arm=pb.Arm(3 * choice.arm.x, choice.index))


class Scribbler(Overwriter):
    """Where U has several dimensions, writes into its old state."""

    def update(self, state: pb.State, arm: pb.Arm, observed: float) -> pb.State:
        kind = Overwriter if wide(state) else pb.GENTRY
        return kind.update(self, state, arm, observed)


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (Hoarder(), r"two plays with the same randomness differ on .*, dim U = 2"),
        (Stray(), "is not in FiniteArms"),
        (Scribbler(), "update changed the state in place"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_wrong_only_where_u_has_several_dimensions_is_refused(
    strategy: pb.GENTRY, message: str
) -> None:
    line = np.outer([1.0, -2.0, 0.5], [1.0, 0.5, -0.7])
    check_strategy(strategy, sets=[pb.FiniteArms(line)])  # on a line U has but one
    with pytest.raises(AssertionError, match=message):
        check_strategy(strategy)


U = pb.Subspace.coordinates([0], d=2)


@dataclass
class Given:
    """A problem that changes a good world a little, or itself with every call."""

    change: str
    calls: int = 0

    def world(self, rng: Rng) -> World:
        self.calls += 1
        theta = [float(self.calls) if self.change == "drift" else 1.0, 2.0]
        noise = {"biased": Biased(0.5), "wild": Wild(0.5)}.get(self.change, Gaussian(0.5))
        world = World(pb.FiniteArms(np.eye(2)), U, noise, theta=np.array(theta))
        if self.change == "reward":
            object.__setattr__(world, "arm_rewards", world.arm_returns)
        if self.change == "best":
            world.__dict__["best_reward"] = 7.0
        return world

    def __repr__(self) -> str:
        return f"Given({self.change!r})"


class Biased(Gaussian):
    def observe(self, mean: float, rng: Rng) -> float:
        return super().observe(mean, rng) + (0.2 if mean > 1.5 else 0.0)


class Wild(Gaussian):
    def observe(self, mean: float, rng: Rng) -> float:
        return mean + self.scale * 3 * rng.standard_normal()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("drift", "worlds from one seed differ"),
        ("reward", "not the projection's"),
        ("best", "no arm attains the best reward"),
        ("biased", "average"),
        ("wild", "the stated scale is"),
    ],
)
def test_wrong_problems_are_refused(change: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_problem(Given(change))


def test_the_unchanged_world_passes() -> None:
    check_problem(Given("nothing"))


class Half(pb.Ball):
    def supports(self, directions: Array) -> Array:
        return super().supports(directions) / 2


class Anything(pb.Ball):
    def contains(self, x: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        return True


class Middle(pb.Ball):
    def best_convex(self, function: Any) -> pb.Arm:
        return pb.Arm(self.center)


class Fickle(pb.Ball):
    def supports(self, directions: Array) -> Array:
        turn = np.random.default_rng().normal(scale=1e-3, size=directions.shape)
        return super().supports(directions + turn)


class Endless(pb.Ball):
    longest = np.inf


class Turned(pb.Ball):
    shear = 0.5

    def supports(self, directions: Array) -> Array:
        return super().supports(directions + self.shear * np.roll(directions, 1, axis=1))


class Sheared(Turned):
    shear = 0.01


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Half, "counts as a member"),
        (Anything, "counts as a member"),
        (Middle, "best_convex is not the best"),
        (Fickle, "asked again, support points differ"),
        (Endless, "the longest arm has length inf"),
        (Turned, "a support point misses the maximum"),
        (Sheared, "best_convex is not the best"),  # too little for any of 200 points to beat it
    ],
)
def test_wrong_decision_sets_are_refused(kind: type[pb.Ball], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_decision_set(kind(3))
