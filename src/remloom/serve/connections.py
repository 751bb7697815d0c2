"""Connections of the server: silent ones take nobody's place."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from .gathering_transport import GatheringTransport

HEAD_TIME = 15.0  # seconds from connecting, or the first byte, to the end of a request's head
AT_ONCE = 2_000  # connections with a request in them; more are told to come again
FILES = 2 * AT_ONCE  # open at the same time: as many again for memories

_Protocol: Any = AutoHTTPProtocol


class PromptConnection(_Protocol):  # type: ignore[misc]  # which of two it is, uvicorn finds out
    """A connection that makes room for another while it is silent.

    It is closed when the head of a request takes too long to arrive; and where there are as many
    as may be, the one that has been silent the longest is. So whoever holds many open without ever
    asking keeps nobody out. How long a body may take is for the guard.
    """

    # without a request in them, the longest first; of all servers in this process
    _silent: ClassVar[dict[PromptConnection, None]] = {}
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(GatheringTransport(transport, self.loop))
        self._wait()
        self._fall_silent()
        limit = self.limit_concurrency
        if limit is not None and len(self.connections) >= limit:
            longest = next(iter(self._silent))
            longest.leave()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
            if not self.cycle.response_complete:
                self._silent.pop(self, None)
        elif self._waiting is None and (before is None or before.response_complete):
            self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:
            self._fall_silent()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._silent.pop(self, None)
        super().connection_lost(exc)

    def leave(self) -> None:
        """Close it, and give up its place at once."""
        self._silent.pop(self, None)
        self.connections.discard(self)
        self.transport.close()

    def _fall_silent(self) -> None:
        self._silent.pop(self, None)
        self._silent[self] = None

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEAD_TIME, self.leave)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def connections_at_once() -> int:
    """Give how many connections there may be; lets this process open more files, if it may.

    Where the system allows few, half of them are left for memories.
    """
    if sys.platform == "win32":
        return AT_ONCE
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return AT_ONCE if soft == resource.RLIM_INFINITY else min(AT_ONCE, soft // 2)
