"""A transport that sends together what is written together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

MOST_GATHERED = 64 * 1024  # bytes that wait for more


class GatheringTransport:
    """A transport that sends at once what is written in one turn of the loop.

    The head of an answer goes with its body: whoever waits for it is woken once, and a system call
    is saved, which takes longer than most of what makes up a short answer.
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
