"""Audits and exports that go on after their request: in threads, with their state in the store."""

from __future__ import annotations

import io
import logging
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

import msgspec

from projbandits._validation import short
from projbandits.audit.audit import audit
from projbandits.deciding import Decider
from projbandits.exceptions import ConflictError
from projbandits.service.errors import EXPECTED_ERRORS, Refused, refused
from projbandits.service.registry import JOB, Hub, results
from projbandits.service.schemas import Job

Kind = Literal["audit", "export"]
Progress = Callable[[float], None]
Results = dict[str, bytes]
"""The contents that a job makes, by their names."""
Work = Callable[[Decider, Progress], Results]

AT_ONCE = 2
"""How many jobs a process works on at a time."""

WAITING = 8
"""How many jobs may wait in a process."""

LOST = 15.0
"""Seconds without a sign of a job after which its process must have ended."""

PATIENCE = 2.0
"""For how many seconds the end of a process waits for its jobs; others then find them lost."""

KEPT = 10
"""How many jobs of a decider are kept with their results."""

LARGEST = 500_000_000
"""Bytes of a result that is kept."""

ENDED = "its process ended: start it again"

LOGGER = logging.getLogger("uvicorn.error")


class Jobs:
    """The jobs of one process; every process sees the jobs of all.

    Parameters
    ----------
    hub : Hub
        Where deciders and documents are.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._running: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def start(self, name: str, what: Kind, id: str | None, work: Work) -> Job:
        """Start work on a decider; a job of this id that is there is returned as it is."""
        id, decider = id or secrets.token_hex(8), self._hub.decider(name)
        now = time.time()
        job = Job(id, what, "running", 0.0, now, now)
        key = f"{name}/{id}"
        with self._lock:
            before = self._read(key)
            if before is not None and before.state != "lost":
                return before
            if len(self._running) >= WAITING:
                raise Refused(429, f"{WAITING} jobs are under way: send this again", retry=5)
            self._running[key] = job
        thread = threading.Thread(target=self._work, args=(key, job, decider, work), daemon=True)
        try:
            self._write(key, job)
            self._forget(name)
            thread.start()
        except BaseException:  # nobody works on it
            del self._running[key]
            raise
        return job

    def find(self, name: str, id: str, what: Kind) -> Job:
        """Return a job, or raise if there is none."""
        found = self._read(f"{name}/{id}")
        if found is None or found.what != what:
            raise KeyError(f"id {short(id)} is unknown: no {what} of {name!r} has it")
        return found

    def result(self, name: str, id: str, what: Kind, part: str) -> bytes:
        """Return a result of a job that is done; raise what it failed of."""
        job = self.find(name, id, what)
        if job.problem is not None:
            raise Refused.of(job.problem)
        found = self._hub.documents.read(results(f"{name}/{id}"), part)
        if found is None:
            raise ConflictError(
                f"the {what} {id!r} must be done, it is {job.state} at {job.progress:.0%}: look "
                f"at /v1/deciders/{name}/{what}s/{id} until its state is done"
            )
        return found.body

    def show(self) -> None:
        """Write how far the jobs of this process are, which says too that it lives."""
        with self._lock:
            for key, job in self._running.items():
                job.seen = time.time()
                self._write(key, job)

    def close(self) -> None:
        """Stop the jobs of this process at their next step, if it comes soon."""
        self._closed.set()
        until = time.monotonic() + PATIENCE
        while self._running and time.monotonic() < until:
            time.sleep(0.01)

    def _work(self, key: str, job: Job, decider: Decider, work: Work) -> None:
        def progress(done: float) -> None:
            if self._closed.is_set():
                raise Refused(503, ENDED)
            job.progress = done

        try:
            with self._turns:
                progress(0.0)
                found = work(decider, progress)
                for part, content in found.items():
                    self._hub.documents.write(results(key), part, content)
            job.state, job.progress = "done", 1.0
        except Exception as error:
            known = refused(error)
            if known is None:
                LOGGER.exception("the job %s failed", key)
            known = known or Refused(500, "the server is at fault; its log says more")
            job.state = "lost" if self._closed.is_set() else "failed"
            job.problem = known.problem()
        with self._lock, suppress(*EXPECTED_ERRORS):  # without the store it is lost
            del self._running[key]
            job.seen = time.time()
            self._write(key, job)

    def _write(self, key: str, job: Job) -> None:
        self._hub.documents.write(JOB, key, msgspec.json.encode(job))

    def _read(self, key: str) -> Job | None:
        found = self._hub.documents.read(JOB, key)
        if found is None:
            return None
        job = msgspec.json.decode(found.body, type=Job)
        if job.state == "running" and time.time() - job.seen > LOST:
            job.state = "lost"
            job.problem = Refused(503, ENDED).problem()
        return job

    def _forget(self, name: str) -> None:
        """Remove all but the last jobs of a decider."""
        found = self._hub.documents.all(JOB)
        keys = [key for key in found if key.rpartition("/")[0] == name]
        for key in sorted(keys, key=lambda key: found[key].revision)[:-KEPT]:
            self._hub.remove_job(key)


def audited(by: str | None) -> Work:
    """Return an audit as work: its values and its page."""

    def work(decider: Decider, progress: Progress) -> Results:
        made = audit(decider.history(), None, by, lambda done, of: progress(done / max(of, 1)))
        values = msgspec.json.encode(made.to_dict())
        return {"json": values, "html": made.to_html().encode()}

    return work


def exported(decider: Decider, progress: Progress) -> Results:
    """Return the log as a Parquet file."""
    sink, rows, steps = io.BytesIO(), 0, max(decider.steps, 1)
    for many in decider.iter_export(sink):
        rows += many
        progress(min(rows / steps, 1.0))
        if sink.tell() > LARGEST:
            raise Refused(413, f"the log takes more than {LARGEST:,} bytes: GET log.parquet")
    return {"parquet": sink.getvalue()}
