"""One thread for linear algebra while trials are played, decisions made and logs read."""

import os
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import threadpoolctl

import projbandits as pb
from projbandits._blas import single_threaded_blas, while_small
from projbandits.strategies import Choice


def test_overlapping_simulations_leave_the_threads_as_they_were() -> None:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert _threads() == {1}
        second.__exit__(None, None, None)
        assert _threads() == {2}


def test_matrices_for_which_blas_starts_no_threads_or_should_are_left_alone() -> None:
    assert isinstance(while_small(100, 20), nullcontext)
    assert isinstance(while_small(1, 63), nullcontext)
    assert not isinstance(while_small(1000, 20), nullcontext)
    assert not isinstance(while_small(1, 64), nullcontext)
    assert isinstance(while_small(1_000_000, 100), nullcontext)


class Watching(pb.CURSE):
    """Notes how many threads BLAS has while it chooses."""

    def select(self, state: Any, arms: Any, rng: np.random.Generator) -> Choice:
        seen.append(_threads())
        return super().select(state, arms, rng)


seen: list[set[int]] = []


@pytest.mark.parametrize(("arms", "threads"), [(10, 2), (1000, 1)])
def test_a_decision_among_many_arms_is_made_in_one_thread(arms: int, threads: int) -> None:
    X = np.random.default_rng(0).normal(size=(arms, 8))
    decider = pb.Decider(Watching(), subspace=pb.Subspace.coordinates([0], d=8), seed=0)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        seen.clear()
        decider.ask(X)
        assert seen == [{threads}]
        assert _threads() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_is_not_left_with_the_limit_of_its_parent() -> None:
    with threadpoolctl.threadpool_limits(2, user_api="blas"), single_threaded_blas():
        child = os.fork()
        if child == 0:
            free = _threads() == {2}
            with single_threaded_blas():
                held = _threads() == {1}
            os._exit(0 if free and held and _threads() == {2} else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert _threads() == {1}


def _threads() -> set[int]:
    return {
        part["num_threads"]
        for part in threadpoolctl.threadpool_info()
        if part["user_api"] == "blas"
    }
