"""Identity: objects that behave differently are told apart, and equal ones are not."""

import copy
import dataclasses
import functools
import pickle
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits._identity import identity
from projbandits.exceptions import UnknownIdentityError

X = np.arange(6.0).reshape(3, 2)
A, b = np.vstack([np.eye(2), -np.eye(2)]), np.ones(4)
U = pb.Subspace.coordinates([0], d=2)
DIFFERENT: dict[str, list[Callable[[], Any]]] = {
    "arms": [
        lambda: pb.FiniteArms(X),
        lambda: pb.FiniteArms(X + 1e-12),
        lambda: pb.FiniteArms(X.T),
        lambda: pb.FiniteArms(pd.DataFrame(X, columns=["a", "b"])),
        lambda: pb.FiniteArms(pd.DataFrame(X, columns=["b", "a"])),
    ],
    "polytopes": [
        lambda: pb.Polytope(A, b),
        lambda: pb.Polytope(A, 2 * b),
        lambda: pb.Polytope(-A, b),
        lambda: pb.Polytope(A, b, A_eq=[[1.0, 1.0]], b_eq=[0.5]),
        lambda: pb.Polytope(A, b, A_eq=[[1.0, 1.0]], b_eq=[0.25]),
    ],
    "convex sets": [
        lambda: pb.Ball(2),
        lambda: pb.Ball(3),
        lambda: pb.Ball(2, 2.0),
        lambda: pb.Ball(2, center=[0.0, 1.0]),
        lambda: pb.Box([0.0, 0.0], [1.0, 1.0]),
        lambda: pb.Box([0.0, 0.0], [1.0, 2.0]),
        lambda: pb.Ellipsoid(np.eye(2)),
        lambda: pb.Ellipsoid(2 * np.eye(2)),
        lambda: pb.Ellipsoid(np.eye(2), center=[0.0, 1.0]),
        lambda: pb.EntropyBall(2),
        lambda: pb.EntropyBall(2, 4.0),
        lambda: pb.EntropyBall(2, tie=[0.0, 0.0]),
        lambda: pb.Ellipsoid(np.eye(2), tie=[0.0, 0.0]),
    ],
    "subspaces": [
        lambda: pb.Subspace.coordinates([0], d=2),
        lambda: pb.Subspace.coordinates([1], d=2),
        lambda: pb.Subspace.without("b", columns=["a", "b"]),
        lambda: pb.Subspace.without("c", columns=["a", "c"]),
    ],
    "problems": [
        lambda: pb.problems.random_theta(pb.FiniteArms(X), u=1),
        lambda: pb.problems.random_theta(pb.FiniteArms(2 * X), u=1),
        lambda: pb.problems.random_theta(pb.FiniteArms(X), u=1, noise=0.25),
        lambda: pb.problems.random_theta(pb.FiniteArms(X), u=1, noise=pb.problems.Uniform(0.5)),
        lambda: pb.problems.instance(X, theta=[1.0, 2.0], subspace=U),
        lambda: pb.problems.instance(X, theta=[1.0, 3.0], subspace=U),
        lambda: pb.problems.instance(X, theta=[1.0, 2.0], subspace=U, noise=0.25),
        lambda: pb.problems.instance(X, returns=[1, 2, 3], rewards=[1, 2, 3], subspace=U),
        lambda: pb.problems.instance(X, returns=[1, 2, 3], rewards=[1, 2, 4], subspace=U),
        lambda: pb.problems.entropy_ball(),
        lambda: pb.problems.entropy_ball(bound=4.0),
        lambda: pb.problems.entropy_ball(tie=[0.0] * 4),
    ],
    "strategies": [
        lambda: pb.GENTRY(),
        lambda: pb.CURSE(),
        lambda: pb.GENTRY(alpha=2.0),
        lambda: pb.GENTRY(penalty=2.0),
        lambda: pb.GENTRY(basis="first"),
        lambda: pb.GENTRY(arm_effects=0.5),
        lambda: pb.GENTRY(schedule="smooth"),
        lambda: pb.EIIDS(),
        lambda: pb.EIIDS(noise=0.5),
    ],
    "plain values": [
        lambda: 0.0,
        lambda: -0.0,
        lambda: 1,
        lambda: 1.0,
        lambda: True,
        lambda: np.float64(1.0),
        lambda: np.float32(1.0),
        lambda: "1",
        lambda: b"1",
        lambda: None,
        lambda: (1, (2, 3)),
        lambda: ((1, 2), 3),
        lambda: [1, 2, 3],
        lambda: {1: 2},
        lambda: {1, 2},
        lambda: np.ones(1),
        lambda: np.array([None], dtype=object),
        lambda: 10**5000,
        lambda: pd.DataFrame({"a": [1.0]}),
        lambda: functools.partial(pow, 2),
        lambda: functools.partial(pow, 3),
    ],
}


