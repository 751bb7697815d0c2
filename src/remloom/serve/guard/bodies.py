"""The body of a request: how large it may be, and how long it may take to arrive."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ...errors import RemloomError, TimeLimitError, TooLargeError
from ...operations import OPERATIONS, TOOLS
from ...settings import Settings
from ..problems import problem

KIB, MIB = 1024, 1024 * 1024
LARGEST = 4 * MIB
LARGEST_READ = 64 * KIB  # of a question
UPLOADS = ("/v1/documents", "/v1/import")
UPLOAD_TIME = 10  # times as long as another body may take
_QUESTIONS = frozenset(
    one.route.path
    for one in (*OPERATIONS, *TOOLS)
    if one.route is not None and one.route.method == "POST" and one.scope == "read"
)


def limit_of(path: str, settings: Settings) -> int:
    if path in UPLOADS:
        return settings.serve_upload_mb * MIB
    return LARGEST_READ if path in _QUESTIONS else LARGEST


class LimitedBody:
    """Passes a body on as it arrives, until it is too large or takes too long.

    Then the sender is answered at once, and the application sees a client that has gone away.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, settings: Settings) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._limit = limit_of(scope["path"], settings)
        seconds = settings.serve_timeout
        self._seconds = seconds * UPLOAD_TIME if scope["path"] in UPLOADS else seconds
        self._deadline = asyncio.get_running_loop().time() + self._seconds
        self._bytes = 0
        self._is_whole = False
        self._has_begun = False  # the answer
        self._is_refused = False

    def check_length(self, headers: Headers) -> None:
        """Refuse a body that says that it is too large, before any of it is read."""
        length = headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > self._limit:
            raise self._too_large()

    async def receive(self) -> Message:
        """Give the next part of the body; once it is whole, whatever comes."""
        if self._is_refused:
            return {"type": "http.disconnect"}
        if self._is_whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            slow = TimeLimitError(
                f"the body did not arrive within {self._seconds:g} s", remedy="send it faster"
            )
            return await self._refuse(slow, 408)
        self._bytes += len(message.get("body", b""))
        if self._bytes > self._limit:
            return await self._refuse(self._too_large(), 413)
        self._is_whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if not self._is_refused:
            self._has_begun = True
            await self._send(message)

    async def _refuse(self, error: RemloomError, status: int) -> Message:
        self._is_refused = True
        if not self._has_begun:
            await self._answer(error, status)(self._scope, self._receive, self._send)
        return {"type": "http.disconnect"}

    def _answer(self, error: RemloomError, status: int) -> Response:
        # what is still under way of the body must not be taken for the next request
        close = {"Connection": "close"}
        return problem(error, self._scope["state"]["request_id"], status=status, headers=close)

    def _too_large(self) -> TooLargeError:
        size = f"{self._limit // MIB} MiB" if self._limit >= MIB else f"{self._limit // KIB} KiB"
        return TooLargeError(
            f"the body is larger than {size}",
            remedy="send less at once; files go to /v1/documents "
            "(the setting serve_upload_mb is their limit)",
        )
