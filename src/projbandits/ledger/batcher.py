"""Group commit: what arrives while one transaction is flushed goes together in the next.

Who comes alone commits on the spot. As soon as others come meanwhile, a thread of its own commits
for all of them, so a caller never works for others. A caller who is interrupted while waiting
leaves that thread to finish; one who is interrupted while committing drops the connection, which
undoes the transaction unless it was complete. Callers wait on plain locks, which an interrupt
cannot leave half taken.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from projbandits.ledger.forking import renewed

Work = TypeVar("Work")
Outcome = TypeVar("Outcome")

MOST_TOGETHER = 1024
"""How many pieces of work go into one transaction at most."""

NOBODY = sys.maxsize
"""More than will ever wait."""

WAIT_FOR_MORE = 0.0005
"""For how many seconds more work is awaited at a time."""


class _Waiting:
    """A caller, its work, and in the end the outcomes."""

    __slots__ = ("done", "outcomes", "works")

    def __init__(self, works: Sequence[Any]) -> None:
        self.works = works
        self.outcomes: Sequence[Any] = ()
        self.done = threading.Lock()
        self.done.acquire()


class _Arrivals:
    """Who waits to be committed for. The thread that does so can wait for a number of them."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._expected = NOBODY
        self._there = threading.Lock()
        self._there.acquire()

    def add(self, waiting: _Waiting | None) -> None:
        """Have one more wait."""
        self.queue.put(waiting)
        if self.queue.qsize() >= self._expected:
            with suppress(RuntimeError):  # another thread has released it meanwhile
                self._there.release()

    def gather(self, pauses: int, expected: int) -> None:
        """Wait as long as more keep coming, this often at most, until all of them are there."""
        before = -1
        self._there.acquire(blocking=False)  # of one who came when nobody was awaited any more
        self._expected = expected
        for _ in range(pauses):
            there = self.queue.qsize()
            if there == before or there >= expected:
                break
            before = there
            self.pause()
        self._expected = NOBODY

    def pause(self) -> None:
        """Wait a little, but no longer than until all are there."""
        self._there.acquire(timeout=WAIT_FOR_MORE)


class Committer(Generic[Work, Outcome]):
    """Collects work from all threads, and has it committed together.

    Parameters
    ----------
    commit : callable
        Takes a list of work and returns, for each piece, its outcome or the error its caller gets.
        If it raises instead, every caller gets that error.
    pauses : int
        How often more work is awaited, `WAIT_FOR_MORE` seconds each time, as long as it keeps
        coming and not all are back who have been here lately.

    Examples
    --------
    >>> from projbandits.ledger.batcher import Committer
    >>> committer = Committer(lambda numbers: [2 * number for number in numbers])
    >>> committer.submit(4)
    8
    """

    def __init__(
        self, commit: Callable[[Sequence[Work]], Sequence[Outcome | BaseException]], pauses: int = 0
    ) -> None:
        self._commit = commit
        self._pauses = pauses
        self.after_fork()
        renewed(self)

    def after_fork(self) -> None:
        """Forget the thread and what it was doing; in a forked child neither exists."""
        self._arrivals = _Arrivals()
        self._busy, self._starting = threading.Lock(), threading.Lock()
        self._alone = True
        self._thread: threading.Thread | None = None

    def submit(self, work: Work) -> Outcome:
        """Return the outcome of a piece of work once it is committed, or raise its error."""
        (outcome,) = self.submit_all([work])
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def submit_all(self, works: Sequence[Work]) -> Sequence[Outcome | BaseException]:
        """Return the outcome, or the error, of each of several pieces of work."""
        if self._alone and not self._busy.locked():
            with self._busy:
                return self._commit(works)
        waiting = _Waiting(works)
        self._arrivals.add(waiting)
        if self._thread is None:
            self._start()
        waiting.done.acquire()
        return waiting.outcomes

    def close(self) -> None:
        """Let the thread end once it has done what was submitted; more work starts another."""
        with self._starting:
            if self._thread is not None:
                self._arrivals.add(None)
                self._thread.join()
                self._thread = None
        if not self._arrivals.queue.empty():  # somebody came who still saw the thread
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                # The thread must not keep alive what it works for.
                run = weakref.WeakMethod(self._run)
                weakref.finalize(self, self._arrivals.add, None)
                thread = threading.Thread(
                    target=_serve,
                    args=(self._arrivals, run, self._pauses),
                    name="projbandits-commits",
                    daemon=True,
                )
                thread.start()
                self._thread = thread

    def _run(self, batch: list[_Waiting]) -> int:
        """Commit for all of them; return how many may come next: they, and who waits already."""
        works = [work for waiting in batch for work in waiting.works]
        outcomes: Sequence[Any]
        try:
            with self._busy:
                outcomes = self._commit(works)
        except BaseException as error:  # a caller must never wait for a thread that died
            outcomes = [_same(error) for _ in works]
        others = self._arrivals.queue.qsize()
        self._alone = len(batch) == 1 and others == 0
        start = 0
        for waiting in batch:
            end = start + len(waiting.works)
            waiting.outcomes, start = outcomes[start:end], end
            waiting.done.release()
        return len(batch) + others


def _serve(arrivals: _Arrivals, run: weakref.WeakMethod[Any], pauses: int) -> None:
    expected, queue = MOST_TOGETHER, arrivals.queue
    while True:
        batch = [queue.get()]
        arrivals.gather(pauses, expected - 1)
        while len(batch) < MOST_TOGETHER and batch[-1] is not None:
            try:
                batch.append(queue.get_nowait())
            except Empty:
                break
        method = run()
        if method is not None and (work := [waiting for waiting in batch if waiting is not None]):
            expected = method(work)
        del method
        if batch[-1] is None:
            return


def _same(error: BaseException) -> BaseException:
    """Return an error of the same kind and words, so that each thread raises one of its own."""
    same = error.__class__.__new__(error.__class__, *error.args)
    same.__dict__.update(error.__dict__)
    same.args, same.__cause__ = error.args, error.__cause__
    return same
