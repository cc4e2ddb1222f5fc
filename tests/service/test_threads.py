"""Threads that a process does not wait for."""

import subprocess
import sys
import threading
import time

import pytest

from projbandits.service.threads import Threads

LONG = """
import time
from projbandits.service.threads import Threads
threads = Threads(1, "long")
begun = threads.submit(time.sleep, 60)
left = threads.submit(print, "begun after all")
while not begun.running():
    pass
threads.shutdown()
print("ended")
"""


def test_a_process_ends_whatever_they_are_at() -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
    assert time.monotonic() - began < 50


def test_few_things_are_done_at_a_time_and_errors_are_those_of_who_asked() -> None:
    threads, go, inside = Threads(2, "few"), threading.Event(), threading.Semaphore(0)

    def waits() -> str:
        inside.release()
        go.wait(30)
        return threading.current_thread().name

    begun = [threads.submit(waits) for _ in range(5)]
    assert all(inside.acquire(timeout=30) for _ in range(2))
    assert not inside.acquire(timeout=0.05)
    go.set()
    assert {future.result(30) for future in begun} == {"few"}
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(30)
    threads.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        threads.submit(waits)
