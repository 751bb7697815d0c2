"""The guard before every door: REST, MCP and the pages are behind it alike.

Whatever it cannot decide it refuses: a route that is not listed as open needs a key, whether or not
anybody thought of it.
"""

from __future__ import annotations

from functools import partial

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...errors import AuthenticationError, ForbiddenError, InvalidInputError, RemloomError
from ..caller import Caller
from ..problems import problem
from ..service import Service
from .bodies import LimitedBody
from .origins import Origins
from .rate import RateLimit
from .sent_headers import SentHeaders

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
        """Handle a request, or refuse it."""
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
        headers = SentHeaders(scope)
        body = LimitedBody(scope, receive, self._secured(send, headers), self._settings)
        try:
            self._check_place(headers)
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

    def _check_place(self, headers: Headers) -> None:
        """Check which host the request names, and which page it comes from."""
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
        """Find who calls, and count the call."""
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
        """Whether a browser asks whether a page of another origin may call."""
        return (
            method == "OPTIONS"
            and "Access-Control-Request-Method" in headers
            and self._origins.is_listed(headers.get("Origin", ""))
        )

    def _secured(self, send: Send, headers: Headers) -> Send:
        """Give a `send` that adds the headers that every answer has."""
        origin = headers.get("Origin", "")
        is_listed = self._origins.is_listed(origin)

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = given = list(message.get("headers", ()))
                there = {name.lower() for name, _ in given}
                given += [header for header in _SECURITY_HEADERS if header[0] not in there]
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
