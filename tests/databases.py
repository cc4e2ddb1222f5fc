"""A real PostgreSQL for the tests, and URLs of fresh databases."""

import atexit
import logging
import os
import shutil
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg


class Server:
    """A PostgreSQL server in a folder of its own, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        # Where sockets and locks go; a folder under /run may not be there.
        if "XDG_RUNTIME_DIR" not in os.environ:
            os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="run")
            atexit.register(shutil.rmtree, os.environ["XDG_RUNTIME_DIR"], ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pgserver

        logging.getLogger("pgserver").setLevel(logging.CRITICAL)
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._server: Any = pgserver.get_server(folder, cleanup_mode="stop")
        self._made = 0

    def database(self) -> str:
        """Make a new database and return its URL."""
        self._made += 1
        name = f"test{os.getpid()}_{self._made}"
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
        host = quote(str(self._server.get_postmaster_info().socket_dir), safe="")
        return f"postgresql://postgres:secret@/{name}?host={host}"

    def kill(self) -> None:
        """Kill the server as a power cut would, and with it every connection."""
        postmaster = psutil.Process(self._server.get_pid())
        processes = [postmaster, *postmaster.children()]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                while process.status() != psutil.STATUS_ZOMBIE:
                    time.sleep(0.001)
        # Its parent may not have taken note of its end; then it would be taken for running.
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (self._folder / name).unlink(missing_ok=True)

    def start(self, seconds: float = 90.0) -> None:
        """Start it again; what it had committed is recovered."""
        until = time.monotonic() + seconds
        while True:
            try:
                self._server.ensure_postgres_running()
                return
            except Exception:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def cut(self) -> None:
        """Cut all connections but the one that does so."""
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )

    def stop(self) -> None:
        """Stop it for good; nobody needs what it holds, so it need not tidy up."""
        self._server.cleanup_mode = None
        with suppress(psutil.NoSuchProcess):
            self.kill()
