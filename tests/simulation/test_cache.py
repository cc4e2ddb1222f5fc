"""Long work: what is finished is kept, whatever happens, and the end is the same."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import projbandits as pb
from projbandits import _locks
from projbandits._files import UNFINISHED
from projbandits._locks import locked
from projbandits._parquet import read_table
from projbandits.simulation import cache, engines, executors
from projbandits.simulation.plan import Spec
from projbandits.simulation.progress import Progress
from tests import attacks
from tests.worlds import PAIR, SETTING_A, same, until


def run(**options: Any) -> pb.Result:
    size = {"trials": 100, "horizon": 200, "progress": False, **options}
    return pb.simulate(size.pop("problem", SETTING_A), size.pop("strategies", PAIR), **size)


def test_a_stored_run_equals_one_that_is_not(tmp_path: Path) -> None:
    assert same(run(cache_dir=tmp_path / "new" / "folder"), run())


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_an_interrupted_run_continues_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    options: dict[str, Any] = {"engine": engine, "horizon": 40}
    played: list[int] = []
    original = engines.play

    def play(spec: Any, batch: Any, stop: Any) -> Any:
        played.extend(batch)
        if len(played) >= 60:
            raise KeyboardInterrupt
        return original(spec, batch, stop)

    monkeypatch.setattr(executors, "play", play)
    with pytest.raises(KeyboardInterrupt, match=r"what is finished is kept in .* to continue"):
        run(cache_dir=tmp_path, **options)
    kept = len(list(tmp_path.glob("part-*.parquet")))
    assert kept >= 1
    played.clear()
    monkeypatch.setattr(executors, "play", lambda *a: played.extend(a[1]) or original(*a))  # type: ignore[func-returns-value]
    result = run(cache_dir=tmp_path, **options)
    assert len(played) <= 100 - 16 * kept + 16
    monkeypatch.setattr(executors, "play", original)
    assert same(result, run(**options))


def test_another_simulation_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    run(cache_dir=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    changes: dict[str, Any] = {
        "horizon": {"horizon": 201, "checkpoints": [1]},
        "seed": {"seed": 9},
        "problem": {"problem": pb.problems.random_arms(d=4, arms=9, u=2)},
        r"engine for GENTRY\(\)": {"engine": "compiled"},
        "checkpoints": {"checkpoints": [5, 200]},
    }
    for name, change in changes.items():
        with pytest.raises(ValueError, match=f"holds another simulation: its {name} is"):
            run(cache_dir=tmp_path, **change)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_run_within_a_run_is_refused_and_one_after_the_other_is_not(tmp_path: Path) -> None:
    spec = Spec(SETTING_A, (pb.GENTRY(),), ("events",), 100, 200, 0, np.array([200]))
    arguments: dict[str, Any] = {"strategies": pb.GENTRY(), "checkpoints": [200]}
    with (
        cache.Store(tmp_path, spec, Progress(1, shown=False)),
        pytest.raises(ValueError, match=r"is in use by another run: wait"),
    ):
        run(cache_dir=tmp_path, **arguments)
    with ProcessPoolExecutor(1) as executor:  # its process outlives the first run
        for _ in range(2):
            assert same(run(cache_dir=tmp_path, executor=executor, **arguments), run(**arguments))


def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(folder: int, operation: int) -> None:
        raise OSError(errno.EBADF, "no locks here")

    monkeypatch.setattr(_locks.fcntl, "flock", flock)
    assert same(run(cache_dir=tmp_path), run())


def test_a_set_with_other_numbers_and_the_same_label_is_another_simulation(tmp_path: Path) -> None:
    A = np.vstack([np.eye(2), -np.eye(2)])
    for i, (one, other) in enumerate(
        [
            (pb.FiniteArms(np.eye(2)), pb.FiniteArms(9 * np.eye(2))),
            (pb.Polytope(A, np.ones(4)), pb.Polytope(A, 9 * np.ones(4))),
        ]
    ):
        problems = [pb.problems.random_theta(arms, u=1) for arms in (one, other)]
        assert repr(problems[0]) == repr(problems[1])
        size: dict[str, Any] = {"trials": 2, "horizon": 5, "strategies": pb.GENTRY()}
        run(problem=problems[0], cache_dir=tmp_path / str(i), **size)
        with pytest.raises(ValueError, match="its problem has the same label, but other numbers"):
            run(problem=problems[1], cache_dir=tmp_path / str(i), **size)


def test_an_edited_schedule_is_another_simulation_and_one_without_a_name_is_known(
    tmp_path: Path,
) -> None:
    def strategy(rate: float) -> pb.GENTRY:
        return pb.GENTRY(schedule=lambda t: rate / t)

    one = run(strategies=strategy(0.5), cache_dir=tmp_path)
    assert same(run(strategies=strategy(0.5), cache_dir=tmp_path), one)
    with pytest.raises(ValueError, match=r"its GENTRY\(schedule=.* has the same label, but other"):
        run(strategies=strategy(0.25), cache_dir=tmp_path)


def test_what_cannot_be_told_apart_later_is_refused_only_where_it_is_kept(tmp_path: Path) -> None:
    lock = threading.Lock()
    strategy = pb.GENTRY(schedule=lambda t: 0.1 if lock.locked() else 0.5)
    with pytest.raises(
        ValueError, match=r"cache_dir could not .* a _thread\.lock cannot be told .*__identity__"
    ):
        run(cache_dir=tmp_path / "new", strategies=strategy)
    assert not (tmp_path / "new").exists()
    assert run(strategies=strategy).identities == ()


def test_foreign_folders_and_damaged_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        run(cache_dir=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]
    good = tmp_path / "good"
    run(cache_dir=good)
    part = next(good.glob("part-*"))
    (good / "part-of-something.parquet").write_text("of no interest")
    for content in (b"rubbish", b"", part.read_bytes()[:-1]):
        part.write_bytes(content)
        with pytest.raises(ValueError, match=rf"{part.name}' is no Parquet.*; delete it and run"):
            run(cache_dir=good)
    part.unlink()
    assert same(run(cache_dir=good), run())
    manifest = good / "manifest.json"
    for text in ("", "{}", "[1]", manifest.read_text().replace("GENTRY", "GENTRE")):
        manifest.write_text(text)
        with pytest.raises(
            ValueError, match=r"manifest that cannot be read: .*manifest\.json' .*;"
        ):
            run(cache_dir=good)


def test_parts_of_other_trials_and_of_other_runs_are_noticed(tmp_path: Path) -> None:
    stores = [tmp_path / "one", tmp_path / "other"]
    truth = [run(cache_dir=store, seed=seed) for seed, store in enumerate(stores)]
    parts = sorted(stores[0].glob("part-*"))
    foreign = stores[1] / parts[0].name
    own = parts[0].read_bytes()
    for source, said in (
        (parts[1], r"its trials are \[16, 31\], not \[0, 15\]"),
        (foreign, "its seed is 1, not 0"),
    ):
        parts[0].write_bytes(source.read_bytes())
        with pytest.raises(
            ValueError, match=rf"{parts[0].name}' is of another run: {said}; delete"
        ):
            run(cache_dir=stores[0])
    table, about, _ = read_table(foreign)
    pq.write_table(table.replace_schema_metadata({b"projbandits": json.dumps(about)}), foreign)
    with pytest.raises(ValueError, match=rf"{foreign.name}' .*it has no checksum; delete"):
        run(cache_dir=stores[1], seed=1)
    parts[0].write_bytes(own)
    assert same(run(cache_dir=stores[0]), truth[0])


def test_a_flipped_bit_of_a_store_or_a_result_is_noticed() -> None:
    outcomes = attacks.flips(60, np.random.default_rng(1))
    assert not [outcome for outcome in outcomes if "refused" not in outcome]
    assert sum(outcomes.values()) == 120


def test_of_two_starts_at_the_same_time_one_is_refused() -> None:
    assert attacks.starts(12, np.random.default_rng(0)) == {"one ran, one was refused": 12}


FORKED = """
import multiprocessing, sys, projbandits as pb
from concurrent.futures import ProcessPoolExecutor
context = multiprocessing.get_context("fork")
with ProcessPoolExecutor(1, mp_context=context) as executor:
    pb.simulate(pb.problems.random_arms(d=4, arms=8, u=2), [pb.GENTRY(), pb.UE()], trials=10_000,
                horizon=200, executor=executor, cache_dir=sys.argv[1], progress=False)
