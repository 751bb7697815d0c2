"""Lines of stdin that are no message: each is answered with an error.

The SDK drops what it cannot read, half a character in a string for one, and the client would wait
for its answer for ever.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

_Item: TypeAlias = SessionMessage | Exception


@asynccontextmanager
async def answering_unread(incoming: Any, outgoing: Any) -> AsyncIterator[Any]:
    """Give a stream of the messages of `incoming`; what is none is answered to `outgoing`."""
    send, messages = anyio.create_memory_object_stream[_Item]()

    async def relay() -> None:
        async with send:
            async for item in incoming:
                if isinstance(item, Exception):
                    if (line := _line_of(item)) != "\n":
                        await outgoing.send(SessionMessage(_error_for(line, item)))
                else:
                    await send.send(item)

    async with anyio.create_task_group() as group:
        group.start_soon(relay)
        yield messages
        group.cancel_scope.cancel()


def _line_of(error: Exception) -> Any:
    """Give what could not be read: a text that is no JSON, or what it says."""
    if not isinstance(error, ValidationError):
        return ""
    inputs = [one["input"] for one in error.errors(include_url=False)]
    # what is wrong may be a part of a message, and what is missing is so of the whole
    return next((one for one in inputs if isinstance(one, dict) and "jsonrpc" in one), inputs[0])


def _error_for(line: Any, error: Exception) -> JSONRPCError:
    is_json, value = True, line
    if isinstance(line, str):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            is_json = False
    id = value.get("id") if isinstance(value, dict) else None
    is_text = isinstance(id, str) and id.isprintable()
    code, what = PARSE_ERROR, "the line is not JSON in UTF-8"
    if is_json:
        code, what = INVALID_REQUEST, "the line is no message of JSON-RPC 2.0"
    if isinstance(error, ValidationError):
        what += f": {error.errors()[0]['msg']}"
    return JSONRPCError(
        jsonrpc="2.0",
        id=id if is_text or type(id) is int else None,
        error=ErrorData(code=code, message=what),
    )
