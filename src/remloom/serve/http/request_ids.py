"""An id for each request, by which its answer, the log and the audit name it."""

from __future__ import annotations

import re
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["RequestIds"]

HEADER = "X-Request-Id"
# of a caller's own id; anything else could write lines into logs
_SAFE = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestIds:
    """Gives each request the id that it came with, or a new one, and sends it back.

    `scope["state"]["request_id"]` has it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and name it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "").strip()
        request_id = given if _SAFE.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        await self._app(scope, receive, named)
