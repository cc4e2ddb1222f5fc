"""Workers that are merged, and those that cannot be."""

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