"""


def test_the_workers_of_a_killed_run_do_not_keep_its_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = subprocess.Popen(
        [sys.executable, "-c", FORKED, str(store)], start_new_session=True, stderr=subprocess.PIPE
    )
    try:
        until(lambda: list(store.glob("part-*")), process)
        process.kill()
        process.wait()
        os.killpg(process.pid, 0)  # raises if no worker has outlived it
        with pytest.raises(ValueError, match="holds another simulation: its seed is 0"):
            run(cache_dir=store, seed=1)
        with locked(store, "store"):  # it is not in use
            pass
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_store_removed_during_a_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = engines.play

    def play(*arguments: Any) -> Any:
        shutil.rmtree(tmp_path / "store", ignore_errors=True)
        return original(*arguments)

    monkeypatch.setattr(executors, "play", play)
    with pytest.raises(ValueError, match=r"cache_dir must be a folder that can be written to, got"):
        run(cache_dir=tmp_path / "store")


def test_a_store_that_cannot_be_written_to_is_named_and_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = run(cache_dir=tmp_path / "done")
    (tmp_path / "done" / f"{UNFINISHED}part").write_text("")

    def refuse(path: Path, *arguments: Any, **options: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    for name in ("write_bytes", "unlink"):  # the superuser could do it all the same
        monkeypatch.setattr(Path, name, refuse)
    assert same(run(cache_dir=tmp_path / "done"), truth)
    with pytest.raises(ValueError, match=r"can be written to, got '.*new': Permission denied"):
        run(cache_dir=tmp_path / "new")


@pytest.mark.parametrize("what", ["manifest", "part"])
def test_what_a_killed_run_left_half_written_is_no_obstacle(tmp_path: Path, what: str) -> None:
    name = "manifest.json"
    if what == "part":
        run(cache_dir=tmp_path)
        name = min(path.name for path in tmp_path.glob("part-*"))
        (tmp_path / name).unlink()
    left = tmp_path / f"{UNFINISHED}{name}-4711"
    left.write_text('{"form')
    assert same(run(cache_dir=tmp_path), run())
    assert not left.exists()
