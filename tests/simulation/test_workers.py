"""Executors from a number of threads or an address, and clusters that do not answer."""

import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from distributed import LocalCluster

import projbandits as pb
from projbandits.simulation import workers as module

workers = module.workers


def test_threads_and_the_default() -> None:
    with workers() as executor:
        assert executor is None
    with workers(threads=3) as executor:
        assert isinstance(executor, ThreadPoolExecutor)
        assert executor._max_workers == 3


def test_a_cluster_is_found_by_its_address() -> None:
    run = partial(
        pb.simulate, pb.problems.random_arms(), pb.UE(), trials=20, horizon=50, progress=False
    )
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        workers(cluster=cluster.scheduler_address) as executor,
    ):
        assert executor is not None
        far = run(executor=executor)
        with pytest.raises(ConnectionError, match="was lost: run the same again"):
            _lose(cluster.scheduler_address)
    assert np.array_equal(far.regret, run().regret)


def _lose(address: str) -> None:
    with workers(cluster=address) as executor:
        assert executor is not None
        work = executor.submit(time.sleep, 0.1)
        work.cancel()  # as the client does with all work when its scheduler is gone
        work.result()


def test_a_cluster_without_workers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 1.0)
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=0, processes=False, dashboard_address=":0"
        ) as cluster,
        pytest.raises(TimeoutError, match=r"had no workers within 1 seconds: start one with"),
        workers(cluster=cluster.scheduler_address),
    ):
        pass


@pytest.fixture(params=["nobody listens", "nobody answers"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        if request.param == "nobody answers":
            door.listen()
        yield f"tcp://127.0.0.1:{door.getsockname()[1]}"


def test_a_cluster_that_does_not_answer_is_given_up(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    with (
        pytest.raises(TimeoutError, match=r"did not answer within 0\.5 seconds: is the address"),
        workers(cluster=address),
    ):
        pass


def test_what_cannot_be_had_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"), workers(threads=0):
        pass
    with pytest.raises(ValueError, match="exclude each other"), workers(1, "tcp://127.0.0.1:1"):
        pass
    with pytest.raises(ValueError, match="cluster must be an address"), workers(cluster="a://b"):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ModuleNotFoundError, match=r"run pip install 'projbandits\[dask\]'"),
        workers(cluster="tcp://127.0.0.1:1"),
    ):
        pass
