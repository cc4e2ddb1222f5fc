"""Connections of a socket that several processes share."""

import asyncio
import socket
from contextlib import ExitStack
from itertools import count
from typing import Any

from projbandits.service.accepting import TakingTurns


class Listening(socket.socket):
    """A socket that remembers what is done with it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = self.round = 0
        self.rounds = list[int]()

    def listen(self, backlog: int = 0, /) -> None:
        self.waiting = backlog
        super().listen(backlog)

    def accept(self) -> tuple[socket.socket, Any]:
        accepted = super().accept()
        self.rounds.append(self.round)
        return accepted


def test_connections_are_accepted_one_at_a_time_and_as_many_may_wait_as_ever() -> None:
    async def accept_all() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        left = count(1)

        class Connected(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                transport.close()

            def connection_lost(self, exc: Exception | None) -> None:
                if next(left) == 5:
                    done.set()

        def counted() -> None:
            shared.round += 1  # once in each round of the loop
            if not done.is_set():
                loop.call_soon(counted)

        counted()
        server = await loop.create_server(Connected, sock=shared, backlog=2048)
        await asyncio.wait_for(done.wait(), 30)
        server.close()

    with ExitStack() as stack:
        shared = stack.enter_context(Listening())
        shared.bind(("127.0.0.1", 0))
        shared.listen(100)
        for _ in range(5):
            stack.enter_context(socket.create_connection(shared.getsockname()))
        loop = TakingTurns()
        stack.callback(loop.close)
        loop.run_until_complete(accept_all())
        assert shared.waiting == 2048
    rounds = shared.rounds
    assert len(set(rounds)) == len(rounds) == 5  # by default all of them come in one round
