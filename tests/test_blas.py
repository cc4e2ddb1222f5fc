"""One thread for linear algebra while trials are played, decisions made and logs read."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import threadpoolctl

import projbandits as pb
from projbandits.strategies import Choice


class Watching(pb.CURSE):
    """Notes how many threads BLAS has while it chooses."""

    def select(self, state: Any, arms: Any, rng: np.random.Generator) -> Choice:
        seen.append(_threads())
        return super().select(state, arms, rng)


seen: list[set[int]] = []


@pytest.mark.parametrize("worker", [False, True])
@pytest.mark.parametrize(("arms", "threads"), [(10, 2), (1000, 1)])
def test_a_decision_among_many_arms_is_made_in_one_thread(
    arms: int, threads: int, worker: bool
) -> None:
    X = np.random.default_rng(0).normal(size=(arms, 8))
    decider = pb.Decider(Watching(), subspace=pb.Subspace.coordinates([0], d=8), seed=0)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        seen.clear()
        if worker:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(decider.ask, X).result()
        else:
            decider.ask(X)
        assert seen == [{threads}]
        assert _threads() == {2}


def _threads() -> set[int]:
    return {
        part["num_threads"]
        for part in threadpoolctl.threadpool_info()
        if part["user_api"] == "blas"
    }
