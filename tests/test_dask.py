"""A real Dask cluster gives the same bits as threads."""

import os
from functools import partial

import numpy as np
from distributed import Client, LocalCluster

import projbandits as pb


def test_two_worker_processes_give_the_same_bits() -> None:
    problem = pb.problems.random_arms()
    strategies = [pb.GENTRY(), pb.UE(alpha=0.3)]
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