@pytest.mark.parametrize("makers", DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_in_any_number_differs(makers: list[Callable[[], Any]]) -> None:
    found = [identity(make()) for make in makers]
    assert len(set(found)) == len(makers)
    assert [identity(make()) for make in makers] == found
    for make in makers:
        value = make()
        assert identity(copy.deepcopy(value)) == identity(pickle.loads(pickle.dumps(value)))


def test_looking_at_a_problem_does_not_change_it() -> None:
    rng = np.random.default_rng(0)
    for make in (*DIFFERENT["arms"], *DIFFERENT["polytopes"], *DIFFERENT["convex sets"]):
        arms = make()
        before = identity(arms)
        arms.basis("first"), arms.best(np.ones(arms.d)), arms.span()
        assert arms.longest > 0
        assert identity(arms) == before
    for make in DIFFERENT["problems"]:
        problem = make()
        before = identity(problem)
        world = problem.world(rng)
        assert np.isfinite([world.best_reward, world.best_return]).all()
        assert world.subspace.matrix.shape == (world.arms.d,) * 2
        assert identity(problem) == before


def test_what_follows_from_other_numbers_may_be_rounded_otherwise_elsewhere() -> None:
    polytope, ellipsoid = pb.Polytope(A, b), pb.Ellipsoid(np.eye(2))
    world = pb.problems.instance(X, theta=[1.0, 2.0], subspace=U).given
    assert world.arm_returns is not None
    for value, derived in (
        (polytope, polytope.lower),
        (ellipsoid, ellipsoid.lengths),
        (world, world.arm_returns),
    ):
        before = identity(value)
        derived += 1e-16
        derived *= 1 + 1e-15
        assert identity(value) == before


def defined(source: str, **names: Any) -> Any:
    """Return what a source defines last, as a module of one's own would."""
    module = types.ModuleType("notebook")
    vars(module).update(names)
    exec(compile(source, "notebook", "exec"), vars(module))
    return [value for value in vars(module).values() if hasattr(value, "__qualname__")][-1]


SCHEDULE = "RATE = 0.1\ndef half(t): return 0.5 / t\ndef slow(t): return min(1.0, RATE * half(t))"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("min(1.0", "min(0.9"),
        ("RATE = 0.1", "RATE = 0.2"),
        ("0.5 / t", "0.6 / t"),
        ("RATE * half", "RATE * RATE * half"),
        ("slow(t)", "slow(t, k=1)"),
    ],
)
def test_an_edited_schedule_of_the_same_name_is_another(old: str, new: str) -> None:
    def strategy(source: str) -> pb.GENTRY:
        return pb.GENTRY(schedule=defined(source))

    one, edited = strategy(SCHEDULE), strategy(SCHEDULE.replace(old, new))
    assert repr(one) == repr(edited)
    assert identity(one) != identity(edited)
    moved = strategy("# a remark\n\n" + SCHEDULE.replace("def slow", "\n\ndef slow"))
    assert identity(one) == identity(moved)


def test_a_schedule_counts_with_what_it_takes_from_a_module_of_ones_own() -> None:
    def taken(body: str) -> str:
        helpers = types.ModuleType("helpers")
        exec(body, vars(helpers))
        return identity(defined("def slow(t): return helpers.rate(t)", helpers=helpers))

    assert taken("def rate(t): return 1 / t") != taken("def rate(t): return 2 / t")
    assert taken("def rate(t): return 1 / t") == taken("def rate(t): return 1 / t\nother = 1")


