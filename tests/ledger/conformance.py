"""What ledgers in memory and in databases must do alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np

from projbandits.exceptions import ConflictError, UnknownDecisionError
from projbandits.ledger.events import (
    Amended,
    Changed,
    Decayed,
    Decided,
    Described,
    Event,
    Learnt,
    Offered,
    Opened,
    Told,
    Withdrawn,
)
from projbandits.ledger.in_memory import MemoryLedger
from projbandits.ledger.protocol import Behind, Exists, Ledger, Snapshot

ARMS = np.array([[1.0, 0.0], [0.1, -2.5], [3.0, 1e-300]])
OPENED = Opened("0f", 1.0, 2**100, {"GENTRY": {}}, "GENTRY()", ARMS[:2].T, None, ("a", "b"))
RARE: list[Event] = [
    Learnt("history", 2.5, ARMS, np.array([0.5, -1.0, 2.0])),
    Described("ball", '{"Ball": {"d": 2}}'),
    Changed(3.0, label="UE()", subspace=np.eye(2)[:, :1], names=("x",)),
    Decayed(4.0, 0.5),
    Changed(5.0, half_life=(3.0, "decisions")),
]


class InMemory:
    """Ledgers in memory, by name."""

    def __init__(self) -> None:
        self._ledgers = dict[str, MemoryLedger]()

    def names(self) -> list[str]:
        return sorted(self._ledgers)

    def create(self, name: str, opened: Opened) -> MemoryLedger:
        if name in self._ledgers:
            raise ConflictError(name)
        return self._ledgers.setdefault(name, MemoryLedger(opened, name=name))

    def open(self, name: str) -> MemoryLedger:
        return self._ledgers[name]

    def close(self) -> None:
        pass


def check_store(make_store: Callable[[], Any]) -> None:
    """Check that a store of ledgers keeps its side of the protocol.

    Events must come back to the bit, at positions without gaps; an append is all or nothing, and
    what contradicts the ledger is refused; threads that append at once each get their own answer;
    and a second handle on the same place sees everything.

    Parameters
    ----------
    make_store : callable
        Returns a store that has no ledger named "checked", "threads" or "missing". Each call must
        lead to the same place, through a handle of its own where there is such a thing.
    """
    store = make_store()
    ledger = store.create("checked", OPENED)
    assert isinstance(ledger, Ledger), f"{ledger!r} lacks a part of the protocol"
    with _refused(ConflictError, "a ledger is made twice"):
        store.create("checked", OPENED)
    with _refused(KeyError, "a ledger that is not there is opened"):
        store.open("missing")
    _check_events(ledger)
    _check_decisions(ledger)
    _check_snapshots(ledger)
    threads = store.create("threads", OPENED)
    _check_threads(threads)
    _check_names(threads)
    other = make_store()
    assert other.names() == ["checked", "threads"], f"the names are {other.names()}"
    _check_same(ledger, other.open("checked"))
    other.close()
    store.close()


def decided(id: str, time: float = 10.0, **others: Any) -> Decided:
    """Return a decision for the second of the three arms."""
    values: dict[str, Any] = {"rows": np.array([2, 1], np.uint8), "index": 1, **others}
    index = values.pop("index")
    return Decided(id, time, 1, 3, 2**62, 0, index, 0.25, -0.5, math.nan, **values)


def _check_events(ledger: Ledger) -> None:
    """Every kind of event comes back as it was."""
    assert _size(ledger.catalogue()) == 0, "a new ledger has arms"
    assert ledger.append([Offered(0, ARMS)], 0) == 2, "the second event is not at position 2"
    assert _size(ledger.catalogue()) == 3, "arms that were offered are not in the catalogue"
    with _refused(Behind, "arms are numbered by an old catalogue"):
        ledger.append([Offered(0, ARMS), decided("never")], 0)
    assert ledger.append(RARE) == 7, "five events do not take five positions"
    assert ledger.append(RARE[:2]) == 7, "the same history or set is added twice"
    with _refused(ConflictError, "other history is learnt under the same key"):
        ledger.append([Learnt("history", 2.5, ARMS[:1], np.array([0.5]))])
    read = [entry for chunk in ledger.read(chunk=3) for entry in chunk]
    assert [entry.position for entry in read] == list(range(1, 8)), "positions have gaps"
    for entry, event in zip(read, [OPENED, Offered(0, ARMS), *RARE], strict=True):
        assert_same(entry.event, event)
    assert [e.position for c in ledger.read(2, 5, chunk=2) for e in c] == [3, 4, 5]
    assert ledger.described("ball") == '{"Ball": {"d": 2}}', "a set is not found by its key"
    assert ledger.described("history") is None, "history is taken for a set"


def _check_decisions(ledger: Ledger) -> None:
    """Decisions and outcomes are let in by the rules, and found again."""
    plain = decided("a", meta='{"page": "häme"}', label="b", taken=(0,))
    free = decided("b", 11.0, rows=None, index=None, arm=np.array([0.1, 0.2]), arms="ball")
    assert ledger.append([plain, free, decided("c", 12.0), decided("d", 13.0)], 3) == 11
    with _refused(Exists, "an id is decided twice"):
        ledger.append([decided("e"), decided("a")], 3)
    with _refused(UnknownDecisionError, "an unknown id is told"):
        ledger.append([Told("c", 20.0, 1.0), Told("e", 20.0, 1.0)])
    assert [held.decision.id for held in ledger.pending()] == ["a", "b", "c", "d"]
    assert ledger.append([Told("a", 20.0, 0.5), Told("b", 21.0, 1.5, "expired")]) == 13
    assert ledger.append([Told("a", 22.0, 0.5)]) == 13, "the same outcome counts twice"
    with _refused(ConflictError, "an outcome is told with another value"):
        ledger.append([Told("c", 22.0, 1.0), Told("a", 22.0, 0.75)])
    with _refused(ConflictError, "what was not told is amended"):
        ledger.append([Amended("d", 22.0, 1.0)])
    assert ledger.append([Amended("a", 23.0, 0.75), Withdrawn("c", 24.0, "lost")]) == 15
    assert ledger.append([Withdrawn("a", 25.0, "wrong"), Amended("a", 26.0, -2.0)]) == 17
    with _refused(ConflictError, "what was withdrawn is told"):
        ledger.append([Told("c", 27.0, 1.0)])
    assert [held.decision.id for held in ledger.pending()] == ["d"]
    assert [held.decision.id for held in ledger.pending(before=13.0)] == []
    found = [held for chunk in ledger.decisions(chunk=3) for held in chunk]
    assert [held.position for held in found] == [8, 9, 10, 11], "decisions are not in order"
    for held, event, arm in zip(found[:2], (plain, free), (ARMS[1], free.arm), strict=True):
        assert_same(held.decision, event)
        assert np.array_equal(held.arm, np.asarray(arm)), "a decision has another arm"
    fates = [(held.outcome, held.time, held.place, held.why) for held in found]
    expected = [(-2.0, 26.0, 12, None), (1.5, 21.0, 13, "expired"), (None, 24.0, None, "lost")]
    assert fates == [*expected, (None, None, None, None)], f"what became of them is {fates}"
    entries = [entry for chunk in ledger.read(11) for entry in chunk]
    places = [entry.place for entry in entries]
    assert places == [None, None, 12, None, 12, 12], f"first reports are at {places}"
    assert all(entry.arm is not None for entry in entries), "an outcome comes without its arm"
    assert ledger.held("missing") is None, "a decision is found that is not there"
    assert ledger.append([decided("f"), Told("f", 30.0, 1.0)], 3) == 19, "told at once"


def _check_snapshots(ledger: Ledger) -> None:
    """Snapshots are found by position."""
    assert ledger.snapshot() is None, "a new ledger has a snapshot"
    for position in (5, 11):
        ledger.keep(Snapshot(position, b"\x00body %d" % position))
    assert ledger.snapshot() == Snapshot(11, b"\x00body 11"), "the last snapshot is another"
    assert ledger.snapshot(10) == Snapshot(5, b"\x00body 5"), "the one before is not found"
    assert ledger.snapshot(4) is None, "a snapshot is found before the first"


def _check_threads(ledger: Ledger) -> None:
    """Eight threads that append at once get eight answers, and nothing is lost."""
    ledger.append([Offered(0, ARMS)], 0)

    def work(worker: int) -> list[int]:
        positions = list[int]()
        for i in range(5):
            id = f"{worker}-{i}"
            positions.append(ledger.append([decided(id)], 3))
            with _refused(UnknownDecisionError, "a thread is not told of its own error"):
                ledger.append([Told("missing", 1.0, 1.0)])
            ledger.append([Told(id, 20.0, float(worker))])
        return positions

    with ThreadPoolExecutor(8) as pool:
        positions = list(pool.map(work, range(8)))
    assert all(some == sorted(some) for some in positions), "positions go back in a thread"
    assert ledger.last() == 82, f"80 events of eight threads end at {ledger.last()}"
    read = [entry for chunk in ledger.read() for entry in chunk]
    assert [entry.position for entry in read] == list(range(1, 83)), "positions have gaps"
    told = [held.outcome for chunk in ledger.decisions() for held in chunk]
    assert sorted(map(str, told)) == sorted(str(float(i // 5)) for i in range(40)), "told otherwise"


def _check_names(ledger: Ledger) -> None:
    """Arms have names, decisions have contexts, and outcomes come with both or fade."""
    events: list[Event] = [
        Offered(3, ARMS, ("film", "17", None)),
        decided("named", rows=np.array([0, 4], np.uint8), label="17", context='{"a": "\\u00e4"}'),
        Told("named", 90.0, 1.0),
        Learnt("whose", 91.0, ARMS[:2], np.ones(2), ("film", "film")),
        Decayed(92.0, 0.25),
        Changed(93.0, half_life=(60.0, "seconds")),
    ]
    first = ledger.append(events, 3) - len(events)
    entries = [entry for chunk in ledger.read(first) for entry in chunk]
    for entry, event in zip(entries, events, strict=True):
        assert_same(entry.event, event)
    labels = [entry.label for entry in entries]
    assert labels == [None, "17", "17", None, None, None], f"events are about {labels}"
    catalogue = ledger.catalogue()
    assert catalogue is not None, "a ledger that is whole has no catalogue"
    named = [catalogue.label(row) for row in range(6)]
    assert named == [None, None, None, "film", "17", None], f"the arms are called {named}"
    with _refused(ConflictError, "history of other items is learnt under the same key"):
        ledger.append([Learnt("whose", 91.0, ARMS[:2], np.ones(2), ("film", "other"))])


def _check_same(one: Ledger, other: Ledger) -> None:
    """Two handles read the same, and see what the other adds."""
    assert other.snapshot() == one.snapshot(), "a second handle has other snapshots"
    pairs = zip(one.read(chunk=100), other.read(chunk=100), strict=True)
    for a, b in (pair for chunks in pairs for pair in zip(*chunks, strict=True)):
        assert a.position == b.position, "a second handle has other positions"
        assert a.place == b.place, "a second handle has other first reports"
        assert_same(a.event, b.event)
        assert (a.arm is None) == (b.arm is None), "a second handle has other arms"
        assert a.arm is None or a.arm.tobytes() == np.asarray(b.arm).tobytes(), "arms differ"
    position = other.append([Told("d", 40.0, 3.0)])
    held = one.held("d")
    assert held is not None, "a decision is lost"
    assert held.outcome == 3.0, "what a second handle was told is not seen"
    assert [e.position for c in one.read(position - 1) for e in c] == [position]


def assert_same(one: Event, other: Event) -> None:
    """Raise unless two events are equal to the bit."""
    assert type(one) is type(other), f"{one!r} is not {other!r}"
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            same = np.shape(a) == np.shape(b) and np.array_equal(a, b)
        else:
            same = a == b or (a != a and b != b)  # nan is nan
        assert same, f"{type(one).__name__}.{field.name} is {a!r}, it was {b!r}"


@contextmanager
def _refused(error: type[Exception], what: str) -> Iterator[None]:
    try:
        yield
    except error:
        return
    raise AssertionError(f"it is not refused when {what}")


def _size(catalogue: Any) -> int:
    return len(catalogue)
