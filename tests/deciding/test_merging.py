"""Workers that are merged, and those that cannot be."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests import naive
from tests.deciders import fingerprint, some_arms
from tests.worlds import U3


def test_merged_workers_believe_what_one_would() -> None:
    rng = np.random.default_rng(6)
    workers = [pb.Decider(pb.GENTRY(), subspace=U3, seed=i) for i in range(3)]
    X, r = [], []
    for worker in workers:
        for _ in range(20):
            decision = worker.ask(some_arms(rng))
            reward = float(rng.normal())
            worker.tell(decision.id, reward)
            X.append(decision.arm)
            r.append(reward)
    total = pb.Decider(pb.GENTRY(), subspace=U3, seed=9)
    total.merge(*workers)
    _, theta = naive.ridge(np.array(X), np.array(r), 1.0)
    np.testing.assert_allclose(total.ridge.theta, theta, rtol=0, atol=1e-12)
    assert (total.steps, total.ridge.n) == (60, 60)
    before = fingerprint(total)
    for others, message in [
        ([workers[0]], "common origin"),
        ([total], "common origin"),
        ([pb.Decider(pb.GENTRY(), subspace=pb.Subspace.coordinates([0], d=3))], "same subspace"),
        ([pb.Decider(pb.GENTRY(), subspace=pb.Subspace.coordinates([0], d=2))], "same subspace"),
        ([pb.Decider(pb.REGRET(), subspace=U3)], "learn on the same"),
        ([pb.Decider(pb.GENTRY(ridge=2.0), subspace=U3)], "equal penalties"),
    ]:
        with pytest.raises(ValueError, match=message):
            total.merge(*others)
        assert fingerprint(total) == before


def test_workers_that_name_their_columns_differently_are_not_merged() -> None:
    def worker(*columns: str) -> pb.Decider:
        made = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
        made.learn(pd.DataFrame(np.eye(3), columns=[*columns]), [1.0, 2.0, 3.0])
        return made

    total = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    before = fingerprint(total)
    with pytest.raises(ValueError, match="same columns in the same order"):
        total.merge(worker("a", "b", "c"), worker("c", "b", "a"))
    assert fingerprint(total) == before
    total.merge(worker("a", "b", "c"), worker("a", "b", "c"))
    assert total.columns == ("a", "b", "c")


def test_what_two_copies_share_counts_once(tmp_path: Path) -> None:
    """Copies of one file, which went on apart: the union of their ledgers."""
    rng = np.random.default_rng(0)
    origin = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, log=True)
    origin.learn(np.eye(3), [1.0, 2.0, 3.0])
    shared = [origin.ask(some_arms(rng)) for _ in range(10)]
    origin.tell_many([(d, 1.0) for d in shared[:6]])
    origin.save(tmp_path / "decider")
    one, other = (pb.Decider.load(tmp_path / "decider") for _ in range(2))
    own = [d.ask(some_arms(rng)) for d in (one, other) for _ in range(5)]
    one.tell_many([(d, 2.0) for d in [*own[:4], shared[6]]])
    other.tell_many([(d, 3.0) for d in [*own[5:8], shared[7]]])
    third = pb.Decider(pb.GENTRY(), subspace=U3, seed=3)  # keeps no log
    alone = third.ask(np.eye(3))
    third.tell(alone, 4.0)
    one.merge(other, third)
    X = np.vstack([np.eye(3), *[d.arm for d in [*shared[:8], *own[:4], *own[5:8], alone]]])
    r = [1.0, 2.0, 3.0, *[1.0] * 6, 2.0, 3.0, *[2.0] * 4, *[3.0] * 3, 4.0]
    _, theta = naive.ridge(X, np.array(r), 1.0)
    np.testing.assert_allclose(one.ridge.theta, theta, atol=1e-12)
    assert (one.steps, one.ridge.n) == (21, 19)
    before = fingerprint(one)
    one.merge(other)
    one.merge(one)
    assert fingerprint(one) == before
    with pytest.raises(ValueError, match="common origin"):
        one.merge(third)
    # What was pending there is told there, and comes with the next union.
    other.tell(own[9], 5.0)
    one.merge(other)
    assert (one.steps, one.ridge.n) == (21, 20)
    fresh = pb.Decider(pb.GENTRY(), subspace=U3, seed=9, log=True)
    fresh.merge(one, other)
    assert (fresh.steps, fresh.ridge.n) == (21, 20)
    np.testing.assert_allclose(fresh.ridge.theta, one.ridge.theta, atol=1e-12)
    assert len(fresh.log()) == 0


def test_outcomes_that_contradict_each_other_are_not_merged(tmp_path: Path) -> None:
    origin = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, log=True)
    decision = origin.ask(np.eye(3))
    origin.tell(decision, 1.0)
    origin.save(tmp_path / "decider")
    one, other = (pb.Decider.load(tmp_path / "decider") for _ in range(2))
    other.amend(decision.id, 2.0)
    before = fingerprint(one)
    with pytest.raises(ValueError, match=r"told 1\.0 here and told 2\.0 there.*amend or withdr"):
        one.merge(other)
    assert fingerprint(one) == before
    one.amend(decision.id, 2.0)
    one.merge(other)
    assert one.ridge.n == 1
    with pytest.raises(TypeError, match="merging needs deciders"):
        one.merge(3)  # type: ignore[arg-type]


def test_what_is_settled_there_is_settled_here_or_refused(tmp_path: Path) -> None:
    origin = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, log=True)
    made = [origin.ask(np.eye(3)) for _ in range(3)]
    origin.tell(made[0], 1.0)
    origin.save(tmp_path / "decider")

    def copies(count: int) -> list[pb.Decider]:
        return [pb.Decider.load(tmp_path / "decider") for _ in range(count)]

    one, other = copies(2)
    other.withdraw(made[1], "a robot")
    one.merge(other)
    assert [d.id for d in one.pending] == [made[2].id]
    one, other = copies(2)
    other.withdraw(made[0])
    for here, there, said in ((one, other, "told 1.0"), (other, one, r"withdrawn \(withdrawn\)")):
        before = fingerprint(here)
        with pytest.raises(ValueError, match=f"was {said} here.*amend or withdraw it in one"):
            here.merge(there)
        assert fingerprint(here) == before
    one, other, third = copies(3)
    other.tell(made[1], 1.0)
    third.withdraw(made[1])
    with pytest.raises(ValueError, match=r"was told 1\.0 here and withdrawn"):
        one.merge(other, third)
    total = pb.Decider(pb.GENTRY(), subspace=U3, log=True)
    total.merge(other)
    other.amend(made[1], 2.0)
    with pytest.raises(ValueError, match=r"told 1\.0 here and told 2\.0 there.*into a fresh one"):
        total.merge(other)


def test_one_id_for_two_decisions_is_not_merged() -> None:
    one, other = (pb.Decider(pb.GENTRY(), subspace=U3, seed=0, log=True) for _ in range(2))
    one.ask(np.eye(3), id="request 1")
    other.tell(other.ask(np.eye(3), id="request 1"), 1.0)
    total = pb.Decider(pb.GENTRY(), subspace=U3, log=True)
    total.tell(total.ask(2.0 * np.eye(3)), 1.0)
    third = pb.Decider(pb.GENTRY(), subspace=U3, log=True)
    third.tell(third.ask(3.0 * np.eye(3), id="request 1"), 1.0)
    total.merge(third)
    for here in (one, total):
        before = fingerprint(here)
        with pytest.raises(ValueError, match="'request 1' is one decision here and another there"):
            here.merge(other)
        assert fingerprint(here) == before


def test_other_history_of_one_id_is_not_merged() -> None:
    workers = [pb.Decider(pb.GENTRY(), subspace=U3, log=True) for _ in range(3)]
    for worker, scale in zip(workers, (1.0, 1.0, 2.0), strict=True):
        worker.learn(scale * np.eye(3), [1.0, 2.0, 3.0], id="2025")
    total = pb.Decider(pb.GENTRY(), subspace=U3, log=True)
    total.merge(*workers[:2])
    assert total.ridge.n == 3
    with pytest.raises(ValueError, match="id '2025' was learnt before, from other rows"):
        pb.Decider(pb.GENTRY(), subspace=U3, log=True).merge(*workers)


def test_what_was_forgotten_is_not_merged_as_if_it_were_new() -> None:
    one, other = (pb.Decider(pb.GENTRY(), subspace=U3, log=True) for _ in range(2))
    for worker in (one, other):
        worker.tell(worker.ask(np.eye(3)), 1.0)
    one.decay(0.5)
    with pytest.raises(ValueError, match=r"forgot nothing, got one whose.*lost 0\.5 of 1 weights"):
        other.merge(one)
    one.merge(other)
    assert one.ridge.weight == 1.5
