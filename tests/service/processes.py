"""The service as a process of its own, which can be stopped and killed."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path

import httpx


class Process:
    """`projbandits serve` on a store.

    Parameters
    ----------
    url : str
        The store.
    port : int, optional
        Where to listen; a free port by default.
    processes : int
        How many processes answer.
    """

    def __init__(self, url: str, port: int | None = None, processes: int = 1) -> None:
        self.port = port or free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        folder = tempfile.mkdtemp(prefix="service")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._printed = Path(folder) / "printed"
        command = [sys.executable, "-m", "projbandits.cli", "serve", "--store", url]
        command += ["--port", str(self.port), "--processes", str(processes)]
        with open(self._printed, "wb") as printed:
            self._process = subprocess.Popen(
                command,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )

    def printed(self) -> str:
        """Return what it printed so far."""
        return self._printed.read_text()

    @property
    def token(self) -> str | None:
        """Return the token that it printed."""
        lines = self.printed().splitlines()
        return next((line[7:] for line in lines if line.startswith("token: ")), None)

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until it answers."""
        until = time.monotonic() + seconds
        while True:
            assert self._process.poll() is None, self.printed()
            try:
                httpx.get(f"{self.address}/healthz", timeout=5)
                return
            except httpx.TransportError:
                assert time.monotonic() < until, self.printed()
                time.sleep(0.02)

    def memory(self) -> float:
        """Return how many megabytes it has in memory."""
        said = Path(f"/proc/{self._process.pid}/status").read_text()
        (line,) = [line for line in said.splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) / 1000

    def kill(self) -> None:
        """End it at once, with all its processes."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> float:
        """Ask it to end, and return how many seconds that took."""
        began = time.monotonic()
        self._process.terminate()
        self._process.wait(30)
        return time.monotonic() - began


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
