"""The servers that MCP's suites speak to: Remloom's, and the SDK's fixtures behind Remloom's guard.

The suites send no key, so each request is given one before it comes to the guard.

    python -m bench.conformance.mcp_application remloom PORT
    python -m bench.conformance.mcp_application fixtures PORT FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from typing import Any

import uvicorn

from remloom import Memory
from remloom.serve.guard.middleware import Guard
from remloom.serve.http.app import create_app
from remloom.serve.service import Service
from remloom.settings import Settings
from remloom.tenancy.api_keys import ApiKeys

TENANT = "conformance"
SCOPES = ("read", "write", "forget", "dream")


class WithKey:
    """Adds a key to every request."""

    def __init__(self, app: Any, key: str) -> None:
        self._app = app
        self._header = (b"authorization", f"Bearer {key}".encode())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


def settings_of(home: str) -> Settings:
    """A home with one tenant that has something in it."""
    settings = Settings.load(home=home, tenant=TENANT, embedder="none")
    with Memory.open(settings=settings) as memory:
        memory.read_text("Sarah Chen moved to Lisbon in May 2025.", uri="notes/monday")
    return settings


def fixtures(service: Service) -> Any:
    """The SDK's own server of fixtures, which answers every scenario, behind our guard."""
    from mcp.server.transport_security import TransportSecuritySettings

    server = import_module("mcp_everything_server.server")
    app = server.mcp.streamable_http_app(
        event_store=server.event_store,
        retry_interval=100,  # milliseconds
        # hosts and origins are the guard's business
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Guard(app, service)


def main() -> None:
    """Serve until it is ended."""
    kind, port, *folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:
        settings = settings_of(home)
        with ApiKeys(settings) as keys:
            key = keys.create("conformance", SCOPES, tenant=TENANT).key
        service = Service(settings)
        if kind == "fixtures":
            sys.path[:0] = folder
            app = fixtures(service)
        else:
            app = create_app(settings, service=service)
        uvicorn.run(WithKey(app, key), host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    main()
