"""A decider whose U is found late, changed, or found in its own log."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.ledger.events import Changed
from tests.naive import Array

COLUMNS = [*"abc"]
SEGMENTS = ("x", "y", "z")
BIAS = np.array([[2.0, 0, 0], [-1.0, 0, 0], [0.5, 0, 0]])
"""What each segment feels about `a`, which must not count."""


def talk(n: int = 240, store: str | None = None) -> pb.Decider:
    """Return a decider that has decided for three segments, and counts everything so far."""
    rng = np.random.default_rng(0)
    everything = pb.Subspace(np.eye(3), tuple(COLUMNS))
    options: dict[str, Any] = {} if store is None else {"store": store, "name": "films"}
    decider = pb.Decider(pb.GENTRY(alpha=10.0), subspace=everything, seed=0, **options)
    theta = np.array([0.3, 1.0, -0.5])
    for t in range(n):
        offer = pd.DataFrame(rng.uniform(-1, 1, size=(5, 3)), columns=COLUMNS)
        who = t % 3
        decision = decider.ask(offer, meta={"segment": SEGMENTS[who]})
        observed = decision.arm @ (theta + BIAS[who]) + 0.1 * rng.normal()
        decider.tell(decision.id, float(observed))
    return decider


@pytest.fixture(scope="module")
def decider() -> pb.Decider:
    return talk()


def test_u_is_found_in_the_log(decider: pb.Decider) -> None:
    found = decider.find_subspace(by="segment")
    assert found.left_out.dim == 1
    assert found.rows == 240
    assert found.subspace.names == tuple(COLUMNS)
    assert abs(found.left_out.basis[0, 0]) > np.cos(np.radians(5))


def test_a_change_of_u_loses_nothing_and_is_in_the_ledger(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'films.db'}"
    decider = talk(30, store)
    before, log = decider.ridge, decider.log()
    U = pb.find_subspace(attributes=side(), leave_out=1).subspace
    decider.reconfigure(subspace=U)
    np.testing.assert_array_equal(decider.ridge.factor, before.factor)
    assert decider.steps == 30
    pd.testing.assert_frame_equal(decider.log(), log)
    changes = [
        event
        for _, event in decider.history().events()
        if isinstance(event, Changed) and event.subspace is not None
    ]
    assert len(changes) == 1
    decider.close()
    again = pb.Decider.open(store, "films")
    np.testing.assert_allclose(again.subspace.matrix, U.matrix, atol=1e-12)
    np.testing.assert_array_equal(again.ridge.factor, before.factor)
    offer = pd.DataFrame(np.random.default_rng(1).uniform(-1, 1, size=(4, 3)), columns=COLUMNS)
    decision = again.ask(offer)
    expected = U.project(decision.arm) @ before.theta
    assert decision.estimate == pytest.approx(expected)
    again.close()


def side(seed: int = 0, m: int = 60) -> tuple[pd.DataFrame, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    return pd.DataFrame(X, columns=COLUMNS), X[:, 0] + 0.5 * rng.normal(size=m)


def test_sensitivity_is_how_often_another_u_would_guess_otherwise(decider: pb.Decider) -> None:
    found = pb.find_subspace(attributes=side(), leave_out=1)
    told = decider.sensitivity(found)
    log = decider.log()
    assert list(told.decisions.index) == list(log["id"])
    differs = []
    row: Any
    for row in log.itertuples():
        X = np.reshape(row.offered, (5, 3))
        grounds = decider.history().find(str(row.id)).grounds
        assert grounds is not None
        theta = grounds.state.ridge.theta
        guesses = [
            int((X @ (theta - basis @ (basis.T @ theta))).argmax())
            for basis in [found.left_out.basis, *found.resampled]
        ]
        differs.append(np.mean(np.array(guesses[1:]) != guesses[0]))
        assert told.decisions.loc[str(row.id), "best"] == guesses[0]
    np.testing.assert_allclose(told.decisions["differs"], differs)
    assert told.share == pytest.approx(np.mean(differs))
    assert 0 < len(told.hanging) < 240
    assert (told.hanging["instead"] >= 0).all()
    assert f"{len(told.hanging)} decisions hang on U" in told.report()


def test_a_sure_u_decides_alone(decider: pb.Decider) -> None:
    little = decider.sensitivity(pb.find_subspace(attributes=side(), leave_out=1))
    much = decider.sensitivity(pb.find_subspace(attributes=side(m=100_000), leave_out=1))
    assert much.share < 0.2 * little.share


def test_names_of_another_order_are_matched(decider: pb.Decider) -> None:
    X, z = side()
    one = decider.sensitivity(pb.find_subspace(attributes=(X, z), leave_out=1))
    turned = decider.sensitivity(pb.find_subspace(attributes=(X[[*"cab"]], z), leave_out=1))
    pd.testing.assert_frame_equal(one.decisions, turned.decisions, atol=1e-9)


def test_what_a_log_cannot_tell_is_named(decider: pb.Decider) -> None:
    with pytest.raises(ValueError, match=r"by must be a column of .* got 'segmnt', .*did you mean"):
        decider.find_subspace(by="segmnt")
    with pytest.raises(TypeError, match="found must be what find_subspace returns"):
        decider.sensitivity(decider.subspace)  # type: ignore[arg-type]
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match="found must be a subspace of 3 features"):
        decider.sensitivity(pb.find_subspace(attributes=(X, X[:, 0])))
    empty = pb.Decider(subspace=pb.Subspace.coordinates([0], d=3))
    with pytest.raises(ValueError, match="must hold outcomes"):
        empty.find_subspace(by="segment")