def made(rate: float) -> Callable[[int], float]:
    def schedule(t: int) -> float:
        return rate if t < 10 else 0.0

    return schedule


def test_closures_and_wrapped_functions_count_with_what_they_hold() -> None:
    assert identity(made(0.1)) == identity(made(0.1))
    assert identity(made(0.1)) != identity(made(0.2))
    wraps: tuple[Callable[[Any], Any], ...] = (functools.lru_cache, functools.partial)
    for wrap in wraps:
        assert identity(wrap(made(0.1))) == identity(wrap(made(0.1)))
        assert identity(wrap(made(0.1))) != identity(wrap(made(0.2)))
    assert identity(pb.Ball(2).best) != identity(pb.Ball(3).best)


OWN = """
import projbandits as pb
class Mine(pb.GENTRY):
    calm = 2
    def __init__(self, k):
        super().__init__()
        object.__setattr__(self, "k", k)
    def epsilon_for(self, k, finite): return lambda t: 1 / (self.calm * t + self.k)
"""


def test_strategies_of_ones_own_count_with_their_attributes_and_their_code() -> None:
    kind = defined(OWN)
    assert kind(1) == kind(2)  # as dataclasses, which do not know of k
    assert identity(kind(1)) != identity(kind(2))
    assert identity(kind(1)) == identity(defined(OWN)(1))
    for old, new in (("calm = 2", "calm = 3"), ("1 / (self", "2 / (self")):
        assert identity(defined(OWN.replace(old, new))(1)) != identity(kind(1))


class Named(pb.FiniteArms):
    """A subclass that adds an attribute to a set that says itself what it is made of."""

    def __init__(self, title: str) -> None:
        super().__init__(X)
        self.title = title


def test_what_a_subclass_adds_is_not_overlooked() -> None:
    assert identity(Named("a")) != identity(Named("b"))


@dataclass(frozen=True)
class Lockable:
    """A problem with a lock in it, which has no content."""

    scale: float
    lock: Any = dataclasses.field(default_factory=threading.Lock)

    def world(self, rng: np.random.Generator) -> pb.problems.World:
        return pb.problems.random_arms(noise=self.scale).world(rng)


class Known(Lockable):
    """The same, but it says what counts."""

    def __identity__(self) -> Any:
        return self.scale


def test_what_has_no_identity_is_refused_unless_it_says_what_counts() -> None:
    with pytest.raises(UnknownIdentityError, match=r"a _thread\.lock cannot be .*__identity__"):
        identity(Lockable(1.0))
    with pytest.raises(UnknownIdentityError, match=r"a numpy\.ufunc cannot be told"):
        identity(np.frompyfunc(made(0.1), 1, 1))
    assert identity(Known(1.0)) == identity(Known(1.0))
    assert identity(Known(1.0)) != identity(Known(2.0))


def fall(t: int) -> float:
    return 1.0 if t < 2 else fall(t - 1)


RING: list[Any] = [1]
RING.append(RING)
EXAMPLE = (
    {"b", "a", ("c", 1)},
    fall,
    RING,
    np.exp,
    np.random.default_rng(3),
    Named("a"),
    pb.EIIDS(),
    [made(0.1)],
    Known(1.0),
)


def test_an_identity_is_the_same_in_another_process() -> None:
    code = "from tests.test_identity import EXAMPLE, identity; print(identity(EXAMPLE))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == identity(EXAMPLE)


def test_an_instance_is_labelled_by_its_numbers_and_has_a_label_in_any_case() -> None:
    one, other = (pb.problems.instance(X, theta=[1.0, k], subspace=U) for k in (2.0, 3.0))
    assert repr(one) != repr(other)

    class Sealed(pb.Ball):
        def __init__(self) -> None:
            super().__init__(2)
            self.lock = threading.Lock()

    strange = pb.problems.instance(Sealed(), theta=[1.0, 2.0], subspace=U)
    assert repr(strange).endswith("unknown)")
