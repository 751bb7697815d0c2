"""The server's application: every door of it, behind the guard."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TypeAlias

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...operations import OPERATIONS, TOOLS, Operation
from ...settings import Settings
from ..guard.middleware import Guard
from ..idempotency import Replies
from ..problems import refusal, unexpected
from ..service import Service
from ..workers import Workers
from .endpoint import LEAST_ZIPPED, Endpoint, takes_gzip
from .request_log import RequestLog
from .routes import routes

ZIP_LEVEL = 4  # beyond it, time grows faster than answers shrink

# modules whose `mount(service)` makes routes beside those of REST, and what each needs
DOORS: dict[str, str] = {"remloom.serve.ui": "starlette", "remloom.serve.mcp.http": "mcp"}

# puts the guard before an application
MakeGuard: TypeAlias = Callable[[ASGIApp, Service], ASGIApp]


def create_app(
    settings: Settings, *, service: Service | None = None, guard: MakeGuard | None = None
) -> Starlette:
    """Make the application that `remloom serve` runs; `app.state.service` does its work.

    Args:
        service: default one of these settings, which is closed when the application ends.
        guard: stands before all routes; default that of `remloom.serve.guard`.
    """
    working = service or Service(settings)
    make_guard = guard or Guard
    workers = Workers(working, settings.serve_workers)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        workers.start()
        try:
            yield
        finally:
            await to_thread.run_sync(workers.close)
            if service is None:
                working.close()

    operations = _operation_routes(working, workers, (*OPERATIONS, *TOOLS))
    doors = _mounted(working)
    app = Starlette(
        routes=[
            *routes(working),
            *operations,
            *doors,
        ],
        middleware=[
            Middleware(RequestLog, working.metrics),
            Middleware(make_guard, working),
            Middleware(_Paths, [*operations, *doors]),
            Middleware(_zipped),
        ],
        exception_handlers={HTTPException: _refuse, Exception: _fail},
        lifespan=lifespan,
    )
    app.state.service = working
    return app


def _mounted(service: Service) -> list[BaseRoute]:
    """The doors that are optional: tools over MCP, and the pages."""
    mounted: list[BaseRoute] = []
    for door, needed in DOORS.items():
        # one that is there and does not work is an error
        if find_spec(needed) is not None:
            mounted += import_module(door).mount(service)
    return mounted


def _operation_routes(
    service: Service, workers: Workers, operations: Iterable[Operation]
) -> list[Route]:
    """Make a route for each path; those without parameters first, as they say more exactly."""
    paths: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        if operation.route is not None:
            # whatever its parameters are called, it is one path
            shape = re.sub(r"\{\w+\}", "{name}", operation.route.path, count=1)
            paths.setdefault(shape, {})[operation.route.method] = operation
    ordered = sorted(paths, key=lambda path: "{" in path)
    replies = Replies()
    return [Route(path, Endpoint(service, workers, replies, paths[path])) for path in ordered]


def _refuse(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise TypeError(type(error))
    if error.status_code == 404:
        error = HTTPException(
            404, f"there is no {request.url.path}\n/openapi.json has what there is"
        )
    return refusal(error, request.scope["state"].get("request_id", ""))


def _fail(request: Request, error: Exception) -> Response:
    # the server that runs the application logs the traceback
    return unexpected(request.scope["state"].get("request_id", ""))


class _Paths:
    """Keeps paths below /v1 as they were sent, and goes straight to those without parameters.

    A label may have a slash in it, as `%2F`. Routes are tried one after another, which takes longer
    than many an answer.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        # only what takes every method itself, and answers its own errors
        self._straight = {
            route.path: route.app
            for route in routes
            if isinstance(route, Route) and route.methods is None and "{" not in route.path
        }
        self._zipped = {path: _zipped(app) for path, app in self._straight.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("raw_path") or b""
        if path.startswith(b"/v1/"):
            scope["path"] = path.decode("latin-1")
        if scope["type"] == "http":
            straight = self._zipped if takes_gzip(scope) else self._straight
            await straight.get(scope["path"], self._app)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _zipped(app: ASGIApp) -> ASGIApp:
    return GZipMiddleware(app, minimum_size=LEAST_ZIPPED, compresslevel=ZIP_LEVEL)
