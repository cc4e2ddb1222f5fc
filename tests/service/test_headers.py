"""Clients that send their headers slowly, or without an end."""

import asyncio
import socket
import threading
from typing import Any

import httpx
import pytest
import uvicorn

from projbandits.service.headers import BoundedHeaders
from tests.service.conftest import Service


@pytest.fixture
def address(films: Service, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """Give where a service is that waits for headers for a moment."""
    monkeypatch.setattr(BoundedHeaders, "seconds", 0.2)
    url = films.client.base_url
    return url.host, url.port or 80


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\n", b"GET /healthz HT"])
def test_headers_that_do_not_come_are_not_waited_for(address: tuple[str, int], sent: bytes) -> None:
    with socket.create_connection(address, timeout=30) as slow:
        slow.sendall(sent)
        assert slow.recv(100) == b""  # closed; a timeout would be an error


def _gone(connection: socket.socket, data: bytes) -> bool:
    """Send something, and tell whether the other side has closed the connection."""
    try:
        connection.sendall(data)
        connection.settimeout(0.01)
        return connection.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_byte_now_and_then_does_not_keep_a_connection(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=30) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nx: ")
        assert any(_gone(slow, b"a") for _ in range(3000))  # at most thirty seconds


def test_headers_without_an_end_are_refused(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedHeaders, "seconds", 60.0)
    with socket.create_connection(address, timeout=30) as large:
        large.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert any(_gone(large, b"x: " + 10_000 * b"a" + b"\r\n") for _ in range(1000))


def test_a_second_request_may_come_late_but_not_slowly(address: tuple[str, int]) -> None:
    whole = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
    with socket.create_connection(address, timeout=30) as slow:
        slow.sendall(whole)
        data = b""
        while not data.endswith(b'{"status": "ok"}'):
            data += slow.recv(4096)
        slow.settimeout(0.6)
        with pytest.raises(TimeoutError):
            slow.recv(100)  # still open, three times as long
        slow.settimeout(30)
        slow.sendall(whole[:10])
        assert slow.recv(100) == b""


def test_answers_from_a_socket_that_processes_share_do_not_wait_for_the_client() -> None:
    options = list[int]()

    class Watched(BoundedHeaders):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            connected = transport.get_extra_info("socket")
            options.append(connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    config = uvicorn.Config(app, port=0, log_level="critical", lifespan="off", http=Watched)
    shared = config.bind_socket()  # as it does for several processes
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([shared],))
    thread.start()
    assert httpx.get(f"http://127.0.0.1:{shared.getsockname()[1]}").status_code == 204
    server.should_exit = True
    thread.join()
    shared.close()
    assert [*map(bool, options)] == [True]
