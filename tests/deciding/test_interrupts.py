"""A signal may strike between any two lines: what is then done again counts once."""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests.worlds import U3


class Struck(BaseException):
    """What a signal handler raises."""


def struck(call: Callable[[], Any], line: int) -> bool:
    """Make a call, and interrupt it before the line with that number that it comes to."""
    seen = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal seen
        if "projbandits" not in frame.f_code.co_filename:
            return None
        if event == "line":
            seen += 1
            if seen == line:
                raise Struck
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Struck:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("log", [False, True])
def test_whatever_is_interrupted_and_done_again_counts_once(log: bool) -> None:
    rng = np.random.default_rng(0)
    for line in range(1, 1000):
        decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, log=log)
        X, told = rng.normal(size=(4, 3)), 0.5
        decider.tell(decider.ask(X, request_id="before"), 0.25)
        offer = X if line % 2 else rng.normal(size=(4, 3))
        calls: list[Callable[[], Any]] = [
            partial(decider.ask, offer, request_id="a"),
            partial(decider.tell, "a", told),
        ]
        if log:
            calls.append(partial(decider.amend, "a", told := 0.75))
        was = list[bool]()
        for i, call in enumerate(calls):
            was.append(struck(call, line))
            call()
            assert (decider.steps, decider.ridge.n) == (2, 1 + (i > 0))
            assert len(decider.pending) == (i == 0)
        if log:
            assert decider.log()["outcome"].tolist() == [0.25, told]
        if not any(was):
            break
    assert not any(was), "a call has more lines than were interrupted"
    assert line > 100
