"""`serve`: the memory over HTTP."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ....errors import InvalidInputError, MissingExtraError, SettingsError
from ..frame.call import Invocation
from ..frame.terminal import echo

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ....settings import Settings


DRAINING = 20  # seconds that calls have to end in, after SIGTERM
KEPT_ALIVE = 30  # seconds that a silent connection is kept


def serve(
    call: Invocation,
    *,
    bind: str | None = None,
    allow_host: Sequence[str] = (),
    allow_origin: Sequence[str] = (),
) -> None:
    """Serve the memories of a home over HTTP: REST, tools, and pages.

    The first start makes an API key, and prints it once; on another address than loopback there
    has to be one. Each request is a line of JSON on standard error. SIGTERM and Ctrl-C let the
    calls that have begun end first; then the exit code is 0.

    Args:
        bind: where to listen. [default: 127.0.0.1:8765]
        allow_host: a host that requests may name, such as that of a proxy.
        allow_origin: where web pages may come from that call it, such as https://chat.example.
    """
    from msgspec.structs import replace

    settings = call.settings()
    if bind is not None:
        settings = replace(settings, serve_bind=bind)
    settings = replace(
        settings,
        serve_allowed_hosts=_joined(settings.serve_allowed_hosts, allow_host),
        serve_allowed_origins=_joined(settings.serve_allowed_origins, allow_origin),
    )
    host, port = parse_bind(settings.serve_bind)
    app = _app(settings)
    listening = _listen(host, port)
    import uvicorn

    from ...connections import PromptConnection, connections_at_once
    from ...guard.authentication import first_key
    from ...http.request_log import log_as_json

    service = app.state.service
    made = first_key(service.keys, settings, others=service.authentication.tokens is not None)
    if made is not None:
        echo(f"API key, shown this once, for tenant {made.tenant}: {made.key}", err=True)
    shown = f"[{host}]" if ":" in host else host
    # with port 0 the system has chosen one
    url = f"http://{shown}:{listening.getsockname()[1]}"
    echo(f"serving {settings.shown_home} at {url}", err=True)
    echo(f"pages: {url}/ui/, MCP: {url}/mcp, REST: {url}/openapi.json", err=True)
    log_as_json()
    config = uvicorn.Config(
        app,
        http=PromptConnection,
        access_log=False,
        log_level="warning",
        server_header=False,
        # who calls is told by the key; what a proxy says of it is taken from this machine alone
        proxy_headers=False,
        timeout_graceful_shutdown=DRAINING,
        timeout_keep_alive=KEPT_ALIVE,
        limit_concurrency=connections_at_once(),
    )
    server = uvicorn.Server(config)
    # uvicorn raises the signal anew when the calls have ended
    signal.signal(signal.SIGTERM, _end)
    with listening, suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    if not server.started:
        sys.exit(1)


def _end(number: int, frame: object) -> None:
    sys.exit(0)


def _joined(listed: str, more: Sequence[str]) -> str:
    return ", ".join(part for part in (listed, *more) if part)


def openapi() -> None:
    """Print the OpenAPI 3.1 description of the server."""
    try:
        from ...http.openapi import write
    except ImportError as error:
        raise MissingExtraError("remloom openapi", "serve") from error
    echo(write().decode())


def _app(settings: Settings) -> Starlette:
    try:
        from ...http.app import create_app
    except ImportError as error:
        raise MissingExtraError("remloom serve", "serve") from error
    try:
        return create_app(settings)
    except ModuleNotFoundError as error:
        raise SettingsError("this server has no guard, and does not start without one") from error


def _listen(host: str, port: int) -> socket.socket:
    """Take the address, so that whatever else is done at the start is done by one server."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":
        # elsewhere two servers could then have one port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise SettingsError(
            f"cannot listen at {host}:{port}: {(error.strerror or str(error)).lower()}",
            remedy="give another port, such as --bind 127.0.0.1:8766, or end what listens there",
            setting="serve_bind",
        ) from None
    return listening


def parse_bind(text: str) -> tuple[str, int]:
    """Take an address apart.

    Raises:
        InvalidInputError: it is no host and port.

    >>> parse_bind("127.0.0.1:8765"), parse_bind("[::1]:80")
    (('127.0.0.1', 8765), ('::1', 80))
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise InvalidInputError(
            f"{text!r} is no address to listen at", remedy="give host and port: 127.0.0.1:8765"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)
