"""Forked children: ids and randomness of their own, and no deadlock."""

import multiprocessing
import os
import threading
from typing import Any

import numpy as np
import pytest

import projbandits as pb
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
@pytest.mark.parametrize("seed", [None, 0])
def test_children_share_neither_ids_nor_choices(seed: int | None) -> None:
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 1.0), subspace=U3, seed=seed)
    pending = decider.ask(np.eye(3))

    def work() -> Any:
        made = [decider.ask(np.eye(3)) for _ in range(40)]
        decider.tell(pending, 1.0)
        return [d.id for d in made], tuple(d.index for d in made)

    ids, choices = zip(*[in_child(work), in_child(work), work()], strict=True)
    assert len({id for some in ids for id in some}) == 120
    assert len(set(choices)) == 3


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_asks_is_no_deadlock() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, log=True)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            decision = decider.ask(np.eye(3))
            decider.tell(decision, float(decision.arm[0]))

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(12):
            answer = in_child(lambda: _whole(decider))
            assert answer is True
    finally:
        stop.set()
        thread.join()


def _whole(decider: pb.Decider) -> bool:
    """Ask and tell in a child, whose copy may be of any moment, and look at what it believes."""
    for _ in range(5):
        decision = decider.ask(np.eye(3))
        decider.tell(decision, float(decision.arm[0]))
    held = [held for some in decider._ledger.decisions() for held in some]
    told = [held for held in held if held.outcome is not None]
    X = np.array([held.arm for held in told])
    _, theta, _ = naive.centred_ridge(X, np.array([held.outcome for held in told]), 1.0)
    return bool(np.abs(decider.ridge.theta - theta).max() < 1e-8) and decider.steps == len(held)
