"""Bodies that are streams: what is sent out piece by piece, and what is taken in."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...operations import Operation
from ..caller import Caller
from ..service import Service
from .channel import Outlet

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
    task.add_done_callback(outlet.end)
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
