"""Outcomes that were wrong, never come, or come too late; and decisions by other lights."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests import naive
from tests.deciders import fingerprint, some_arms
from tests.worlds import U3


def played(strategy: Any = None, n: int = 12) -> tuple[pb.Decider, list[pb.Decision]]:
    decider = pb.Decider(strategy or pb.GENTRY(), subspace=U3, seed=0)
    rng = np.random.default_rng(0)
    made = [decider.ask(some_arms(rng)) for _ in range(n)]
    decider.tell_many([(d, float(i)) for i, d in enumerate(made[: n - 2])])
    return decider, made


def solution(pairs: list[tuple[pb.Decision, float]]) -> naive.Array:
    X, r = np.array([d.arm for d, _ in pairs]), np.array([r for _, r in pairs])
    return naive.centred_ridge(X, r, 1.0)[1]


def test_an_amended_outcome_counts_as_if_it_had_been_told() -> None:
    decider, made = played()
    decider.amend(made[3], 100.0)
    decider.amend(made[3], 50.0)
    decider.withdraw(made[5], "a robot")
    values = {i: float(i) for i in range(10) if i != 5} | {3: 50.0}
    expected = solution([(made[i], value) for i, value in values.items()])
    np.testing.assert_allclose(decider.ridge.theta, expected, atol=1e-12)
    straight = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    rng = np.random.default_rng(0)
    asked = [straight.ask(some_arms(rng)) for _ in range(12)]
    straight.tell_many([(asked[i], value) for i, value in sorted(values.items())])
    np.testing.assert_array_equal(decider.ridge.factor, straight.ridge.factor)
    assert decider.log()["outcome"].tolist()[3:6] == [50.0, 4.0, pytest.approx(np.nan, nan_ok=True)]
    decider.amend(made[5], 7.0)  # it counts after all
    values[5] = 7.0
    expected = solution([(made[i], value) for i, value in values.items()])
    np.testing.assert_allclose(decider.ridge.theta, expected, atol=1e-12)


def test_what_was_explained_before_an_amendment_stays_what_it_was() -> None:
    decider, made = played()
    later = decider.ask(np.eye(3))
    told = str(decider.explain(later))
    decider.amend(made[0], 1000.0)
    assert str(decider.explain(later.id)) == told
    assert str(decider.explain(decider.ask(np.eye(3)))) != told


def test_saying_so_again_is_harmless_and_the_rest_is_refused() -> None:
    decider, made = played()
    decider.amend(made[0], 5.0)
    decider.withdraw(made[1])
    decider.withdraw(made[10])
    before = fingerprint(decider)
    decider.amend(made[0], 5.0)
    decider.withdraw(made[1])
    decider.withdraw(made[10], "another reason")
    bad: list[tuple[Any, Any, str]] = [
        (lambda: decider.tell(made[0], 0.0), ValueError, r"told 5\.0 before, got 0\.0.*amend it"),
        (lambda: decider.tell(made[10], 1.0), ValueError, r"withdrawn \(withdrawn\).*amend it"),
        (lambda: decider.amend(made[11], 1.0), ValueError, "was not told yet: tell it"),
        (lambda: decider.amend("nobody", 1.0), KeyError, "id 'nobody' is unknown"),
        (lambda: decider.withdraw("nobody"), KeyError, "id 'nobody' is unknown"),
        (lambda: decider.withdraw(made[11], ""), ValueError, "why must be a text"),
        (
            lambda: decider.withdraw(made[11], "expired"),
            ValueError,
            "must not be 'expired', which is what `expire` says",
        ),
        (lambda: decider.amend(made[0], np.inf), ValueError, "must be finite, got inf"),
    ]
    for call, error, message in bad:
        with pytest.raises(error, match=message):
            call()
        assert fingerprint(decider) == before


@pytest.mark.parametrize("outcome", [None, 0.0])
def test_decisions_expire(outcome: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    early = [decider.ask(np.eye(3)) for _ in range(3)]
    decider.tell(early[0], 1.0)
    clock[0] += 86_400.0
    late = decider.ask(np.eye(3))
    assert decider.expire("1.5d") == ()
    assert set(decider.expire(timedelta(hours=12), outcome)) == {early[1].id, early[2].id}
    assert [d.id for d in decider.pending] == [late.id]
    assert decider.ridge.n == (1 if outcome is None else 3)
    with pytest.raises(ValueError, match="expired"):
        decider.tell(early[1], 1.0)
    clock[0] += 100.0
    assert decider.expire(60) == (late.id,)
    decider.amend(early[1], 1.0)  # it came too late, and counts
    assert decider.log()["outcome"][1] == 1.0


@pytest.mark.parametrize("after", ["soon", "24", "-3h", 0, -1.0, "1 fortnight", None])
def test_a_time_that_is_none_is_refused(after: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="after must be"):
        pb.Decider(subspace=U3).expire(after)


def test_history_of_the_same_id_is_learnt_once() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    for _ in range(2):
        decider.learn(np.eye(3), [1.0, 2.0, 3.0], request_id="2025")
    assert decider.ridge.n == 3
    with pytest.raises(ValueError, match="id '2025' was learnt before, from other rows"):
        decider.learn(np.eye(3), [1.0, 2.0, 4.0], request_id="2025")
    decider.learn(np.eye(3), [1.0, 2.0, 3.0])
    assert decider.ridge.n == 6


@pytest.mark.parametrize("strategy", [pb.UE(), pb.REGRET(), pb.GENTRY(penalty=3.0)], ids=repr)
def test_a_change_keeps_what_was_learnt(strategy: Any) -> None:
    decider, made = played()
    V3 = pb.Subspace.coordinates([1, 2], d=3)
    decider.reconfigure(strategy=strategy, subspace=V3)
    twin = pb.Decider(strategy, subspace=V3, seed=0)
    twin.learn(np.array([d.arm for d in made[:10]]), np.arange(10.0))
    np.testing.assert_allclose(decider.ridge.theta, twin.ridge.theta, atol=1e-12)
    assert repr(decider.strategy) == repr(strategy)
    np.testing.assert_array_equal(decider.subspace.matrix, V3.matrix)
    assert decider.steps == 12
    # Decisions from before are explained by the lights of then.
    assert len(decider.explain(made[11].id).table) == 6
    decider.reconfigure(strategy=pb.GENTRY(), subspace=U3)
    np.testing.assert_array_equal(decider.ridge.factor, played()[0].ridge.factor)


def test_a_change_that_cannot_be_is_refused() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    decider.tell(decider.ask(np.eye(3)), 1.0)
    before = fingerprint(decider)
    for change, error, message in (
        ({}, ValueError, "subspace, strategy or half_life must be given"),
        ({"subspace": pb.Subspace.coordinates([0], d=2)}, ValueError, "of 3 features, as before"),
        ({"subspace": 3}, TypeError, "subspace must be a Subspace"),
        ({"strategy": "UE"}, TypeError, "strategy must be one like"),
    ):
        with pytest.raises(error, match=message):
            decider.reconfigure(**change)
        assert fingerprint(decider) == before
    decider.reconfigure(strategy=pb.UE())
    assert decider.ridge.n == 1


def test_another_subspace_is_matched_by_name() -> None:
    U = pb.Subspace.without("age", columns=["age", "price", "size"])
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    decider.reconfigure(subspace=pb.Subspace.without("price", columns=["size", "price", "age"]))
    np.testing.assert_array_equal(decider.subspace.matrix, np.diag([1.0, 0.0, 1.0]))
    assert decider.columns == ("age", "price", "size")
    with pytest.raises(ValueError, match="'cost'"):
        decider.reconfigure(subspace=pb.Subspace.without("cost", columns=["size", "cost", "age"]))


def test_reasons_and_assumed_outcomes_are_checked() -> None:
    plain = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    with pytest.raises(ValueError, match="which is what `expire` says"):
        plain.withdraw(plain.ask(np.eye(3)), "expired")
    with pytest.raises(TypeError, match="outcome must be a number, got 'none'"):
        pb.Decider(subspace=U3).expire("24h", outcome="none")  # type: ignore[arg-type]
