"""Bodies that are streams, and the channel between a thread that works and what sends."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections import deque
from collections.abc import AsyncIterator
from threading import Semaphore
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...operations import Operation
from ..caller import Caller
from ..service import Service

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
        self._ended = True
        self._wake()

    async def take(self, seconds: float | None = None) -> Any:
        """Wait for the next item; EOFError: there is none any more."""
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
        self.channel = Channel()
        self._room = Semaphore(AHEAD)
        self._buffer = bytearray()
        self._is_gone = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write bytes; waits for a slow client, a minute at most."""
        self._buffer += data
        if len(self._buffer) >= CHUNK:
            self.send()
        return len(data)

    def send(self) -> None:
        if self._is_gone or not self._room.acquire(timeout=PATIENCE) or self._is_gone:
            raise BrokenPipeError("nobody reads this any more")
        self.channel.put(bytes(self._buffer))
        self._buffer.clear()

    def leave(self) -> None:
        """Say that nobody reads any more; what is being written is broken off."""
        self._is_gone = True
        self._room.release()

    async def read_chunk(self) -> bytes:
        """Wait for what was written; nothing at the end."""
        try:
            chunk: bytes = await self.channel.take()
        except EOFError:
            return b""
        self._room.release()
        return chunk


def _is_counts(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and all(isinstance(one, int) for one in item)


IN_MEMORY = 8 * 1024 * 1024  # bytes of a body that is taken in without a file
_FILE_NAMES = {"export": "export.jsonl", "backup": "backup.tar"}


async def send_stream(
    service: Service, caller: Caller, operation: Operation, values: Struct
) -> Response:
    """Answer with what an operation writes, while it writes.

    An error before the first bytes is an answer of its own; after them the connection is cut.
    """
    outlet = Outlet()

    def does(memory: Any, values: Any, progress: Any) -> None:
        operation.does(memory, values, outlet)
        outlet.send()

    task = asyncio.ensure_future(service.call(caller, replace(operation, does=does), values))
    task.add_done_callback(outlet.channel.end)
    first = await outlet.read_chunk()
    if not first:
        await task

    async def chunks() -> AsyncIterator[bytes]:
        chunk = first
        try:
            while chunk:
                yield chunk
                chunk = await outlet.read_chunk()
            await task
        finally:
            outlet.leave()

    name = _FILE_NAMES.get(operation.name, operation.name)
    return StreamingResponse(
        chunks(),
        media_type=operation.media_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
        background=BackgroundTask(outlet.leave),
    )


async def receive_stream(
    request: Request, service: Service, caller: Caller, operation: Operation, values: Struct
) -> Any:
    """Do an operation that reads the body of a request, once all of it is there.

    Others who write do not wait for a slow client so.
    """
    # it has no name, and is gone when it is closed
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        async for piece in request.stream():
            file.write(piece)
        file.seek(0)

        def does(memory: Any, values: Any, progress: Any) -> Any:
            return operation.does(memory, values, file)

        return await service.call(caller, replace(operation, does=does), values)
