"""Random streams and ids that nobody else has.

A decision's randomness is the Philox stream of the ledger's seed, at a place given by the session
and the number of the draw in it. Nothing is carried along from one decision to the next, so there
is no state to lose, and every decision can be made again.
"""

from __future__ import annotations

import os
import secrets
import time
from typing import Any

import numpy as np

SESSIONS = 2**63
"""Sessions are whole numbers below this; 0 is that of the process that made the ledger."""


class Streams:
    """The random streams of a ledger, one for each draw of each session.

    Examples
    --------
    >>> from projbandits.ledger.streams import Streams
    >>> streams = Streams(seed=5)
    >>> one = streams.at(session=0, draw=3).random()
    >>> other = streams.at(session=0, draw=4).random()
    >>> one == Streams(seed=5).at(session=0, draw=3).random() != other
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._bits = np.random.Philox(seed)
        self._generator = np.random.Generator(self._bits)
        key = self._bits.state["state"]["key"]
        self._counter = np.zeros(4, dtype=np.uint64)
        self._state: Any = {
            "bit_generator": "Philox",
            "state": {"counter": self._counter, "key": key},
            "buffer": np.zeros(4, dtype=np.uint64),
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }

    def at(self, session: int, draw: int) -> np.random.Generator:
        """Return the stream of a draw; it is good until the next is asked for."""
        self._counter[1], self._counter[2] = draw, session
        self._bits.state = self._state
        return self._generator


def new_session() -> int:
    """Return the number of a session that nobody else has."""
    return secrets.randbelow(SESSIONS - 1) + 1


def new_id() -> str:
    """Return an id that nobody else has; ids sort by the time they were made.

    48 bits of milliseconds and 80 random ones, as hexadecimal digits.
    """
    try:
        chance = _chances.pop()
    except IndexError:
        drawn = os.urandom(10 * DRAWN_AT_ONCE).hex()
        _chances.extend(drawn[i : i + 20] for i in range(20, len(drawn), 20))
        chance = drawn[:20]
    return f"{time.time_ns() // 1_000_000:012x}{chance}"


DRAWN_AT_ONCE = 256
"""For how many ids randomness is drawn at a time, which takes longer than all the rest."""

_chances: list[str] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_chances.clear)
