"""Callers that cost little: many connections in one thread, requests as bytes on sockets.

`benchmarks.service` runs it as a process of its own; it shares the machine with the service.
"""

from __future__ import annotations

import heapq
import json
import random
import selectors
import socket
import sys
import time
from typing import Any

PATH, GROUPS = "/v1/deciders/films", 10


class Caller:
    """One connection: asks, and tells if it is to, one request after another."""

    def __init__(self, port: int, token: str, tells: bool, seed: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: "
        self._random, self._tells = random.Random(seed), tells
        self._made: str | None = None
        self._data, self._sent = b"", 0.0
        self.busy = self.late = False

    def send(self) -> None:
        """Send the next request."""
        if self._made is None:
            what, body = "ask", f'{{"filter":{{"group":{self._random.randrange(GROUPS)}}}}}'
        else:
            reward = self._random.gauss(0, 1)
            what, body = "tell", f'{{"id":"{self._made}","outcome":{reward}}}'
        head = f"POST {PATH}/{what} {self._head}{len(body)}\r\n\r\n"
        self.busy, self._sent = True, time.perf_counter()
        self.socket.sendall((head + body).encode())

    def received(self) -> float | None:
        """Read what has come; return how long the answer took once it is whole."""
        self._data += self.socket.recv(65536)
        top, ended, rest = self._data.partition(b"\r\n\r\n")
        if not ended:
            return None
        length = int(top.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        if len(rest) < length:
            return None
        took = time.perf_counter() - self._sent
        self._data, self.busy = b"", False
        if b" 200 " not in top[:20]:
            raise RuntimeError(rest.decode())
        asked = self._made is None and self._tells
        self._made = json.loads(rest)["id"] if asked else None
        return took

    @property
    def between(self) -> bool:
        """Whether the next request is an ask."""
        return self._made is None


def call(
    port: int, token: str, connections: int, seconds: float, tells: bool, pace: float
) -> list[float]:
    """Return how long each answer took; with a pace, a caller asks once in so many seconds."""
    callers = [Caller(port, token, tells, seed) for seed in range(connections)]
    began = time.perf_counter()
    due = [(began + pace * i / connections, i) for i in range(connections)]
    waiting, taken, open_ = selectors.DefaultSelector(), list[float](), connections
    for i, caller in enumerate(callers):
        waiting.register(caller.socket, selectors.EVENT_READ, i)
    while True:
        now = time.perf_counter()
        while due and due[0][0] <= now:
            at, i = heapq.heappop(due)
            if at >= began + seconds:
                open_ -= 1
                continue
            if callers[i].busy:
                callers[i].late = True
            else:
                callers[i].send()
            if pace:
                heapq.heappush(due, (at + pace, i))
        if not open_ and not any(caller.busy for caller in callers):
            return taken
        for key, _ in waiting.select(max(due[0][0] - now, 0) if due else None):
            caller = callers[key.data]
            took = caller.received()
            if took is None:
                continue
            taken.append(took)
            if not caller.between or caller.late:
                caller.late = caller.late and not caller.between
                caller.send()
            elif not pace:
                heapq.heappush(due, (time.perf_counter(), key.data))


def main() -> None:
    """Call as the argument says, and print what was taken."""
    options: dict[str, Any] = json.loads(sys.argv[1])
    print(json.dumps(call(**options)))


if __name__ == "__main__":
    main()
