"""Executors: threads, processes and clusters give the same bits, and stop when asked."""

import os
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from distributed import Client, LocalCluster

import projbandits as pb
from projbandits.simulation import executors
from projbandits.simulation.pending import Job
from projbandits.simulation.plan import Spec
from projbandits.simulation.progress import Progress
from tests.worlds import SETTING_A, Recorder, run, same


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


def test_only_so_many_chunks_wait_at_an_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "AHEAD", 3)
    waiting: list[int] = []

    class Counting(ThreadPoolExecutor):
        submitted = 0
        done = 0

        def submit(self, *arguments: Any, **options: Any) -> Any:
            self.submitted += 1
            waiting.append(self.submitted - self.done)
            return super().submit(*arguments, **options)

    with Counting(2) as executor:

        class Counted:
            visible = False

            def note(self, text: str) -> None: ...

            def advance(self, steps: float) -> None:
                executor.done += 1

        parts = run(trials=200, executor=executor, progress=Counted())
    assert (len(waiting), max(waiting)) == (13, 3)
    assert same(parts, run(trials=200))


def test_who_waits_for_compilation_is_told_that_control_c_waits_too() -> None:
    from numba import njit

    class Screen:
        visible = True
        notes: ClassVar[list[str]] = []

        def note(self, text: str) -> None:
            self.notes.append(text)

        def advance(self, steps: float) -> None:
            pass

    spec = Spec(pb.problems.random_arms(), (pb.GENTRY(),), ("events",), 1, 1, 0, np.array([1]))
    with executors._told_of_compilation(spec, Screen()):
        fresh: Any = njit(cast(Any, lambda x: x))
        fresh(1)
    (note,) = Screen.notes
    assert note.startswith("compiling kernels")
    assert "Ctrl-C takes effect when that is done" in note


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


def test_threads_of_ones_own_stop_in_the_middle_of_a_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths: list[int] = []
    original = executors.run_chunk

    def run_chunk(*arguments: Any) -> Any:
        records = original(*arguments)
        lengths.append(len(records))
        return records

    monkeypatch.setattr(executors, "run_chunk", run_chunk)
    steps = np.array([20_000])
    spec = Spec(SETTING_A, (pb.UE(),), ("compiled",), 2000, 20_000, 0, steps)
    with ThreadPoolExecutor(1) as executor:
        jobs = [Job(range(1), (0,)), Job(range(1, 2000), (0,))]
        work = executors._spread(spec, executor, jobs, Progress(1, shown=False))
        next(work)
        work.close()  # type: ignore[attr-defined]
    assert lengths[0] == 1
    assert sum(lengths) < 2000
