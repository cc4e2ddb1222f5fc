"""Processes that are killed while they ask and tell, and a server that is."""

import multiprocessing
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.databases import Server
from tests.faults.verdicts import Outcomes, verdict
from tests.faults.workers import make, work

WORKERS = 4
_fork = multiprocessing.get_context("fork")


@contextmanager
def place(store: str, server: Server | None = None) -> Iterator[tuple[str, Path, Server | None]]:
    """Give the URL of a new database, a folder for journals, and the server if there is one."""
    with tempfile.TemporaryDirectory(prefix="faults") as folder:
        (Path(folder) / "journals").mkdir()
        if store == "sqlite":
            yield f"sqlite:///{folder}/films.db", Path(folder) / "journals", None
            return
        own = server or Server(Path(folder) / "postgresql")
        try:
            yield own.database(), Path(folder) / "journals", own
        finally:
            if server is None:
                own.stop()


class Crew:
    """Workers on one store, each started again when it is killed."""

    def __init__(self, url: str, folder: Path, until: float) -> None:
        self._arguments = url, folder, until
        self._workers = [self._start(i) for i in range(WORKERS)]

    def _start(self, worker: int) -> multiprocessing.context.ForkProcess:
        url, folder, until = self._arguments
        process = _fork.Process(target=work, args=(url, folder, worker, until), daemon=True)
        process.start()
        return process

    def kill(self, worker: int) -> None:
        """Kill a worker at once, and start another that goes on with its journal."""
        process = self._workers[worker]
        process.kill()
        process.join()
        self._workers[worker] = self._start(worker)

    def wait(self) -> Outcomes:
        """Wait for the workers to end by themselves."""
        found: Outcomes = Counter()
        for process in self._workers:
            process.join(60)
            if process.exitcode is None:
                process.kill()
                found["WORKER HANGS"] += 1
            elif process.exitcode not in (0, -signal.SIGKILL):
                found["WORKER FAILED"] += 1
        return found


def kills(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Kill one of four processes this many times, at random moments."""

    def meanwhile(crew: Crew, _: Server | None) -> Outcomes:
        for _try in range(tries):
            time.sleep(rng.uniform(0.0, 0.3))
            crew.kill(rng.randrange(WORKERS))
        return Counter({"processes killed": tries})

    return _load(store, 0.2 * tries + 2.0, meanwhile, server)


def restarts(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Kill PostgreSQL itself under load this many times, and start it again."""

    def meanwhile(_: Crew, server: Server | None) -> Outcomes:
        assert server is not None, "SQLite has no server"
        for _try in range(tries):
            time.sleep(rng.uniform(0.2, 1.0))
            server.kill()
            time.sleep(rng.uniform(0.0, 0.5))
            server.start()
        return Counter({"servers killed": tries})

    return _load(store, 3.5 * tries + 2.0, meanwhile, server)


def cuts(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Cut every connection under load this many times."""

    def meanwhile(_: Crew, server: Server | None) -> Outcomes:
        assert server is not None, "SQLite has no connections to cut"
        for _try in range(tries):
            time.sleep(rng.uniform(0.0, 0.3))
            server.cut()
        return Counter({"connections cut": tries})

    return _load(store, 0.2 * tries + 2.0, meanwhile, server)


def _load(
    store: str,
    seconds: float,
    meanwhile: Callable[[Crew, Server | None], Outcomes],
    server: Server | None,
) -> Outcomes:
    with place(store, server) as (url, folder, running):
        make(url).close()
        crew = Crew(url, folder, time.time() + seconds)
        found = meanwhile(crew, running)
        found += crew.wait()
        return found + verdict(url, folder)
