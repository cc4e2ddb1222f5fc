"""A signal may strike at any moment: what is then done again counts once."""

import signal
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests.worlds import U3

STRIKES = 600


class Struck(BaseException):
    """What a signal handler raises."""


def struck(call: Callable[[], Any], seconds: float) -> bool:
    """Make a call, and interrupt it after some time if it is not done by then."""
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        call()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Struck:
        return True
    return False


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_whatever_is_interrupted_and_done_again_counts_once() -> None:
    def strike(number: int, frame: FrameType | None) -> None:
        raise Struck

    rng = np.random.default_rng(0)
    before, many = signal.signal(signal.SIGALRM, strike), 0
    try:
        for i in range(STRIKES):
            decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
            X, told = rng.normal(size=(4, 3)), 0.5
            decider.tell(decider.ask(X, request_id="before"), 0.25)
            calls: list[Callable[[], Any]] = [
                partial(decider.ask, X if i % 2 else rng.normal(size=(4, 3)), request_id="a"),
                partial(decider.tell, "a", told),
            ]
            calls.append(partial(decider.amend, "a", told := 0.75))
            for j, call in enumerate(calls):
                many += struck(call, rng.uniform(1e-6, 4e-4))
                call()
                assert (decider.steps, decider.ridge.n) == (2, 1 + (j > 0))
                assert len(decider.pending) == (j == 0)
            assert decider.log()["outcome"].tolist() == [0.25, told]
    finally:
        signal.signal(signal.SIGALRM, before)
    assert many > STRIKES / 3
