"""Where chunks of trials run: in threads by default, or on any executor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from projbandits.simulation.engines import batches, play
from projbandits.simulation.progress import Bar
from projbandits.simulation.records import Records
from projbandits.simulation.request import Spec
from projbandits.simulation.store import Store

CHUNK = 16
AHEAD = 1000
"""How many chunks wait at an executor: enough for any cluster, and few enough for any memory."""
Flag = NDArray[np.uint8]


def run(spec: Spec, executor: Executor | None, store: Store | None, bar: Bar) -> list[Records]:
    """Return the records of every strategy, with trials in order wherever they ran."""
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
    done = store.finished(_chunks(spec.trials)) if store is not None else {}
    for chunk in done:
        bar.advance(len(chunk) * len(spec.strategies) * spec.horizon)
    left = (chunk for chunk in _chunks(spec.trials) if chunk not in done)
    try:
        with _told_of_compilation(spec, bar):
            for chunk, records in _play(spec, executor, left, bar):
                if store is not None:
                    store.keep(chunk, records)
                done[chunk] = records
    except KeyboardInterrupt:
        finished = sum(map(len, done))
        raise KeyboardInterrupt(
            f"stopped after {finished:,} of {spec.trials:,} trials; "
            + (
                f"what is finished is kept in {str(store.path)!r}: run the same again to continue"
                if store is not None
                else "pass store= with a folder to be able to continue next time"
            )
        ) from None
    parts = (done[chunk] for chunk in _chunks(spec.trials))
    return [Records.concat(of_one) for of_one in zip(*parts, strict=True)]


def _chunks(trials: int) -> Iterator[range]:
    for first in range(0, trials, CHUNK):
        yield range(first, min(first + CHUNK, trials))


def _play(
    spec: Spec, executor: Executor | None, chunks: Iterable[range], bar: Bar
) -> Iterator[tuple[range, list[Records]]]:
    """Yield each chunk when it is finished."""
    if executor is not None:
        yield from _spread(spec, executor, chunks, bar)
    elif set(spec.engines) == {"reference"}:  # plain Python gains nothing from threads
        for chunk in chunks:
            yield chunk, run_chunk(spec, chunk, bar=bar)
    else:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            yield from _spread(spec, threads, chunks, bar)


def _spread(
    spec: Spec, executor: Executor, chunks: Iterable[range], bar: Bar
) -> Iterator[tuple[range, list[Records]]]:
    # Only threads of this process can see a flag being raised.
    stop = np.zeros(1, np.uint8) if isinstance(executor, ThreadPoolExecutor) else None
    work: dict[Future[list[Records]], range] = {}
    finished: SimpleQueue[Future[list[Records]]] = SimpleQueue()
    left = iter(chunks)

    def begin(count: int) -> None:
        for chunk in islice(left, count):
            future = executor.submit(run_chunk, spec, chunk, stop)
            work[future] = chunk
            future.add_done_callback(finished.put)

    try:
        begin(AHEAD)
        while work:
            future = finished.get()
            chunk = work.pop(future)
            yield chunk, future.result()
            bar.advance(len(chunk) * len(spec.strategies) * spec.horizon)
            begin(1)
    finally:
        for future in work:
            future.cancel()
        if stop is not None:
            stop[0] = 1  # whatever is still running is no longer wanted


def run_chunk(
    spec: Spec, trials: range, stop: Flag | None = None, bar: Bar | None = None
) -> list[Records]:
    """Return the records of each strategy in some trials, meaningless if a stop flag is raised.

    A bar is advanced after each strategy and trial.
    """
    flag = np.zeros(1, np.uint8) if stop is None else stop
    parts: list[list[Records]] = []
    for batch in batches(spec, trials, single=bar is not None):
        if flag[0]:
            break
        parts.append([])
        for records in play(spec, batch, flag):
            parts[-1].append(records)
            if bar is not None:
                bar.advance(len(batch) * spec.horizon)
    return [Records.concat(of_one) for of_one in zip(*parts, strict=False)]


@contextmanager
def _told_of_compilation(spec: Spec, bar: Bar) -> Iterator[None]:
    """Tell the user, if a bar is shown, when kernels must be compiled first."""
    if not bar.visible or set(spec.engines) == {"reference"}:
        yield
        return
    from projbandits.simulation.kernels.notice import on_compile

    # A thread that compiles checks no flag, and a pool waits for its threads.
    note = "compiling kernels, once for this version (Ctrl-C takes effect when that is done) ..."
    with on_compile(lambda: bar.note(note)):
        yield
