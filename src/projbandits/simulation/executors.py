"""Where chunks of trials run: in threads by default, or on any executor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import islice
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from projbandits._blas import single_threaded_blas
from projbandits.simulation.cache import Store
from projbandits.simulation.engines import batches, play
from projbandits.simulation.pending import Job, Pieces
from projbandits.simulation.plan import Spec
from projbandits.simulation.progress import Bar
from projbandits.simulation.records import Records

AHEAD = 1000
"""How many chunks wait at an executor: enough for any cluster, and few enough for any memory."""
Flag = NDArray[np.uint8]


def run(spec: Spec, executor: Executor | None, store: Store | None, bar: Bar) -> list[Records]:
    """Return the records of every strategy, with trials in order wherever they ran."""
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
    pieces = Pieces(spec)
    if store is not None:
        for trials, records in store.parts(spec.numbers):
            bar.advance(pieces.add(trials, records) * spec.horizon)
    try:
        with _told_of_compilation(spec, bar):
            for job, played in _play(spec, executor, pieces, bar):
                if store is not None:
                    store.keep(job, played)
                pieces.add(job.trials, dict(zip(job.players, played, strict=True)))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped after {pieces.finished():,} of {spec.trials:,} trials; "
            + (
                f"what is finished is kept in {str(store.path)!r}: run the same again to continue"
                if store is not None
                else "pass cache_dir= with a folder to be able to continue next time"
            )
        ) from None
    return pieces.records()


def _play(
    spec: Spec, executor: Executor | None, pieces: Pieces, bar: Bar
) -> Iterator[tuple[Job, list[Records]]]:
    """Yield each job when it is finished."""
    jobs = pieces.left()
    if executor is not None:
        yield from _spread(spec, executor, jobs, bar)
    elif {spec.engines[i] for i in pieces.unfinished()} <= {"reference"}:
        for job in jobs:  # plain Python gains nothing from threads
            yield job, run_chunk(spec.only(job.players), job.trials, bar=bar)
    else:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            yield from _spread(spec, threads, jobs, bar)


def _spread(
    spec: Spec, executor: Executor, jobs: Iterable[Job], bar: Bar
) -> Iterator[tuple[Job, list[Records]]]:
    # Only threads of this process can see a flag being raised.
    threads = isinstance(executor, ThreadPoolExecutor)
    stop = np.zeros(1, np.uint8) if threads else None
    work: dict[Future[list[Records]], Job] = {}
    specs = cache(spec.only)
    finished: SimpleQueue[Future[list[Records]]] = SimpleQueue()
    left = iter(jobs)

    def begin(count: int) -> None:
        for job in islice(left, count):
            future = executor.submit(run_chunk, specs(job.players), job.trials, stop)
            work[future] = job
            future.add_done_callback(finished.put)

    with ExitStack() as held:
        if threads:
            held.enter_context(single_threaded_blas())
        try:
            begin(AHEAD)
            while work:
                future = finished.get()
                job = work.pop(future)
                yield job, future.result()
                bar.advance(len(job.trials) * len(job.players) * spec.horizon)
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
    from projbandits.simulation.kernels.compiler import on_compile

    # A thread that compiles does not check the flag, and a pool waits for its threads.
    note = "compiling kernels, once for this version (Ctrl-C takes effect when that is done) ..."
    with on_compile(lambda: bar.note(note)):
        yield
