"""One ledger in a database, as a decider sees it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa

from projbandits._validation import Array
from projbandits.ledger.appending import Head, Written
from projbandits.ledger.arms_seen import ArmsSeen
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.codec import EVENT_KINDS
from projbandits.ledger.connecting import Answer, Database, damaged
from projbandits.ledger.events import Described, Event
from projbandits.ledger.forking import renewed
from projbandits.ledger.protocol import EVENTS_AT_ONCE, Behind, Entry, Held, Snapshot
from projbandits.ledger.reading import FEW, Reader
from projbandits.ledger.snapshots import find_snapshot

RECENT_EVENTS = 1024
"""How many events and decisions of this process are kept in memory, to save looking them up."""


UNSETTLED = (None,) * 4
"""What became of a decision of which nothing was reported."""

Decided = tuple[Sequence[Event], Any, bool]
Deciding = Callable[[Sequence[Any]], tuple[Sequence[Decided | BaseException], Snapshot | None]]
"""Returns, for each of several requests, its events, its answer and `fresh`, or its error."""


@dataclass(slots=True)
class Work:
    """What one caller wants in a ledger, all or nothing.

    Parameters
    ----------
    ledger : SqlLedger
        Where.
    events : sequence of Event
        What happened; where it is decided only when its turn has come, `decide` says what.
    snapshot : Snapshot, optional
        To be kept.
    decide : callable, optional
        Makes events of requests, those of all callers that are waiting.
    request : optional
        What it is asked.
    answer : optional
        What the caller gets instead of a position, once the events are recorded.
    failed : exception, optional
        What it gets if there are no events.
    fresh : bool
        Whether nobody can have used the ids of its decisions before.
    """

    ledger: SqlLedger
    events: Sequence[Event] = ()
    snapshot: Snapshot | None = None
    decide: Deciding | None = None
    request: Any = None
    answer: Any = None
    failed: BaseException | None = None
    fresh: bool = False


def decided(works: Sequence[Work]) -> list[Work]:
    """Have decided what is to be, and return the work that has something to record."""
    waiting: dict[Deciding, list[Work]] = {}
    for work in works:
        if work.decide is not None:
            waiting.setdefault(work.decide, []).append(work)
    for decide, some in waiting.items():
        outcomes, snapshot = decide([work.request for work in some])
        for work, outcome in zip(some, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                work.failed = outcome
            else:
                work.events, work.answer, work.fresh = outcome
                work.snapshot, snapshot = snapshot, None
    return [work for work in works if work.failed is None]


class SqlLedger:
    """One decider's events in a database; threads may share it.

    Parameters
    ----------
    database : Database
        Where it is.
    submit : callable
        Has work committed, together with that of other threads.
    close : callable
        Closes the store.
    name : str
        What it is called there.
    number : int
        Its number there.
    d : int
        How many features an arm has.
    """

    waits = True
    whole = True
    base = 0

    def __init__(
        self,
        database: Database,
        submit: Callable[[Work], Any],
        close: Callable[[], None],
        *,
        name: str,
        number: int,
        d: int,
    ) -> None:
        self.name = name
        self.number = number
        self._database = database
        self._submit = submit
        self._close = close
        self._arms = ArmsSeen(d)
        self._first_open = 0
        self.after_fork()
        renewed(self)

    def after_fork(self) -> None:
        """Forget what other threads may have been changing, in a forked child."""
        self._lock = threading.Lock()
        # A plain dict would walk over all that it forgot before to find its first entry.
        self._recent: OrderedDict[int, Entry] = OrderedDict()
        self.left: Head | None = None
        self.shared = False
        self._held: dict[str, Held] = {}
        self._decided: OrderedDict[str, Held] = OrderedDict()
        self._ahead: tuple[int, list[Entry]] = 1, []
        self._seen = Head(0, 0, -1)
        self._arms.after_fork()

    def append(self, events: Sequence[Event], rows: int = 0) -> int:
        """Add events, all or none, durably; return the position of the last one."""
        position: int = self._submit(Work(self, tuple(events)))
        return position

    def together(self, decide: Deciding, request: Any) -> Any:
        """Have a request decided and its events recorded, with those of all who wait meanwhile.

        Return the answer that `decide` gives. What other threads were told before is known to it,
        and one look at the ledger is enough for all of them.
        """
        return self._submit(self.work(decide=decide, request=request))

    def work(
        self,
        events: Sequence[Event] = (),
        *,
        decide: Deciding | None = None,
        request: Any = None,
    ) -> Work:
        """Return what `append` or `together` would do, for `SqlStore.record`."""
        return Work(self, events, decide=decide, request=request)

    def last(self) -> int:
        """Return the position of the last event."""
        seen = self._seen  # before the look: another thread may see more meanwhile
        head = Head(*self._ask(Reader.head))
        self._check_goes_on(seen, head)
        return head.last

    def read(
        self, after: int = 0, upto: int | None = None, chunk: int = EVENTS_AT_ONCE
    ) -> Iterator[list[Entry]]:
        """Yield the events after a position, in order, a chunk at a time."""
        if upto is None or upto > self._seen.last:
            last = self.last()
            upto = last if upto is None else min(upto, last)
        for start in range(after + 1, upto + 1, chunk):
            yield self._entries(start, min(start + chunk - 1, upto))

    def catalogue(self) -> Catalogue:
        """Return the distinct arms offered so far; they are added to it by this call only."""
        if self._arms.complete(self._seen.rows):
            return self._arms.catalogue(None)
        return self._ask(self._arms.catalogue)

    def described(self, key: str) -> str | None:
        """Return the infinite set of arms with this key, as JSON."""
        found = self._ask(lambda reader: reader.keyed([key])).get((EVENT_KINDS[Described], key))
        return found.arms if isinstance(found, Described) else None

    def held(self, id: str) -> Held | None:
        """Return a decision and what became of it."""
        return self._ask(lambda reader: reader.held([id])).get(id)

    def decisions(self, after: int = 0, chunk: int = EVENTS_AT_ONCE) -> Iterator[list[Held]]:
        """Yield the decisions after a position, in order, a chunk at a time."""
        last = self.last()
        for first in range(after + 1, last + 1, chunk):
            end = min(first + chunk - 1, last)
            found = self._ask(partial(Reader.decisions, first=first, last=end))
            if found:
                yield found

    def pending(self, before: float | None = None) -> Iterator[Held]:
        """Yield the decisions whose outcome is to come, in order; those made before a time."""
        after = self._first_open
        first = True
        while True:
            found = self._ask(partial(Reader.pending, after=after, most=EVENTS_AT_ONCE))
            if not found:
                return
            if first:
                # A decision that has an outcome keeps it, so the next search starts here.
                self._first_open, first = found[0].position - 1, False
            yield from (held for held in found if before is None or held.decision.time < before)
            after = found[-1].position

    def snapshot(self, upto: int | None = None) -> Snapshot | None:
        """Return the last snapshot at or before a position; one that is damaged is none."""
        return self._ask(lambda reader: find_snapshot(reader.connection, self.number, upto))

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot."""
        self._submit(Work(self, snapshot=snapshot))

    def close(self) -> None:
        """Let go of connections."""
        self._close()

    def reader(self, connection: sa.Connection) -> Reader:
        """Return what reads this ledger through a connection."""
        reader = Reader(connection, self.number, no_arms, self._database.shown)
        reader.arms = lambda row: self._arms.features(row, reader)
        return reader

    def kept(self, ids: Collection[str]) -> tuple[dict[str, Held], list[Held]]:
        """Return the decisions of these ids that are at hand.

        First those of which nothing can have become anything else while the ledger stands where
        this process left it; then others, whose outcomes must be looked for.
        """
        sure = {id: self._held[id] for id in ids if id in self._held}
        return sure, [self._decided[id] for id in ids if id in self._decided and id not in sure]

    def added(self, written: Written) -> None:
        """Remember what this process has added, so that it need not be read."""
        self.left = None  # an interrupt from here on makes the next transaction look things up
        if self.shared:
            self._held.clear()  # the other process may have told of these
        self._held.update(written.held)
        for id, held in written.held.items():
            if id not in self._decided:
                self._decided[id] = held if held[3:] == UNSETTLED else Held(*held[:3])
        while len(self._decided) > RECENT_EVENTS:
            self._held.pop(self._decided.popitem(last=False)[0], None)
        self.left = written.head
        self._arms.add(written.entries)
        if any(isinstance(outcome, Behind) for outcome in written.outcomes):
            self._seen = self._seen._replace(rows=-1)  # unknown
        self._remember(written.entries)

    def _remember(self, entries: Sequence[Entry]) -> None:
        with self._lock:
            self._recent.update((entry.position, entry) for entry in entries)
            while len(self._recent) > RECENT_EVENTS:
                self._recent.popitem(last=False)

    def _entries(self, first: int, last: int) -> list[Entry]:
        start, ahead = self._ahead
        with self._lock:
            found = {p: self._recent[p] for p in range(first, last + 1) if p in self._recent}
        for p in range(max(first, start), min(last, start + len(ahead) - 1) + 1):
            found.setdefault(p, ahead[p - start])
        missing = [p for p in range(first, last + 1) if p not in found]
        if missing:
            # More than was asked for: whoever goes through a ledger event by event comes next.
            end = max(missing[-1], min(missing[0] + EVENTS_AT_ONCE - 1, self._seen.last))
            later = range(missing[-1] + 1, end + 1)
            with self._lock:
                unknown = [*missing, *(p for p in later if p not in self._recent)]
            if len(unknown) <= FEW:
                read = self._ask(partial(Reader.single, positions=unknown))
                self._remember(read)
            else:
                read = self._ask(partial(Reader.entries, first=missing[0], last=end))
                self._ahead = missing[0], read
            found |= {entry.position: entry for entry in read}
        return [found[p] for p in range(first, last + 1)]

    def _check_goes_on(self, seen: Head, head: Head) -> None:
        """Raise unless the ledger still has what it had when it was last looked at."""
        if head.last < seen.last or (head.last == seen.last and head.digest != seen.digest):
            raise damaged(
                self._database.shown,
                f"ledger {self.name!r} had {seen.last} events and now has {head.last} others: an "
                "older copy was restored under a running process, which must be started again",
            )
        if head.last >= self._seen.last:
            self._seen = head

    def _ask(self, question: Callable[[Reader], Answer]) -> Answer:
        """Return the answer to a question; a lost connection is replaced."""

        def once() -> Answer:
            with self._database.reading() as connection:
                return question(self.reader(connection))

        return self._database.insist(once)


def no_arms(row: int) -> Array:
    """Raise: where no outcome is read, no arm is looked for."""
    raise LookupError(f"row {row} is not looked for here")
