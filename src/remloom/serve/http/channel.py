"""A channel from a thread that works to the coroutine that sends what it gives."""

from __future__ import annotations

import asyncio
import io
from collections import deque
from threading import Semaphore
from typing import Any

CHUNK = 64 * 1024  # bytes that are sent together
AHEAD = 4  # chunks that are written before they are sent
PATIENCE = 60.0  # seconds that a writer waits for a slow client


class Channel:
    """Hands over items, in order: put in any thread, taken in the loop it was made in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: deque[Any] = deque()
        self._ready = asyncio.Event()
        self._ended = False

    def put(self, item: Any) -> None:
        """Hand an item over; of counts that nobody took yet, the last are enough."""
        if _is_counts(item) and self._items and _is_counts(self._items[-1]):
            self._items[-1] = item
        else:
            self._items.append(item)
        self._wake()

    def end(self, *_: object) -> None:
        """Say that nothing comes any more."""
        self._ended = True
        self._wake()

    async def take(self, seconds: float | None = None) -> Any:
        """Wait for the next item.

        Raises:
            EOFError: there is none any more.
            TimeoutError: none came in these seconds.
        """
        while not self._items:
            if self._ended:
                raise EOFError
            self._ready.clear()
            await asyncio.wait_for(self._ready.wait(), seconds)
        return self._items.popleft()

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ready.set)


class Outlet(io.RawIOBase):
    """A stream that a thread writes into and a client reads: no faster than it is read."""

    def __init__(self) -> None:
        self._channel = Channel()
        self._room = Semaphore(AHEAD)
        self._buffer = bytearray()
        self._is_gone = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write bytes; waits where the client is slow.

        Raises:
            BrokenPipeError: nobody reads any more, or not for a minute.
        """
        self._buffer += data
        if len(self._buffer) >= CHUNK:
            self.send()
        return len(data)

    def send(self) -> None:
        """Send what was written so far."""
        if self._is_gone or not self._room.acquire(timeout=PATIENCE) or self._is_gone:
            raise BrokenPipeError("nobody reads this any more")
        self._channel.put(bytes(self._buffer))
        self._buffer.clear()

    def end(self, *_: object) -> None:
        """Say that nothing comes any more."""
        self._channel.end()

    def leave(self) -> None:
        """Say that nobody reads any more; what is being written is broken off."""
        self._is_gone = True
        self._room.release()

    async def read_chunk(self) -> bytes:
        """Wait for what was written; nothing at the end."""
        try:
            chunk: bytes = await self._channel.take()
        except EOFError:
            return b""
        self._room.release()
        return chunk


def _is_counts(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and all(isinstance(one, int) for one in item)
