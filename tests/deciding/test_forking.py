"""Forked children: ids and randomness of their own, and no deadlock."""

import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.exceptions import UnavailableError
from tests import naive
from tests.worlds import U3

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def in_child(work: Any) -> Any:
    """Return what a forked child makes of some work, or what became of it."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=lambda: theirs.send(work()))
    child.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(20) else "a deadlock"
    except EOFError:
        return "an error"
    finally:
        child.kill()
        child.join()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_children_share_neither_ids_nor_choices(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/films.db"
    own = pb.GENTRY(schedule=lambda t: 1.0)
    decider = pb.Decider(own, subspace=U3, seed=0, store=store, name="films")
    pending = decider.ask(np.eye(3))

    def work() -> Any:
        made = [decider.ask(np.eye(3)) for _ in range(40)]
        decider.tell(pending, 1.0)
        return [d.id for d in made], tuple(d.index for d in made)

    ids, choices = zip(*[in_child(work), in_child(work), work()], strict=True)
    assert len({id for some in ids for id in some}) == 120
    assert len(set(choices)) == 3
    assert (decider.steps, decider.ridge.n) == (121, 1)


def test_a_child_is_told_that_a_temporary_decider_needs_a_store() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    made = decider.ask(np.eye(3))

    def work() -> Any:
        said = set()
        for call in (
            lambda: decider.ask(np.eye(3)),
            lambda: decider.tell(made, 1.0),
            lambda: decider.steps,
            lambda: decider.history(),
            decider.close,
        ):
            with pytest.raises(UnavailableError, match="give it a store, as in") as raised:
                call()
            said.add(str(raised.value))
        return len(said)

    assert in_child(work) == 1
    decider.tell(made, 1.0)
    assert decider.ridge.n == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_asks_is_no_deadlock(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/films.db"
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, store=store, name="films")
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            decision = decider.ask(np.eye(3))
            decider.tell(decision, float(decision.arm[0]))

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(6):
            answer = in_child(lambda: _whole(decider))
            assert answer is True
    finally:
        stop.set()
        thread.join()


def _whole(decider: pb.Decider) -> bool:
    """Ask and tell in a child, while others go on, and look at what it believes."""
    for _ in range(5):
        decision = decider.ask(np.eye(3))
        decider.tell(decision, float(decision.arm[0]))
    history = decider.history()
    told = [record for record in history if record.told]
    X = np.array([record.arm for record in told])
    _, theta, _ = naive.centred_ridge(X, np.array([record.outcome for record in told]), 1.0)
    return bool(np.abs(history.belief().state.ridge.theta - theta).max() < 1e-8)
