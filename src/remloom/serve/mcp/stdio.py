"""MCP over stdio: the memory of one person, for an agent that starts this process itself."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from threading import Timer
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from ...memory.memory import Memory
from ...operations import Scope, Toolset
from ...settings import Settings
from ...tenancy.api_keys import SCOPES
from ..caller import Caller
from ..service import Service
from ..tenants import Tenants
from .server import make_server
from .unread import answering_unread

_WARM_AFTER = 1.0  # seconds: the first answers go before the embedder


class _OneTenant(Tenants):
    """The memory of the settings, made when it is not there yet."""

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

    Args:
        settings: whose memory it is; it is made when it is not there yet.
        read_only: only what reads can be called.
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
    """Do work ahead; whatever is wrong with it is told to whoever calls next."""
    try:
        work()
    except Exception as error:
        print(f"remloom mcp: {type(error).__name__}", file=sys.stderr)
