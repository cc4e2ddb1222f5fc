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
    with pytest.raises(ValueError, match=r"was told 1\.0 here and 2\.0 there.*amend one of them"):
        one.merge(other)
    assert fingerprint(one) == before
    one.amend(decision.id, 2.0)
    one.merge(other)
    assert one.ridge.n == 1
    with pytest.raises(TypeError, match="merging needs deciders"):
        one.merge(3)  # type: ignore[arg-type]
