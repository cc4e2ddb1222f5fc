"""Runs that grow: what is there is used, only what is missing is run, and the end is the same."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.simulation import engines, executors, records
from tests.simulation.test_engines import Varied
from tests.worlds import CONVEX, GREEDY, Recorder, run, same, trials_in, until

Played = list[tuple[str, int]]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    """Every strategy and trial that an engine is given."""
    pairs: Played = []
    original = engines.play

    def play(spec: Any, batch: Any, stop: Any) -> Any:
        pairs.extend((label, trial) for label in spec.labels for trial in batch)
        return original(spec, batch, stop)

    monkeypatch.setattr(executors, "play", play)
    return pairs


def pairs(strategies: list[Any], trials: range) -> Played:
    return sorted((repr(s), trial) for s in strategies for trial in trials)


G, C, R = GREEDY
STEPS: list[tuple[list[Any], range, Played]] = [
    ([G, C], range(20), pairs([G, C], range(20))),
    ([G, C], range(45), pairs([G, C], range(20, 45))),  # in the middle of a chunk
    ([C, R, G], range(30), pairs([R], range(30))),  # further, in another order, of fewer trials
    ([R, C], range(45), pairs([R], range(30, 45))),
    ([C], range(7), []),
    ([G], range(60, 70), pairs([G], range(60, 70))),  # with a gap
    ([R], range(5, 80), pairs([R], range(45, 80))),
    ([R, G], range(80), pairs([G], range(45, 60)) + pairs([G], range(70, 80))),
    ([G, C, R], range(80), pairs([C], range(45, 80))),
]


def test_a_store_grows_in_any_order_and_equals_one_run(tmp_path: Path, played: Played) -> None:
    for strategies, trials, missing in STEPS:
        before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("part-*")}
        played.clear()
        grown = run(strategies=strategies, trials=trials, cache_dir=tmp_path)
        assert sorted(played) == missing
        assert all(path.stat().st_mtime_ns == when for path, when in before.items())
        assert same(grown, run(strategies=strategies, trials=trials))
        assert grown.strategies == tuple(map(repr, strategies))
        assert grown.trial_numbers.tolist() == list(trials)


def test_what_is_there_is_served_and_nothing_is_written(tmp_path: Path, played: Played) -> None:
    run(strategies=[G, C], trials=40, cache_dir=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    played.clear()
    run(strategies=C, trials=19, cache_dir=tmp_path)
    assert not played
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("most", [3, 10])
def test_pulls_do_not_depend_on_what_else_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    # Worlds of three arms and of four, in chunks with both.
    monkeypatch.setattr(records, "MOST_PULLED_ARMS", most)
    known = set()
    run(Varied(), Recorder(), trials=40, cache_dir=tmp_path)
    for trials in (range(1), range(3), range(40), range(2, 3), range(17, 19)):
        stored = run(Varied(), Recorder(), trials=trials, cache_dir=tmp_path)
        assert same(stored, run(Varied(), Recorder(), trials=trials))
        known.add(None if stored.pulls is None else stored.pulls.shape[2])
    assert known == ({None, 3} if most == 3 else {3, 4})


def test_runs_on_convex_sets_grow_too(tmp_path: Path) -> None:
    for trials in (3, 20):
        grown = run(CONVEX["ball"], G, trials=trials, cache_dir=tmp_path)
    assert np.array_equal(grown.regret, run(CONVEX["ball"], G, trials=20).regret)


def test_another_schedule_under_a_label_that_is_there_is_refused(tmp_path: Path) -> None:
    def strategy(rate: float) -> pb.GENTRY:
        return pb.GENTRY(schedule=lambda t: rate / t)

    run(strategies=[strategy(0.5)], cache_dir=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for trials in (6, 99):
        with pytest.raises(ValueError, match=r"its GENTRY\(schedule=.* has the same label"):
            run(strategies=[G, strategy(0.25)], cache_dir=tmp_path, trials=trials)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "trials", [range(0), range(-1, 3), range(0, 10, 2), range(3, 0, -1), range(2**70, 2**70 + 3)]
)
def test_trials_that_are_no_numbers_one_after_another_are_refused(trials: range) -> None:
    with pytest.raises(ValueError, match=r"trials must be a number, or a range .*got range\("):
        run(trials=trials)


SCRIPT = """
import signal, sys, projbandits as pb
from projbandits.simulation import engines, executors
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
played = []
executors.play = lambda *given: played.extend(given[1]) or engines.play(*given)
strategies = [pb.UE(), pb.ProjectedUE()][: int(sys.argv[2])]
pb.simulate(pb.problems.random_arms(), strategies, trials=int(sys.argv[3]), horizon=20_000,
            engine="compiled", cache_dir=sys.argv[1], progress=False)
print(len(played))
"""
SIZE: dict[str, Any] = {
    "problem": pb.problems.random_arms(),
    "horizon": 20_000,
    "engine": "compiled",  # slow enough to be caught at it
}


def start(store: Path, strategies: int, trials: int) -> "subprocess.Popen[str]":
    arguments = [sys.executable, "-c", SCRIPT, str(store), str(strategies), str(trials)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_run_killed_while_it_grows_loses_nothing_and_ends_the_same(tmp_path: Path) -> None:
    small = run(strategies=pb.UE(), trials=20, cache_dir=tmp_path, **SIZE)
    parts = {path: path.read_bytes() for path in tmp_path.glob("part-*")}
    for end in (signal.SIGKILL, signal.SIGINT):
        there = len(parts)
        process = start(tmp_path, 2, 320)
        until(lambda there=there: len(list(tmp_path.glob("part-*"))) > there, process)
        process.send_signal(end)
        _, errors = process.communicate(timeout=60)
        assert process.returncode != 0
        assert ("run the same again to continue" in errors) == (end == signal.SIGINT)
        assert all(path.read_bytes() == content for path, content in parts.items())
        parts = {path: path.read_bytes() for path in tmp_path.glob("part-*")}
        assert there < len(parts)
        assert trials_in(tmp_path) < 320
        assert same(run(strategies=pb.UE(), trials=20, cache_dir=tmp_path, **SIZE), small)
    both = [pb.ProjectedUE(), pb.UE()]
    grown = run(strategies=both, trials=40, cache_dir=tmp_path, **SIZE)
    assert same(grown, run(strategies=both, trials=40, **SIZE))


def test_the_second_of_two_runs_waits_and_does_only_what_is_then_missing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = start(store, 2, 64)
    until(lambda: list(store.glob("part-*")), first)
    first.send_signal(signal.SIGSTOP)  # the second must not come too late
    second = start(store, 2, 70)
    assert second.stderr is not None
    assert "waiting for another run to finish with cache_dir" in second.stderr.readline()
    with pytest.raises(ValueError, match="holds another simulation: its seed is 0, not 1"):
        run(strategies=pb.UE(), cache_dir=store, seed=1, **SIZE)  # that need not be waited for
    assert trials_in(store) < 64
    first.send_signal(signal.SIGCONT)
    assert first.communicate(timeout=60)[0].split() == ["64"]
    out, errors = second.communicate(timeout=60)
    assert out.split() == ["6"]
    assert "waiting" not in errors
