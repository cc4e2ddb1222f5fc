"""An interrupt may strike at any moment: what is then done again counts once, and nothing waits."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests.worlds import U3

STEP = 5
"""Of so many moments, an interrupt strikes at one."""


class Struck(BaseException):
    """What an interrupt raises."""


def struck(call: Callable[[], Any], moment: int) -> bool:
    """Make a call, and interrupt it at one of the moments at which a signal is handled.

    These are the beginning of a function, and the return from one that is written in C.
    """
    left = moment

    def strike(frame: FrameType, event: str, value: Any) -> None:
        nonlocal left
        left -= event in ("call", "c_return")
        if left == 0:
            raise Struck  # which ends the profile, too

    try:
        sys.setprofile(strike)
        call()
        sys.setprofile(None)
    except Struck:
        pass
    return left <= 0


@pytest.mark.parametrize("kept", [False, True])
def test_whatever_is_interrupted_and_done_again_counts_once(kept: bool, tmp_path: Path) -> None:
    where: Any = {"store": f"sqlite:///{tmp_path}/films.db", "name": "films"} if kept else {}
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, **where)
    rng, asked, told, strikes = np.random.default_rng(0), 0, 0, 0
    offers = [np.eye(3), np.eye(3)]
    calls: dict[str, Callable[[str], Any]] = {
        "ask": lambda id: decider.ask(offers[-1], request_id=id),
        "tell": lambda id: decider.tell(id, 0.5),
        "amend": lambda id: decider.amend(id, 0.75),
        "look": lambda id: decider.ridge,
    }
    for name, call in calls.items():
        moment, going = 1, True
        while going:
            id = f"{name} {moment}"
            offers.append(rng.normal(size=(4, 3)) if moment % 2 else offers[-1])
            if name != "ask":
                decider.ask(np.eye(3), request_id=id)
            if name == "amend":
                decider.tell(id, 0.5)
            going = struck(partial(call, id), moment)
            call(id)
            asked, told = asked + 1, told + (name in ("tell", "amend"))
            assert (decider.steps, decider.ridge.n) == (asked, told)
            moment += STEP
            strikes += going
    assert decider.log()["outcome"].count() == told
    assert strikes > 100
    decider.close()
