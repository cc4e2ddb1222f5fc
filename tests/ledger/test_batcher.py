import gc
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from projbandits.ledger.batcher import Committer


def test_what_arrives_during_a_flush_goes_together_and_each_gets_its_own_answer() -> None:
    sizes, first = list[int](), threading.Event()

    def commit(numbers: Sequence[int]) -> list[int | Exception]:
        sizes.append(len(numbers))
        first.wait()
        return [ValueError(n) if n % 7 == 0 else 2 * n for n in numbers]

    committer: Committer[int, int] = Committer(commit)

    def ask(n: int) -> object:
        try:
            return committer.submit(n)
        except ValueError as error:
            return error.args

    with ThreadPoolExecutor(30) as pool:
        answers = [pool.submit(ask, n) for n in range(30)]
        time.sleep(0.2)  # they are waiting by now
        first.set()
        found = [answer.result() for answer in answers]
    assert found == [(n,) if n % 7 == 0 else 2 * n for n in range(30)]
    assert len(sizes) < 10  # the first alone, perhaps some who came in the same moment, the others
    assert sum(sizes) == 30


def test_more_work_is_awaited_as_long_as_it_keeps_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, coming = list[int](), iter((1, 2, 3))

    def commit(numbers: Sequence[int]) -> Sequence[int]:
        sizes.append(len(numbers))
        return numbers

    committer: Committer[int, int] = Committer(commit, pauses=10)
    committer._alone = False
    answers = list[Future[int]]()

    def pause() -> None:
        number = next(coming, None)
        if number is not None:
            answers.append(pool.submit(committer.submit, number))
            while committer._arrivals.queue.qsize() < number:
                time.sleep(0.001)

    with ThreadPoolExecutor(3) as pool:
        monkeypatch.setattr(committer._arrivals, "pause", pause)
        assert committer.submit(0) == 0
        assert [answer.result(5) for answer in answers] == [1, 2, 3]
    assert sizes == [4]


def test_when_all_are_back_who_called_lately_nobody_is_awaited_any_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("projbandits.ledger.batcher.WAIT_FOR_MORE", 30.0)
    monkeypatch.setattr("projbandits.ledger.batcher.MOST_TOGETHER", 3)  # expected at first
    sizes = list[int]()

    def commit(numbers: Sequence[int]) -> Sequence[int]:
        sizes.append(len(numbers))
        return numbers

    committer: Committer[int, int] = Committer(commit, pauses=10)
    committer._alone = False
    began = time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(committer.submit, range(3))] == [0, 1, 2]
    assert time.monotonic() - began < 15.0
    assert sizes == [3]


def test_nobody_is_awaited_who_has_not_called_lately(monkeypatch: pytest.MonkeyPatch) -> None:
    committer: Committer[int, int] = Committer(lambda numbers: numbers, pauses=10)
    committer._alone = False
    assert committer.submit(0) == 0
    pauses = list[bool]()
    monkeypatch.setattr(committer._arrivals, "pause", lambda: pauses.append(True))
    for number in range(5):
        committer._alone = False  # or it would commit by itself
        assert committer.submit(number) == number
    assert pauses == []


def test_when_the_commit_fails_every_caller_is_told_and_the_next_one_works() -> None:
    broken = [True]

    def commit(numbers: Sequence[int]) -> Sequence[int]:
        if broken.pop():
            broken.append(False)
            raise OSError("the disk is full")
        return numbers

    committer: Committer[int, int] = Committer(commit)
    with pytest.raises(OSError, match="the disk is full"):
        committer.submit(1)
    broken[:] = [False]
    assert committer.submit(2) == 2
    committer.close()
    broken[:] = [False]
    assert committer.submit(3) == 3


def test_the_thread_ends_with_its_owner() -> None:
    committer: Committer[int, int] = Committer(lambda numbers: numbers)
    committer._alone = False
    committer.submit(1)
    thread = committer._thread
    assert thread is not None
    del committer
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()


def test_who_comes_while_the_thread_ends_does_not_wait_for_ever() -> None:
    committer: Committer[int, int] = Committer(lambda numbers: numbers)
    committer._alone = False
    committer.submit(1)
    assert committer._thread is not None
    end = committer._thread.join
    with ThreadPoolExecutor() as pool:

        class Ending:
            """The thread, after whose end somebody comes before its owner takes note of it."""

            late: Future[int]

            def join(self) -> None:
                end()
                committer._alone = False
                self.late = pool.submit(committer.submit, 2)
                while committer._arrivals.queue.empty():
                    time.sleep(0.001)

        ending = Ending()
        committer._thread = ending  # type: ignore[assignment]
        committer.close()
        try:
            assert ending.late.result(5) == 2
        except TimeoutError:
            committer._start()  # or the pool would wait for it
            raise
    committer.close()
