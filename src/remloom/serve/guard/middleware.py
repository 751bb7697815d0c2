"""The guard before REST, MCP and the pages: what it cannot decide it refuses."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...errors import (
    AuthenticationError,
    ForbiddenError,
    InvalidInputError,
    LimitError,
    RemloomError,
)
from ..caller import Caller
from ..problems import problem
from ..service import Service
from .bodies import LimitedBody
from .origins import Origins

# open to everybody: nothing of any memory is in them
OPEN_PATHS = frozenset(("/", "/ui", "/health/live", "/openapi.json"))
OPEN_FOLDERS = ("/ui/", "/.well-known/oauth-protected-resource")
LOG_IN = ("POST", "/v1/session")
METRICS = "/metrics"

SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# as they are sent
_SECURITY_HEADERS = [
    (name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()
]
# what a page of a listed origin may send and read
_SENT = (
    "Accept, Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Mcp-Method, Mcp-Name, "
    "MCP-Protocol-Version, Mcp-Session-Id, Prefer, Traceparent, X-Remloom-Tenant, X-Request-Id"
)
_READ = "Location, Mcp-Session-Id, Retry-After, WWW-Authenticate, X-Request-Id"


class Guard:
    """Lets a request through to the application, with a `Caller` in `scope["state"]["caller"]`.

    What lasts awaits `scope["state"]["check_again"]`: it raises once the caller's key has ended.

    Raises:
        SettingsError: what it is to allow cannot be understood.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._settings = service.settings
        self._authentication = service.authentication
        self._origins = Origins(service.settings)
        self._rate = RateLimit(service.settings.serve_rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # there is none that is served
            await send({"type": "websocket.close", "code": 1008})
            return
        # some servers leave blanks at the ends of values
        stripped = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": stripped}
        state = scope.setdefault("state", {})
        state.setdefault("request_id", "")
        headers = Headers(scope=scope)
        body = LimitedBody(scope, receive, self._secured(send, headers), self._settings)
        try:
            self._check_addresses(headers)
            body.check_length(headers)
            if self._is_preflight(scope["method"], headers):
                await _preflight(scope, receive, body.send)
                return
            if not is_open(scope["method"], scope["path"]):
                is_own = self._is_own(headers)
                state["caller"] = await self._caller(scope, headers, is_own=is_own)
                state["check_again"] = partial(
                    self._authentication.caller, scope["method"], headers, is_own=is_own
                )
        except RemloomError as error:
            await self._refuse(error, state["request_id"])(scope, receive, body.send)
            return
        await self._app(scope, body.receive, body.send)

    def _check_addresses(self, headers: Headers) -> None:
        hosts = headers.getlist("Host")
        if len(hosts) != 1:
            raise InvalidInputError("a request names one host", remedy="send one Host header")
        self._origins.check_host(hosts[0])
        for origin in headers.getlist("Origin"):
            self._origins.check_origin(origin, hosts[0])

    def _is_own(self, headers: Headers) -> bool:
        """Whether a request does not come from a page of another origin."""
        origin = headers.get("Origin", "")
        return not origin or self._origins.is_own(origin, headers["Host"])

    async def _caller(self, scope: Scope, headers: Headers, *, is_own: bool) -> Caller:
        caller = await self._authentication.caller(scope["method"], headers, is_own=is_own)
        self._rate.take(caller.key_id)
        if scope["path"] == METRICS and "metrics" not in caller.scopes and not caller.of_home:
            raise ForbiddenError(
                "this key may not read metrics: it has no scope 'metrics'",
                remedy="make one with it: remloom keys create NAME --scopes metrics",
                scope="metrics",
            )
        return caller

    def _refuse(self, error: RemloomError, request_id: str) -> Response:
        if isinstance(error, AuthenticationError):
            challenge = self._authentication.challenge()
            return problem(error, request_id, headers={"WWW-Authenticate": challenge})
        return problem(error, request_id)

    def _is_preflight(self, method: str, headers: Headers) -> bool:
        return (
            method == "OPTIONS"
            and "Access-Control-Request-Method" in headers
            and self._origins.is_listed(headers.get("Origin", ""))
        )

    def _secured(self, send: Send, headers: Headers) -> Send:
        origin = headers.get("Origin", "")
        is_listed = self._origins.is_listed(origin)

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = sent_headers = list(message.get("headers", ()))
                there = {name.lower() for name, _ in sent_headers}
                sent_headers += [header for header in _SECURITY_HEADERS if header[0] not in there]
                if is_listed:
                    sent = MutableHeaders(scope=message)
                    sent["Access-Control-Allow-Origin"] = origin
                    sent["Access-Control-Expose-Headers"] = _READ
                    sent["Cross-Origin-Resource-Policy"] = "cross-origin"
                    sent.add_vary_header("Origin")
            await send(message)

        return secured


def is_open(method: str, path: str) -> bool:
    """Whether a request needs no key.

    >>> is_open("GET", "/ui/app.js"), is_open("GET", "/v1/stats"), is_open("POST", "/ui/")
    (True, False, False)
    """
    if (method, path) == LOG_IN:
        return True
    return method in ("GET", "HEAD") and (path in OPEN_PATHS or path.startswith(OPEN_FOLDERS))


async def _preflight(scope: Scope, receive: Receive, send: Send) -> None:
    allowed = {
        "Access-Control-Allow-Headers": _SENT,
        "Access-Control-Allow-Methods": "DELETE, GET, PATCH, POST, PUT",
        "Access-Control-Max-Age": "600",
    }
    await Response(status_code=204, headers=allowed)(scope, receive, send)


BURST = 10.0  # seconds' worth of calls that may come at once
MOST_KEYS = 10_000  # whose buckets are kept


class RateLimit:
    """Counts the calls of each key."""

    def __init__(self, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        # calls left, and when that was so; the ones used longest ago first
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key_id: str) -> None:
        if self._rate <= 0:
            return
        most = max(1.0, self._rate * BURST)
        now = self._clock()
        left, since = self._buckets.pop(key_id, (most, now))
        left = min(most, left + (now - since) * self._rate)
        if left >= 1:
            self._keep(key_id, (left - 1, now))
            return
        self._keep(key_id, (left, now))
        wait = math.ceil((1 - left) / self._rate)
        raise LimitError(
            f"more than {self._rate:g} calls a second with one key",
            remedy=f"try again in {wait} s; the setting serve_rate is the limit",
            retry_after=wait,
        )

    def _keep(self, key_id: str, bucket: tuple[float, float]) -> None:
        self._buckets[key_id] = bucket
        if len(self._buckets) > MOST_KEYS:
            self._buckets.popitem(last=False)
