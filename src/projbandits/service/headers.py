"""Headers must come within a time and a size: uvicorn itself waits for them for ever."""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class BoundedHeaders(HttpToolsProtocol):
    """A connection that is closed when the headers of a request take too long, or are too large.

    Only a request whose headers do not come in one piece costs a timer. A connection that is made
    while the process ends is good for one request: uvicorn lets only those know that it has.
    """

    seconds = 10.0
    seconds_at_the_end = 0.5
    most_bytes = 65_536

    _late: asyncio.TimerHandle | None = None
    _within = False
    _bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, but not for ever."""
        super().connection_made(transport)
        connected = transport.get_extra_info("socket")
        if connected is not None and connected.family != socket.AF_UNIX:
            # asyncio does so too, but not for sockets that several processes share: there each
            # answer would wait for the client to acknowledge its headers, some 40 ms.
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        seconds = self.seconds_at_the_end if self._ending else self.seconds
        self._late = self.loop.call_later(seconds, transport.close)

    @property
    def _ending(self) -> bool:
        return "stopping" in self.app_state and self.app_state["stopping"].is_set()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        super().data_received(data)
        if not self._within:
            return
        self._bytes += len(data)
        if self._bytes > self.most_bytes:
            self.transport.close()
        elif self._late is None:
            self._late = self.loop.call_later(self.seconds, self.transport.close)

    def on_message_begin(self) -> None:
        """Begin to read headers."""
        super().on_message_begin()
        self._within, self._bytes = True, 0

    def on_headers_complete(self) -> None:
        """Wait for the body, which has a time of its own."""
        self._within = False
        self._cancel()
        super().on_headers_complete()
        if self._ending and self.cycle is not None:
            self.cycle.keep_alive = False

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._cancel()
        super().connection_lost(exc)

    def _cancel(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
