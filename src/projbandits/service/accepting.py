"""Processes that share a socket take turns in accepting its connections."""

from __future__ import annotations

import asyncio
from typing import Any


class TakingTurns(asyncio.SelectorEventLoop):
    """An event loop that accepts one connection at a time from a socket that it is given.

    By default asyncio accepts all that wait: of many clients that come together one process would
    serve all, and the others none, for as long as those stay.
    """

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
        """Listen; as many connections may wait as ever."""
        if options.get("sock") is None:
            return await super().create_server(*args, **options)
        server = await super().create_server(*args, **{**options, "backlog": 1})
        # To asyncio, how many may wait and how many are accepted together is one number.
        options["sock"].listen(options["backlog"])
        return server
