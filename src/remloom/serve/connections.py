"""Connections of the server: silent ones give way to others, and short answers are sent whole."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from typing import Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol

MOST_GATHERED = 64 * 1024  # bytes that wait for more


class GatheringTransport:
    """A transport that sends at once what is written in one turn of the loop.

    The head of an answer goes with its body: the client wakes once, and a system call is saved,
    which takes longer than most steps of a short answer.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)
        self._bytes += len(data)
        # what comes faster than it goes has to be held up by the transport
        if self._bytes >= MOST_GATHERED:
            self._send()

    def writelines(self, parts: Iterable[bytes]) -> None:
        for part in parts:
            self.write(part)

    def write_eof(self) -> None:
        self._send()
        self._transport.write_eof()

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._parts:
            data, self._parts, self._bytes = b"".join(self._parts), [], 0
            self._transport.write(data)


HEAD_TIME = 15.0  # seconds from connecting, or the first byte, to the end of a request's head
AT_ONCE = 2_000  # connections with a request in them; more are told to come again
FILES = 2 * AT_ONCE  # open at the same time: as many again for memories

_Protocol: Any = AutoHTTPProtocol


class PromptConnection(_Protocol):  # type: ignore[misc]  # which of two it is, uvicorn finds out
    """A connection that makes room for another while it is silent.

    It is closed when the head of a request takes too long to arrive; and where there are as many
    as may be, the one that has been silent the longest is. So a client that holds many open
    without ever asking keeps nobody out. How long a body may take is for the guard.
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
