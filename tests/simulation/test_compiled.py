"""The compiled engine: it stands for a strategy only where no part of it was changed."""

import dataclasses
import inspect
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.simulation import compiled
from projbandits.strategies import LinearStrategy
from tests.everyone import everyone
from tests.worlds import FINITE, run


class Worst(pb.GENTRY):
    """GENTRY that plays the arm it thinks least of."""

    def greedy(self, state: pb.State, arms: pb.DecisionSet) -> pb.Arm:
        return arms.best(-self.aim(state))


class Bold(pb.UE):
    """UE with another radius."""

    def radius(self, t: int, arms: pb.DecisionSet) -> float:
        return 100.0


class Sided(pb.LinearStrategy):
    """What a class brings in from beside its parents, not from below them."""

    def greedy(self, state: pb.State, arms: pb.DecisionSet) -> pb.Arm:
        return arms.best(-self.aim(state))


class Mixed(pb.GENTRY, Sided):
    """GENTRY whose greedy arm comes from a class that stands behind EpsilonGreedy."""


@pytest.mark.parametrize(
    ("strategy", "what"), [(Worst(), "greedy"), (Bold(), "radius"), (Mixed(), "greedy")], ids=repr
)
def test_a_changed_part_of_the_choice_is_seen(strategy: LinearStrategy, what: str) -> None:
    size = {"trials": 2, "horizon": 60}
    auto = run(FINITE["setting-a"], strategy, "auto", **size)
    assert auto.engines == ("reference",)
    assert (auto.regret == run(FINITE["setting-a"], strategy, "reference", **size).regret).all()
    for engine in ("compiled", "events"):
        with pytest.raises(ValueError, match=f"defines {what} anew but no compiled_rule"):
            run(FINITE["setting-a"], strategy, engine, **size)


class Inside(pb.ProjectedUE):
    """ProjectedUE that learns on projections; its widths are those of whole arms all the same."""

    learns_on = "projection"  # type: ignore[assignment]


def test_optimism_that_learns_on_projections_is_left_to_the_readable_loop() -> None:
    assert run(FINITE["twins"], Inside(), "auto", trials=1, horizon=5).engines == ("reference",)


@pytest.mark.parametrize("strategy", everyone(), ids=repr)
def test_no_part_of_a_strategy_can_be_changed_unseen(strategy: LinearStrategy) -> None:
    # Every method and property by itself, in a subclass and on the instance.
    kind, world = type(strategy), FINITE["twins"].world(np.random.default_rng(0))
    assert compiled.why_not(world, strategy) is None
    fields = {field.name for field in dataclasses.fields(strategy)}
    given = {name: getattr(strategy, name) for name in fields}
    parts = [n for n in dir(kind) if not n.startswith("__") and n not in {"_abc_impl", *fields}]
    assert {"select", "greedy", "learnt", "init", "aim", "update", "known_scales"} <= {*parts}
    for name in set(parts) - {"compiled_rule", "learns_on", "aims_at"}:
        original = inspect.getattr_static(kind, name)
        twin = property(original.fget) if isinstance(original, property) else lambda *a, **k: 0
        changed = type("Changed", (kind,), {name: twin})(**given)
        assert compiled.why_not(world, changed) is not None, name
        if not isinstance(original, property):
            object.__setattr__(patched := kind(**given), name, twin)
            assert compiled.why_not(world, patched) is not None, name
    declared = type("Declared", (kind,), {"aims_at": "return", "note": "a name of its own"})
    assert compiled.why_not(world, declared(**given)) is None


class Astray(pb.GENTRY):
    """Chooses a row of its own from step 7 on, by either engine."""

    alpha: float  # the row

    def select(self, state: pb.State, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        row = int(self.alpha) - 10 if state.step >= 7 else 0
        return pb.Choice(pb.Arm(np.zeros(arms.d), row), 1.0)

    def compiled_rule(
        self, arms: pb.DecisionSet, subspace: pb.Subspace, horizon: int
    ) -> pb.CompiledRule:
        return pb.CompiledRule(astray, np.array([self.alpha - 10]))


def astray(t: Any, view: Any, rng: Any) -> Any:
    return int(view.parameters[0]) if t >= 7 else 0


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("row", [7, -1, 2**40])
def test_a_row_outside_of_the_arms_is_never_read(engine: str, row: int) -> None:
    strategy = Astray(alpha=row + 10)
    with pytest.raises(ValueError, match=rf"Astray\(.* from 0 to 6, .* {row} at step 7"):
        run(FINITE["twins"], strategy, engine, trials=1, horizon=20)
    run(FINITE["twins"], Astray(alpha=16), engine, trials=1, horizon=20)


@dataclass(frozen=True)
class Calm:
    """A schedule with a number that `==` does not see."""

    rate: float = field(compare=False)

    def __call__(self, t: int) -> float:
        return self.rate / t


RATE = 0.9


def by_rate(t: int) -> float:
    return RATE / t


def test_strategies_that_compare_equal_keep_their_own_schedules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def final(*strategies: Any) -> Any:
        return run(strategies=strategies, engine="compiled", trials=4, horizon=200).regret

    calm, bold = pb.GENTRY(schedule=Calm(0.1)), pb.GENTRY(schedule=Calm(1.0))
    assert calm == bold
    one, other = final(calm, bold)
    assert not np.array_equal(one, other)
    assert np.array_equal(final(bold)[0], other)
    changing = pb.GENTRY(schedule=by_rate)
    before = final(changing)
    monkeypatch.setattr(sys.modules[__name__], "RATE", 0.1)
    assert not np.array_equal(final(changing), before)
