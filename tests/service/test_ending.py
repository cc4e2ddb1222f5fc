"""A process that is asked to end."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from projbandits.service.ending import told_of_signals
from projbandits.service.headers import BoundedHeaders
from projbandits.service.hub import Hub
from projbandits.service.web import make_app
from tests.service.conftest import serving

REQUEST = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.fixture
def ending(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """Give where a service is that has been asked to end, and still answers."""
    app = make_app(Hub(f"sqlite:///{tmp_path}/films.db"))
    with serving(app) as address:
        app.state.server.stopping.set()
        host, _, port = address.removeprefix("http://").partition(":")
        yield host, int(port)


def test_a_connection_made_meanwhile_is_good_for_one_request(ending: tuple[str, int]) -> None:
    with socket.create_connection(ending, timeout=30) as late:
        late.sendall(REQUEST)
        data = b"".join(iter(lambda: late.recv(4096), b""))  # until it is closed
    assert data.startswith(b"HTTP/1.1 200 ")
    assert data.endswith(b'{"status": "ok"}')


def test_a_connection_made_meanwhile_must_send_its_request(
    ending: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedHeaders, "seconds", 1000.0)
    with socket.create_connection(ending, timeout=30) as idle:
        assert idle.recv(100) == b""  # closed; a timeout would be an error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_learns_of_a_signal_and_then_does_what_it_did(number: signal.Signals) -> None:
    handled = list[int]()

    def handle(number: int, frame: Any) -> None:
        handled.append(number)

    async def main() -> None:
        stopping = asyncio.Event()
        with told_of_signals(stopping):
            signal.raise_signal(number)
            await asyncio.wait_for(stopping.wait(), 30)
        assert signal.getsignal(number) is handle

    before = signal.signal(number, handle)
    try:
        asyncio.run(main())
    finally:
        signal.signal(number, before)
    assert handled == [number]
