"""Long work: what is finished is kept, whatever happens, and the end is the same."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits._files import UNFINISHED
from projbandits.simulation import engines, executors, store
from projbandits.simulation.progress import Progress
from projbandits.simulation.request import Spec

PROBLEM = pb.problems.random_arms(d=4, arms=8, u=2)
STRATEGIES = [pb.GENTRY(), pb.UE()]


def run(**options: Any) -> pb.Result:
    size = {"trials": 100, "horizon": 200, "progress": False, **options}
    return pb.simulate(size.pop("problem", PROBLEM), size.pop("strategies", STRATEGIES), **size)


def same(one: pb.Result, other: pb.Result) -> bool:
    names = ("regret", "return_regret", "best_share", "found_best")
    return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)


def test_a_stored_run_equals_one_that_is_not(tmp_path: Path) -> None:
    assert same(run(store=tmp_path / "new" / "folder"), run())


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_an_interrupted_run_continues_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    played: list[int] = []
    original = engines.play

    def play(spec: Any, batch: Any, stop: Any) -> Any:
        played.extend(batch)
        if len(played) >= 60:
            raise KeyboardInterrupt
        return original(spec, batch, stop)

    monkeypatch.setattr(executors, "play", play)
    with pytest.raises(KeyboardInterrupt, match=r"what is finished is kept in .* to continue"):
        run(store=tmp_path, engine=engine)
    kept = len(list(tmp_path.glob("part-*.parquet")))
    assert kept >= 1
    played.clear()
    monkeypatch.setattr(executors, "play", lambda *a: played.extend(a[1]) or original(*a))  # type: ignore[func-returns-value]
    result = run(store=tmp_path, engine=engine)
    assert len(played) <= 100 - 16 * kept + 16
    monkeypatch.setattr(executors, "play", original)
    assert same(result, run(engine=engine))


def test_infinite_sets_are_stored_too(tmp_path: Path) -> None:
    options = {"problem": pb.problems.entropy_ball(), "strategies": pb.GENTRY(), "trials": 20}
    one = run(store=tmp_path, **options)
    again = run(store=tmp_path, **options)
    assert again.best_share is None
    assert np.array_equal(one.regret, again.regret)


SCRIPT = """
import signal, sys, projbandits as pb
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
pb.simulate(pb.problems.random_arms(), [pb.UE(), pb.ProjectedUE()], trials=400, horizon=20_000,
            store=sys.argv[1], progress=False)
"""


def _start(path: Path) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not list(path.glob("part-*")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    return process


def test_a_killed_run_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    path = tmp_path / "store"
    for _ in range(2):
        process = _start(path)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    kept = list(path.glob("part-*"))
    assert 1 <= len(kept) < 25
    problem, strategies = pb.problems.random_arms(), [pb.UE(), pb.ProjectedUE()]
    size = {"trials": 400, "horizon": 20_000}
    before = {part.name: part.stat().st_mtime_ns for part in kept}
    continued = run(problem=problem, strategies=strategies, store=path, **size)
    assert all((path / name).stat().st_mtime_ns == when for name, when in before.items())
    first = run(problem=problem, strategies=strategies, trials=16, horizon=20_000)
    assert np.array_equal(continued.regret[:, :16], first.regret)
    assert same(continued, run(problem=problem, strategies=strategies, store=path, **size))


def test_control_c_stops_within_a_second_and_says_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "store"
    process = _start(path)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, errors = process.communicate(timeout=60)
    # No timed assertion on a loaded machine: a generous bound against waiting for the whole run.
    assert time.monotonic() - start < 20
    assert process.returncode != 0
    assert b"run the same again to continue" in errors


def test_another_simulation_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    run(store=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    changes: dict[str, Any] = {
        "horizon": {"horizon": 201, "checkpoints": [1]},
        "seed": {"seed": 9},
        "trials": {"trials": 99},
        "strategies": {"strategies": [pb.GENTRY(alpha=2.0), pb.UE()]},
        "problem": {"problem": pb.problems.random_arms(d=4, arms=9, u=2)},
        "engines": {"engine": "compiled"},
        "checkpoints": {"checkpoints": [5, 200]},
    }
    for name, change in changes.items():
        with pytest.raises(ValueError, match=f"holds another simulation: its {name} is"):
            run(store=tmp_path, **change)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_two_runs_at_once_are_refused_and_one_after_the_other_are_not(tmp_path: Path) -> None:
    spec = Spec(PROBLEM, (pb.GENTRY(),), ("events",), 100, 200, 0, np.array([200]))
    arguments: dict[str, Any] = {"strategies": pb.GENTRY(), "checkpoints": [200]}
    with (
        store.Store(tmp_path, spec),
        pytest.raises(ValueError, match=r"is in use by another run: wait"),
    ):
        run(store=tmp_path, **arguments)
    with ProcessPoolExecutor(1) as executor:  # its process outlives the first run
        for _ in range(2):
            assert same(run(store=tmp_path, executor=executor, **arguments), run(**arguments))


def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(folder: int, operation: int) -> None:
        raise OSError(errno.EBADF, "no locks here")

    monkeypatch.setattr(store.fcntl, "flock", flock)
    assert same(run(store=tmp_path), run())


def test_instances_with_other_numbers_are_other_simulations(tmp_path: Path) -> None:
    U = pb.Subspace.coordinates([0], d=2)
    one = pb.problems.instance(np.eye(2), theta=[1.0, 2.0], subspace=U)
    other = pb.problems.instance(np.eye(2), theta=[1.0, 3.0], subspace=U)
    run(problem=one, store=tmp_path)
    with pytest.raises(ValueError, match="its problem is"):
        run(problem=other, store=tmp_path)


def test_foreign_folders_nameless_schedules_and_damaged_parts_are_named(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        run(store=tmp_path)
    with pytest.raises(ValueError, match="a function with a name"):
        run(store=tmp_path / "new", strategies=pb.GENTRY(schedule=lambda t: 0.1))
    run(store=tmp_path / "good")
    part = next((tmp_path / "good").glob("part-*"))
    part.write_bytes(b"rubbish")
    with pytest.raises(ValueError, match=r"cannot be read.*delete it and run again"):
        run(store=tmp_path / "good")
    part.unlink()
    assert same(run(store=tmp_path / "good"), run())


@pytest.mark.parametrize("name", ["manifest.json", "part-000000000-000000015.parquet"])
def test_what_a_killed_run_left_half_written_is_no_obstacle(tmp_path: Path, name: str) -> None:
    if name != "manifest.json":
        run(store=tmp_path)
        (tmp_path / name).unlink()
    (tmp_path / f"{UNFINISHED}{name}-4711").write_text('{"form')
    assert same(run(store=tmp_path), run())


def test_the_manifest_says_what_is_simulated(tmp_path: Path) -> None:
    run(store=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["strategies"] == ["GENTRY()", "UE()"]
    assert manifest["engines"] == ["events", "compiled"]
    assert not [p for p in os.listdir(tmp_path) if p.startswith(".")]


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
    spec = Spec(PROBLEM, (pb.UE(),), ("compiled",), 2000, 20_000, 0, steps)
    with ThreadPoolExecutor(1) as executor:
        chunks = [range(1), range(1, 2000)]
        work = executors._spread(spec, executor, chunks, Progress(1, shown=False))
        next(work)
        work.close()  # type: ignore[attr-defined]
    assert lengths[0] == 1
    assert sum(lengths) < 2000
