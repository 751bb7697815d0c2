"""Connections to a server: one that waits, one for asyncio. They send the same requests."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any, TypeVar
from uuid import uuid4

import httpx
import msgspec
from httpx_sse import ServerSentEvent, aconnect_sse, connect_sse
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
    wait_random,
)

from ..errors import AuthenticationError, InvalidInputError, ServerError
from ..operations import Operation
from .plans import Plan
from .replies import (
    EVENTS,
    UNREADABLE,
    check_stream,
    is_without_tls,
    raise_problem,
    read_json,
    read_reply,
    shown,
    unreachable,
)
from .request import HttpRequest

R = TypeVar("R")


TIMEOUT = 60.0  # seconds for a reply; what may take minutes has no limit
ATTEMPTS = 4
PATIENCE = 45.0  # seconds in which all of them begin
# replies after which the same request may succeed
_BUSY = (429, 502, 503, 504)
_GROWING = wait_exponential(multiplier=0.1, max=8) + wait_random(0, 0.5)


class ServerAddress:
    """Where a server is, and what every request to it carries.

    Args:
        timeout: seconds for a reply; None: as the httpx client that was given has it.
    """

    def __init__(
        self, url: str, key: str | None, tenant: str | None, timeout: float | None
    ) -> None:
        self.url = url.rstrip("/")
        self.shown = shown(self.url)
        key = key or os.environ.get("REMLOOM_API_KEY", "")
        if not key:
            raise AuthenticationError(
                "a server wants a key",
                remedy="give key=…, or set REMLOOM_API_KEY; `remloom keys create` makes one",
            )
        if not _is_address(self.url):
            raise InvalidInputError(
                f"{self.shown!r} is not the address of a server",
                remedy='give "http://127.0.0.1:8765"',
            )
        if self.url.endswith("/v1"):
            raise InvalidInputError(
                f"{self.shown!r} is a path of a server, not its address",
                remedy=f"give {self.shown.removesuffix('/v1')!r}",
            )
        self.headers = {"authorization": f"Bearer {key}"}
        if tenant is not None:
            self.headers["x-remloom-tenant"] = tenant
        self.timeout = None if timeout is None else httpx.Timeout(timeout)

    def arguments(self, request: HttpRequest) -> dict[str, Any]:
        """Give httpx's arguments of a request.

        What writes has a key, so that sending it again after a lost reply writes nothing twice.
        """
        headers = dict(self.headers)
        is_upload = request.operation.carries == "in"
        if is_upload:
            headers["content-type"] = "application/octet-stream"
        elif request.body is not None:
            headers["content-type"] = "application/json"
        # an upload cannot be sent twice, and reading may be
        if not (is_upload or request.operation.hints.read_only):
            headers["idempotency-key"] = str(uuid4())
        wanted: dict[str, Any] = {
            "method": request.method,
            "url": self.url + request.path,
            "params": request.query or None,
            "content": request.body,
            "headers": headers,
            # a redirect would take the key to another place, and make a GET of what writes
            "follow_redirects": False,
        }
        if self.timeout is not None:
            is_long = is_upload or request.operation.is_long
            wanted["timeout"] = None if is_long else self.timeout
        return wanted


def _is_address(url: str) -> bool:
    try:
        return httpx.URL(url).scheme in ("http", "https")
    except httpx.InvalidURL:
        return False


class _Unanswered(Exception):
    """No reply, or one that says to try again."""

    def __init__(self, cause: httpx.RequestError | httpx.Response) -> None:
        self.cause = cause

    def give_up(self, url: str) -> httpx.Response:
        if isinstance(self.cause, httpx.Response):
            return self.cause
        raise unreachable(url, self.cause) from self.cause


def _checked(response: httpx.Response) -> httpx.Response:
    if response.status_code in _BUSY:
        raise _Unanswered(response)
    return response


def _may_pass(error: BaseException) -> bool:
    if not isinstance(error, _Unanswered):
        return False
    return isinstance(error.cause, httpx.Response) or not is_without_tls(error.cause)


def _pause(state: RetryCallState) -> float:
    """How long to wait before trying again: as long as the server says, if it does."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Unanswered) and isinstance(error.cause, httpx.Response):
        seconds = error.cause.headers.get("retry-after", "")
        if seconds.isdecimal():
            return float(seconds)
    return _GROWING(state)


# tenacity tells nobody of retries: what a program set up for its own stays as it is
_RETRYING: dict[str, Any] = {
    "retry": retry_if_exception(_may_pass),
    "stop": stop_after_attempt(ATTEMPTS) | stop_before_delay(PATIENCE),
    "wait": _pause,
    "reraise": True,
}


