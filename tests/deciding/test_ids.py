"""Ids of the caller's own: the same decision however often it is asked for."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests.deciders import fingerprint, some_arms
from tests.worlds import U3


def test_asking_again_is_the_same_decision() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    X = some_arms(np.random.default_rng(0))
    first = decider.ask(X, request_id="request 1", meta={"page": "home"})
    before = fingerprint(decider)
    again = decider.ask(X, request_id="request 1", meta={"page": "other"})
    assert (again.id, again.index, again.propensity, again.step) == (
        ("request 1", first.index, first.propensity, 1)
    )
    assert first.meta == again.meta == {"page": "home"}
    assert fingerprint(decider) == before
    decider.tell(first, 1.0)
    assert decider.ask(X, request_id="request 1").index == first.index
    pair = decider.ask(X, request_id="request 2", count=2)
    assert [d.id for d in pair] == ["request 2/0", "request 2/1"]
    assert [d.index for d in decider.ask(X, request_id="request 2", count=2)] == [
        d.index for d in pair
    ]
    with pytest.raises(ValueError, match="was asked for before, with another count"):
        decider.ask(X, request_id="request 2", count=3)
    assert decider.steps == 3


def test_the_chosen_arm_must_be_in_its_place() -> None:
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.0), subspace=U3, seed=0)
    X = some_arms(np.random.default_rng(0))
    first = decider.ask(X, request_id="a")
    assert first.index == 0
    more = np.vstack([X, [[1.0, 2.0, 3.0]]])  # other arms do not matter
    assert decider.ask(more, request_id="a").index == 0
    before = fingerprint(decider)
    for other in (X[::-1], pb.Ball(d=3), X[1:]):
        with pytest.raises(ValueError, match="is not in its place among these"):
            decider.ask(other, request_id="a")
    point = decider.ask(pb.Ball(d=3), request_id="b")
    assert (decider.ask(pb.Ball(d=3, radius=2.0), request_id="b").arm == point.arm).all()
    with pytest.raises(ValueError, match="is not in its place"):
        decider.ask(pb.Ball(d=3, radius=0.1), request_id="b")
    assert decider.steps == before[1] + 1


def test_notes_are_in_the_log() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    decider.ask(np.eye(3), meta=["a", 1])
    decider.ask(np.eye(3))
    assert decider.log()["meta"].tolist() == ['["a", 1]', None]
    assert decider.pending[0].meta == ["a", 1]
    assert decider.pending[1].meta is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"request_id": ""}, ValueError, "request_id must be a text of 1 to 200 characters"),
        ({"request_id": 7}, ValueError, "request_id must be a text of 1 to 200 characters, got 7"),
        ({"request_id": "x" * 201}, ValueError, "request_id must be a text"),
        ({"meta": {1, 2}}, TypeError, "meta must be something that JSON can hold"),
        ({"meta": float("nan")}, TypeError, "meta must be something that JSON can hold"),
    ],
)
def test_bad_ids_and_notes_are_named(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    before = fingerprint(decider)
    with pytest.raises(error, match=message):
        decider.ask(np.eye(3), **options)
    assert fingerprint(decider) == before


@pytest.mark.parametrize("bad", ["\ud800", "a\0b"])
def test_texts_that_no_file_can_keep_are_refused_wherever_they_come(bad: str) -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    decision = decider.ask(np.eye(3))
    before = fingerprint(decider)
    named = pb.Subspace.without(bad, columns=[bad, "price", "size"])
    calls: list[tuple[str, Any]] = [
        ("request_id", lambda: decider.ask(np.eye(3), request_id=bad)),
        ("each of labels", lambda: decider.ask(np.eye(3), labels=[bad, "b", "c"])),
        ("each of labels", lambda: decider.learn(np.eye(3), [1, 2, 3], labels=[bad, "b", "b"])),
        ("request_id", lambda: decider.learn(np.eye(3), [1, 2, 3], request_id=bad)),
        ("why", lambda: decider.withdraw(decision, bad)),
        ("a column's name", lambda: decider.ask([{bad: 1.0, "b": 2.0, "c": 3.0}])),
        ("a column's name", lambda: decider.reconfigure(subspace=named)),
        ("a column's name", lambda: pb.Decider(subspace=named)),
        ("name", lambda: pb.Decider.open("sqlite:///films.db", bad)),
    ]
    for what, call in calls:
        with pytest.raises(ValueError, match=f"^{what} must (be valid Unicode|not have a zero)"):
            call()
        assert fingerprint(decider)[:5] == before[:5]
