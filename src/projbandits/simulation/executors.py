"""Where chunks of trials run: in threads by default, or on any executor."""

from __future__ import annotations

import os
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed

from projbandits.simulation.engines import play
from projbandits.simulation.progress import Progress
from projbandits.simulation.records import Record
from projbandits.simulation.spec import Spec

CHUNK = 16


def run(spec: Spec, executor: Executor | None, bar: Progress) -> list[list[Record]]:
    """Return the records of every trial, in order, whoever ran them."""
    if executor is not None:
        if not isinstance(executor, Executor):
            raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
        return _run(spec, executor, bar)
    if set(spec.engines) == {"reference"}:  # plain Python gains nothing from threads
        return [_counted(spec, trial, bar) for trial in range(spec.trials)]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return _run(spec, threads, bar)


def _run(spec: Spec, executor: Executor, bar: Progress) -> list[list[Record]]:
    chunks = [range(i, min(i + CHUNK, spec.trials)) for i in range(0, spec.trials, CHUNK)]
    records: dict[int, list[Record]] = {}
    work = {executor.submit(run_chunk, spec, chunk): chunk for chunk in chunks}
    try:
        for done in as_completed(work):
            chunk = work[done]
            records.update(zip(chunk, done.result(), strict=True))
            bar.advance(len(chunk) * len(spec.strategies) * spec.horizon)
    finally:
        for future in work:
            future.cancel()
    return [records[trial] for trial in range(spec.trials)]


def run_chunk(spec: Spec, trials: range) -> list[list[Record]]:
    """Return the records of some trials."""
    return [list(play(spec, trial)) for trial in trials]


def _counted(spec: Spec, trial: int, bar: Progress) -> list[Record]:
    records = []
    for record in play(spec, trial):
        records.append(record)
        bar.advance(spec.horizon)
    return records
