"""A ledger from the parts of a file, each of which is checked before it is used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite, sqrt
from typing import Any

import numpy as np

from projbandits.deciding.eligibility import check_suits
from projbandits.deciding.limits import LARGEST_ENTRY, check_estimate
from projbandits.deciding.validate import check_event, half_life, items, or_none, text, texts, whole
from projbandits.ledger import dump
from projbandits.ledger.codec import EVENT_KINDS, LENGTH, claimed, decode
from projbandits.ledger.describing import strategy_of
from projbandits.ledger.events import OUTCOMES, Changed, Decided, Event, Opened
from projbandits.ledger.fold import Known, Mate, mates_in, restored
from projbandits.ledger.in_memory import MemoryLedger
from projbandits.ledger.index import REMEMBERED, Fate
from projbandits.ledger.protocol import Behind, Exists, Held, Snapshot
from projbandits.ledger.streams import SESSIONS
from projbandits.strategies import LinearStrategy


def _digests(value: Any) -> bool:
    return isinstance(value, dict) and all(map(text, value)) and all(map(text, value.values()))


FILE_FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "library": ("a text", text),
    "strategy": ("a class and its fields, or null", or_none(lambda v: isinstance(v, dict))),
    "label": ("a text", text),
    "features": ("a count from 1", whole(1)),
    "whole": ("true or false", lambda value: type(value) is bool),
    "base": ("a count", whole(0)),
    "last": ("a count from 1", whole(1)),
    "session": ("a count", whole(0, SESSIONS)),
    "draws": ("a count", whole(0)),
    "span_checked": ("true or false", lambda value: type(value) is bool),
    "history": ("texts by their names", _digests),
}
"""What each field of a file must be."""


def check_fields(
    found: Any, expected: dict[str, tuple[str, Callable[[Any], bool]]]
) -> dict[str, Any]:
    """Return the fields of a file, or raise if there are others, or one cannot be."""
    if not isinstance(found, dict) or {*found} != {*expected}:
        raise ValueError(f"its fields must be {[*expected]}")
    for name, (what, fits) in expected.items():
        if not fits(found[name]):
            raise ValueError(f"its {name} must be {what}, got {repr(found[name])[:60]}")
    return found


def opened(body: bytes) -> tuple[dict[str, Any], Iterator[dump.Part]]:
    """Return the fields of a file, and its parts."""
    if len(body) < LENGTH.size:
        raise ValueError("it ends too early")
    end = LENGTH.size + LENGTH.unpack_from(body)[0]
    fields = check_fields(json.loads(body[LENGTH.size : end]), FILE_FIELDS)
    return fields, dump.unpacked(memoryview(body)[end:])


def ledger(
    fields: dict[str, Any],
    parts: Iterable[dump.Part],
    given: Sequence[LinearStrategy],
    largest: float,
) -> MemoryLedger:
    """Return the ledger that the parts of a file make.

    Parameters
    ----------
    fields : dict
        What the file says of itself.
    parts : iterable of Part
        What it holds.
    given : sequence of LinearStrategy
        Strategies that a file can only name.
    largest : float
        How many bytes of memory rows may take that a file holds in a few.
    """
    making = Making(fields, given, largest)
    last = 0
    for section, position, record in parts:
        if not last <= section <= dump.REMEMBERED:
            raise ValueError("its parts must be in their order")
        last = section
        if section == dump.SNAPSHOT:
            making.snapshot(Snapshot(position, record.body))
        else:
            if record.kind == EVENT_KINDS[Decided]:
                making.claim(claimed(record.body))
            making.event(section, position, decode(record))
    return making.made()


class Making:
    """A ledger that is being made of what a file holds."""

    def __init__(
        self, fields: dict[str, Any], given: Sequence[LinearStrategy], largest: float
    ) -> None:
        self._d, self._whole = fields["features"], fields["whole"]
        self._base, self._last = fields["base"], fields["last"]
        self._history = fields["history"]
        self._given, self._largest = given, largest
        self._penalty = max(strategy.penalty for strategy in given)
        self._snapshots: list[Snapshot] = []
        self._drawn = set[tuple[int, int]]()
        self._ledger: MemoryLedger | None = None

    def snapshot(self, kept: Snapshot) -> None:
        """Add a snapshot."""
        known = restored(kept, self._given)
        before = self._snapshots[-1].position if self._snapshots else 0
        if known is None or not before < kept.position <= self._last:
            raise ValueError(f"its snapshot at {kept.position} is none")
        check_suits(known.strategy)
        ridge = known.state.ridge
        check_estimate(ridge.factor, ridge.n, max(self._penalty, ridge.penalty), ridge.intercept)
        sound = (
            whole(1)(known.state.step) and whole(0)(ridge.n)
            and text(known.key) and whole(0, 2**128 - 1)(known.seed)
            and ridge.d == known.subspace.ambient == self._d
            and 0.0 <= ridge.forgotten <= ridge.n and half_life(known.half_life)
            and type(known.intercept) is type(ridge.equal) is bool and _open(known, mates_in(kept))
            and isfinite(known.clock) and (known.state.effects is None or items(known))
            and (known.features is None or len(known.features.names) == self._d)
        )  # fmt: skip
        if not sound or not all(_names(n, self._d) for n in (known.columns, known.subspace.names)):
            raise ValueError(f"its snapshot at {kept.position} is not sound")
        self._snapshots.append(kept)

    def claim(self, rows: int) -> None:
        """Count rows that take more memory than bytes of the file."""
        self._largest -= 4 * rows
        if self._ledger is None and self._base:
            self._from_snapshot()
        index = None if self._ledger is None else self._ledger.index()
        if self._largest < 0 or index is None or rows > len(index.catalogue or ()):
            raise ValueError(
                "its decisions would take more memory than allowed, or arms that it does not have: "
                "if it is yours, pass Decider.load(path, largest=...)"
            )

    def event(self, section: int, position: int, event: Event) -> None:
        """Add an event."""
        if self._ledger is None and self._base:
            self._from_snapshot()
        if self._ledger is None:
            if not isinstance(event, Opened) or position != 1 or not self._whole:
                raise ValueError("its first event must be its opening")
            self._check(event, position, 0)
            self._ledger = MemoryLedger(event)
            return
        index = self._ledger.index()
        self._check(event, position, len(index.catalogue or ()))
        if isinstance(event, Decided) and self._whole and not self._rests(event.known):
            raise ValueError(f"it must have what its decision {event.id!r} rested on")
        if isinstance(event, Decided):
            self._check_counted(event, early=section == dump.EARLY)
        if section == dump.EVENT:
            self._append(self._ledger, event, position)
        elif isinstance(event, OUTCOMES):
            if len(index.recent) >= REMEMBERED or index.about(event.id) is not None:
                raise ValueError("its old outcomes are too many, or one is there twice")
            outcome = getattr(event, "outcome", None)
            place = position or None
            why = getattr(event, "why", None)
            index.recent[event.id] = Fate(0, -1, outcome, event.time, place, why)
        elif isinstance(event, Decided):
            if position > self._base or index.about(event.id) is not None:
                raise ValueError(f"its decision {event.id!r} is there twice, or not sound")
            index.waiting[event.id] = Held(position, event, index.arm(event))
        else:
            index.add(position, event)

    def _check_counted(self, event: Decided, early: bool) -> None:
        draws = range(event.draw - event.counted, event.draw)
        if not early and any((event.session, draw) not in self._drawn for draw in draws):
            raise ValueError(f"it must have the decisions that {event.id!r} counted")
        self._drawn.add((event.session, event.draw))

    def _rests(self, position: int) -> bool:
        """Tell whether what was known at a position can be made again."""
        return position >= self._base or any(s.position == position for s in self._snapshots)

    def _append(self, ledger: MemoryLedger, event: Event, position: int) -> None:
        rows = len(ledger.index().catalogue or ())
        try:
            sound = not isinstance(event, Opened) and ledger.append([event], rows) == position
        except (Behind, Exists):
            sound = False
        if not sound:
            raise ValueError(f"its event {position} is not sound, or in another place")

    def _from_snapshot(self) -> None:
        if not self._snapshots or self._snapshots[-1].position < self._base:
            raise ValueError("it must have a snapshot of what it does not hold")
        at = [s for s in self._snapshots if s.position <= self._base]
        if not at or at[-1].position != self._base:
            raise ValueError("it must have a snapshot of what it does not hold")
        self._ledger = MemoryLedger.from_snapshot(self._d, self._whole, at)
        self._ledger.index().history.update(self._history)

    def _check(self, event: Event, position: int, rows: int) -> None:
        if isinstance(event, Opened | Changed) and event.strategy is not None:
            # As large as it was when arms were offered; other strategies are checked elsewhere.
            strategy = strategy_of(event.strategy, str(event.label), self._given)
            self._penalty = max(self._penalty, check_suits(strategy).penalty)
        check_event(event, position, self._d, self._penalty, rows)

    def made(self) -> MemoryLedger:
        """Return the ledger."""
        if self._ledger is None and self._base:
            self._from_snapshot()
        if self._ledger is None or self._ledger.last() != self._last:
            raise ValueError(f"it must have {self._last} events, and has others")
        for kept in self._snapshots:
            if kept.position > self._ledger.base:
                self._ledger.keep(kept)
        return self._ledger


def _open(known: Known, mates: Sequence[Mate]) -> bool:
    """Tell whether open decisions, and those that others counted, can be some."""
    X, labels = known.open.listed
    X = np.vstack([X, *(x for _, _, x, _ in mates)])
    labels = [*labels, *(label for *_, label in mates)]
    largest = LARGEST_ENTRY * sqrt(known.strategy.penalty)
    return bool((np.abs(X) <= largest).all()) and all(map(or_none(text), labels))


def _names(names: Any, d: int) -> bool:
    return names is None or (texts(names) and len(names) == d)


def check_known(known: Known, fields: dict[str, Any]) -> None:
    """Raise unless what follows from a ledger is what its file says of it."""
    if repr(known.strategy) != fields["label"]:
        raise ValueError(f"its label must be {known.strategy!r}, got {fields['label']!r}")
    names, columns = known.subspace.names, known.columns
    if names is not None and tuple(map(str, names)) != columns:
        raise ValueError(f"its columns must be those of its subspace, got {columns} for {names}")
