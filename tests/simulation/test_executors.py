"""Executors: threads, processes and clusters give the same bits, and stop when asked."""

import os
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from distributed import Client, LocalCluster

import projbandits as pb
from tests.worlds import Recorder, run, same


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
@pytest.mark.parametrize("workers", [1, 2])
def test_executors_give_the_same_bits(kind: type[Executor], workers: int) -> None:
    with kind(workers) as executor:  # type: ignore[call-arg]
        assert same(run(trials=35, executor=executor), run(trials=35))


def test_a_failing_chunk_stops_the_rest() -> None:
    ran = []

    class Failing(Recorder):
        def init(self, arms: pb.DecisionSet, subspace: pb.Subspace) -> int:
            ran.append(1)
            raise RuntimeError("broken")

        def __repr__(self) -> str:
            return "Failing()"

    with ThreadPoolExecutor(1) as executor, pytest.raises(RuntimeError, match="broken"):
        run(strategies=Failing(), trials=1000, executor=executor)
    assert len(ran) < 20


def test_two_worker_processes_give_the_same_bits() -> None:
    problem = pb.problems.random_arms()
    strategies = [pb.GENTRY(), pb.EIIDS()]
    simulate = partial(pb.simulate, problem, strategies, trials=60, horizon=300, progress=False)
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        pids = set(client.run(os.getpid).values())
        assert len(pids) == 2
        assert os.getpid() not in pids
        far = simulate(executor=client.get_executor())
    near = simulate()
    assert np.array_equal(far.regret, near.regret)
    assert np.array_equal(far.return_regret, near.return_regret)
    assert far.engines == near.engines == ("events", "compiled")
