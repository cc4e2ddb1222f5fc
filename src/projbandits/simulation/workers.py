"""The executor that a number of threads or the address of a cluster stands for."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, Queue
from threading import Thread
from typing import Any

from projbandits._validation import integer

TIMEOUT = 10.0
"""How many seconds a cluster may take to answer."""


@contextmanager
def workers(threads: int | None = None, cluster: str | None = None) -> Iterator[Executor | None]:
    """Lend an executor for `simulate`, or None, which leaves the choice to it.

    Parameters
    ----------
    threads : int, optional
        The number of threads of this process.
    cluster : str, optional
        The address of a Dask scheduler, such as "tcp://10.0.0.1:8786".

    Raises
    ------
    TimeoutError
        If the cluster does not answer, or has no workers, within `TIMEOUT` seconds.
    ConnectionError
        If the cluster is lost while it is used.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.simulation.workers import workers
    >>> with workers(threads=2) as executor:
    ...     pb.simulate(pb.problems.random_arms(), pb.UE(), trials=4, horizon=9, executor=executor)
    Result(RandomArms(...), 1 strategies, 4 trials, horizon 9)
    """
    if threads is not None and cluster is not None:
        raise ValueError(
            f"threads and cluster exclude each other, got {threads} and {cluster!r}: the threads "
            "of a cluster are set where its workers are started"
        )
    if threads is not None:
        with ThreadPoolExecutor(integer("threads", threads, least=1, most=1024)) as executor:
            yield executor
    elif cluster is not None:
        with _dask(cluster) as executor:
            yield executor
    else:
        yield None


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "a cluster needs the package distributed: run pip install 'projbandits[dask]'"
        ) from error
    made: Queue[Any] = Queue()

    def connect() -> None:
        try:
            made.put(Client(address, timeout=TIMEOUT))  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            made.put(error)

    # In a thread that may be left behind: if something accepts the connection but never answers,
    # the client's own time-out does not end its wait.
    Thread(target=connect, daemon=True).start()
    try:
        client = made.get(timeout=TIMEOUT + 1)
    except Empty:
        client = TimeoutError()
    if isinstance(client, OSError):
        raise TimeoutError(
            f"cluster {address!r} did not answer within {TIMEOUT:g} seconds: is the address right "
            "and its scheduler running?"
        ) from client
    if isinstance(client, ValueError):
        raise ValueError(f"cluster must be an address, got {address!r}: {client}") from client
    with client:
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)
        except TimeoutError as error:
            raise TimeoutError(
                f"cluster {address!r} had no workers within {TIMEOUT:g} seconds: start one with "
                f"dask worker {address}"
            ) from error
        with client.get_executor() as executor:
            try:
                yield executor
            except CancelledError as error:  # what a client makes of work it can no longer reach
                raise ConnectionError(
                    f"cluster {address!r} was lost: run the same again when it is back"
                ) from error