class Connection:
    """Sends requests, one after another or from many threads."""

    def __init__(self, target: ServerAddress, http: httpx.Client | None) -> None:
        self.target = target
        self._http = http or httpx.Client()
        self.close = self._http.close

    def carry_out(self, plan: Plan[R]) -> R:
        """Send what a plan asks for, until it returns."""
        with closing(plan):
            try:
                request = next(plan)
                while True:
                    request = plan.send(self.ask(request))
            except StopIteration as end:
                value: R = end.value
                return value

    def ask(self, request: HttpRequest) -> Any:
        arguments = self.target.arguments(request)
        operation = request.operation
        if not operation.carries and request.callback is None:
            return read_reply(operation, self._exchange(arguments))
        try:
            if operation.carries == "in":
                response = self._http.request(**arguments | {"content": request.stream})
                return read_reply(operation, response)
            if operation.carries == "out":
                return self._download(request, arguments)
            return self._follow(request, arguments)
        except httpx.RequestError as error:
            raise unreachable(self.target.url, error) from error

    def _exchange(self, arguments: dict[str, Any]) -> httpx.Response:
        try:
            return Retrying(**_RETRYING)(self._send, arguments)
        except _Unanswered as error:
            return error.give_up(self.target.url)

    def _send(self, arguments: dict[str, Any]) -> httpx.Response:
        try:
            return _checked(self._http.request(**arguments))
        except httpx.RequestError as error:
            raise _Unanswered(error) from error

    def _follow(self, request: HttpRequest, arguments: dict[str, Any]) -> Any:
        arguments["headers"]["accept"] = EVENTS
        with connect_sse(self._http, **arguments) as source:
            if source.response.status_code >= 400:
                source.response.read()
            check_stream(request.operation, source.response, EVENTS)
            for event in source.iter_sse():
                if _is_last(request, event):
                    return read_json(request.operation, event.data.encode())
        raise _cut_off(request.operation)

    def _download(self, request: HttpRequest, arguments: dict[str, Any]) -> None:
        with self._http.stream(**arguments) as response:
            if response.status_code >= 400:
                response.read()
            check_stream(request.operation, response, request.operation.media_type)
            for piece in response.iter_bytes():
                request.stream(piece)


class AsyncConnection:
    """Sends requests for asyncio."""

    def __init__(self, target: ServerAddress, http: httpx.AsyncClient | None) -> None:
        self.target = target
        self._http = http or httpx.AsyncClient()
        self.close = self._http.aclose

    async def carry_out(self, plan: Plan[R]) -> R:
        with closing(plan):
            try:
                request = next(plan)
                while True:
                    request = plan.send(await self.ask(request))
            except StopIteration as end:
                value: R = end.value
                return value

    async def ask(self, request: HttpRequest) -> Any:
        arguments = self.target.arguments(request)
        operation = request.operation
        if not operation.carries and request.callback is None:
            return read_reply(operation, await self._exchange(arguments))
        try:
            if operation.carries == "in":
                content = _asynchronous(request.stream)
                response = await self._http.request(**arguments | {"content": content})
                return read_reply(operation, response)
            if operation.carries == "out":
                return await self._download(request, arguments)
            return await self._follow(request, arguments)
        except httpx.RequestError as error:
            raise unreachable(self.target.url, error) from error

    async def _exchange(self, arguments: dict[str, Any]) -> httpx.Response:
        try:
            return await AsyncRetrying(**_RETRYING)(self._send, arguments)
        except _Unanswered as error:
            return error.give_up(self.target.url)

    async def _send(self, arguments: dict[str, Any]) -> httpx.Response:
        try:
            return _checked(await self._http.request(**arguments))
        except httpx.RequestError as error:
            raise _Unanswered(error) from error

    async def _follow(self, request: HttpRequest, arguments: dict[str, Any]) -> Any:
        arguments["headers"]["accept"] = EVENTS
        async with aconnect_sse(self._http, **arguments) as source:
            if source.response.status_code >= 400:
                await source.response.aread()
            check_stream(request.operation, source.response, EVENTS)
            async for event in source.aiter_sse():
                if _is_last(request, event):
                    return read_json(request.operation, event.data.encode())
        raise _cut_off(request.operation)

    async def _download(self, request: HttpRequest, arguments: dict[str, Any]) -> None:
        async with self._http.stream(**arguments) as response:
            if response.status_code >= 400:
                await response.aread()
            check_stream(request.operation, response, request.operation.media_type)
            async for piece in response.aiter_bytes():
                request.stream(piece)


async def _asynchronous(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def _is_last(request: HttpRequest, event: ServerSentEvent) -> bool:
    """Report progress; tell whether the event is the result."""
    if event.event == "progress" and request.callback is not None:
        request.callback(*_reported(event.data))
    if event.event == "error":
        raise_problem(500, event.data.encode())
    return event.event == "result"


def _reported(data: str) -> list[Any]:
    try:
        return msgspec.json.decode(data, type=list[Any])
    except UNREADABLE as error:
        raise ServerError(f"the progress that came cannot be read: {error}") from error


def _cut_off(operation: Operation) -> ServerError:
    return ServerError(
        f"the stream of {operation.name} ended before its result",
        remedy="see the jobs and runs for what became of it",
    )
