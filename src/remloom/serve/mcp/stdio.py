"""MCP over stdio: the memory of one person, for an agent that starts this process itself."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, redirect_stdout
from threading import Timer
from typing import Any, TypeAlias

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from ...memory.memory import Memory
from ...operations import Scope, Toolset
from ...settings import Settings
from ...tenancy.api_keys import SCOPES
from ..caller import Caller
from ..service import Service
from ..tenants import Tenants
from .server import make_server

_WARM_AFTER = 1.0  # seconds: the first answers go before the embedder


class _OneTenant(Tenants):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._own = settings

    def warm(self) -> None:
        """Open it and load what its first answer would wait for."""
        with self.opened(self._own.tenant) as memory:
            _ = memory.admin.embedder

    def close_idle(self) -> None:
        """Close nothing: the agent that started the process may go on at any time."""

    def _open_memory(self, tenant: str) -> Memory:
        return Memory.open(settings=self._own)


def serve_stdio(
    settings: Settings, toolset: Toolset = "default", *, read_only: bool = False
) -> None:
    """Serve MCP on stdin and stdout until stdin ends.

    Nothing but its messages is written to stdout: what anything prints goes to stderr.
    """
    tenants = _OneTenant(settings)
    service = Service(settings, tenants)
    scopes: tuple[Scope, ...] = ("read",) if read_only else SCOPES
    caller = Caller(key_id="stdio", tenant=settings.tenant, scopes=frozenset(scopes))
    server = make_server(service, lambda context: caller, toolset)
    warming = Timer(_WARM_AFTER, _quietly, [tenants.warm])
    warming.daemon = True

    with ExitStack() as stack:

        async def serve() -> None:
            async with (
                stdio_server() as (incoming, outgoing),
                answering_unread(incoming, outgoing) as messages,
            ):
                # The SDK gives stdout back when stdin ends: what was printed and not flushed would
                # follow its last message.
                stack.enter_context(redirect_stdout(sys.stderr))
                warming.start()
                await server.run(messages, outgoing, server.create_initialization_options())

        try:
            anyio.run(serve)
        finally:
            warming.cancel()
            service.close()


def _quietly(work: Any) -> None:
    """Do work ahead; the next call raises what is wrong with it."""
    try:
        work()
    except Exception as error:
        print(f"remloom mcp: {type(error).__name__}", file=sys.stderr)


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
    """Give what could not be read: a text that is not JSON, or its value."""
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
