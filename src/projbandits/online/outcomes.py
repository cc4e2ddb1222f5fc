"""Which decisions wait for their outcome, and which outcomes are known."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from projbandits._checks import real
from projbandits._tables import is_table
from projbandits.online.decision import Decision, Lean
from projbandits.online.journal import Journal
from projbandits.online.limits import check_reward

REMEMBERED = 65_536
"""How many recent outcomes are kept to check repeated reports."""


class Outcomes:
    """The ids a decider gave, the decisions that are pending, and the last outcomes told.

    Parameters
    ----------
    log : bool
        Whether to keep every decision and outcome in a journal.
    """

    def __init__(self, log: bool) -> None:
        self.name = secrets.token_hex(4)  # so that no decider takes another's id for its own
        self.given = 0
        self.pending: dict[str, Lean] = {}
        # A plain dict would walk over all that it forgot before to find its first entry.
        self.recent: OrderedDict[str, float] = OrderedDict()
        self.journal = Journal() if log else None

    def id(self, number: int) -> str:
        """Return the id of the decision with that number, from 1."""
        return f"{self.name}-{number}"

    def expect(self, decisions: list[Decision]) -> None:
        """Add decisions whose outcome is to come."""
        self.given += len(decisions)
        for decision in decisions:
            # The grounds go with the caller's decision: the pending ones stay small.
            self.pending[decision.id] = decision.lean()
            if self.journal is not None:
                self.journal.decided(decision)

    def news(self, outcomes: Any) -> dict[str, float]:
        """Return which of these outcomes are new, or raise if any cannot be."""
        new: dict[str, float] = {}
        for given, reward in _pairs(outcomes):
            key = given.id if isinstance(given, Decision) else given
            # A click is as welcome as 1.0.
            if isinstance(reward, bool | np.bool_):
                reward = float(reward)
            name = f"the reward of {key!r}"
            value = real(name, reward)
            check_reward(name, value)
            before = self._known(key)
            if before is None:
                before = new.setdefault(key, value)
            if before != value:
                raise ValueError(
                    f"id {key!r} was told {before} before, got {value}: nothing was changed"
                )
        return new

    def settle(self, new: dict[str, float], step: int) -> None:
        """Note outcomes that were learnt, told after decision number `step`."""
        now = time.time()
        for key, value in new.items():
            del self.pending[key]
            self.recent[key] = value
            if self.journal is not None:
                self.journal.told(key, value, now, step)
        while len(self.recent) > REMEMBERED:
            self.recent.popitem(last=False)

    def _known(self, key: Any) -> float | None:
        """Return the outcome of a decision, None if it is pending; raise if there is no such id."""
        if not isinstance(key, str):
            raise TypeError(f"id must be that of a decision, got {key!r}")
        if key in self.pending:
            return None
        before = self.recent.get(key)
        if before is None and self.journal is not None:
            before = self.journal.reward(key)
        if before is not None:
            return before
        name, _, number = key.rpartition("-")
        if name == self.name and number.isdecimal() and 1 <= int(number) <= self.given:
            raise ValueError(
                f"id {key!r} was told before, so long ago that its value is not remembered (the "
                f"last {REMEMBERED} are): nothing was changed"
            )
        raise KeyError(
            f"id {key!r} is unknown: this decider gave {self.given} ids, {self.name}-1 and so on"
        )


def _pairs(outcomes: Any) -> Iterator[tuple[Any, Any]]:
    """Yield ids, or decisions, with their rewards."""
    if not isinstance(outcomes, Iterable) or isinstance(outcomes, str) or is_table(outcomes):
        raise TypeError(
            "outcomes must be rewards by id, or pairs of id and reward, got a "
            f"{type(outcomes).__name__}: of a table, zip(table['id'], table['reward'])"
        )
    items = getattr(outcomes, "items", None)
    for pair in outcomes if items is None else items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"outcomes must be pairs of id and reward, got {pair!r} among them")
        yield pair[0], pair[1]
