"""MCP over streamable HTTP, at `/mcp`: both protocol revisions, without sessions."""

from __future__ import annotations

from collections import deque
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from ...errors import AuthenticationError
from ...operations import Toolset, choose_tools
from ..caller import Caller
from ..problems import refusal
from ..service import Service
from .plain_calls import PlainCalls, TakenCall
from .server import make_server

MOST_BYTES = 4 * 1024 * 1024  # of a request
_PROGRESS = b'"progressToken"'
# the guard, which stands before all routes, has looked at host and origin
_UNGUARDED = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def mount(service: Service, toolset: Toolset = "default") -> list[BaseRoute]:
    """Make the routes of MCP. The guard has put the caller into the state of a request."""
    return [Route("/mcp", _Endpoint(service, toolset))]


class _Endpoint:
    """Answers each request on its own: nothing is kept from one to the next."""

    def __init__(self, service: Service, toolset: Toolset) -> None:
        self._server = make_server(service, _caller_of, toolset)
        tools = choose_tools(toolset, has_model=bool(service.settings.llm_model))
        self._plain = PlainCalls(service, self._server, tools)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await _only_posted(scope)(scope, receive, send)
            return
        begun, receive = await _begun(receive)
        call = self._plain.read(scope, begun)
        caller = scope.get("state", {}).get("caller")
        if call is None or not isinstance(caller, Caller):
            await self._answer(begun, scope, receive, send)
        elif self._plain.is_known(call):
            scope["state"]["operation"] = call.operation.name
            body = await self._plain.answer(caller, call)
            await Response(body, media_type="application/json")(scope, receive, send)
        else:
            taken = TakenCall(send)
            await self._answer(begun, scope, receive, taken.send)
            if taken.is_taken:
                self._plain.know(call)

    async def _answer(self, begun: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        # one for each request: it then needs no lifespan of the application around it
        manager = StreamableHTTPSessionManager(
            self._server,
            # who asks for progress is answered with a stream, everybody else with one JSON
            json_response=_PROGRESS not in begun,
            stateless=True,
            security_settings=_UNGUARDED,
            max_request_body_size=MOST_BYTES,
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)


def _only_posted(scope: Scope) -> Response:
    """Refuse a stream to be pushed to, and the end of a session: there is neither."""
    error = HTTPException(
        405,
        f"{scope['method']} is not for /mcp: each request is answered on its own"
        "\nsend messages by POST",
        headers={"Allow": "POST"},
    )
    return refusal(error, scope.get("state", {}).get("request_id", ""))


async def _begun(receive: Receive) -> tuple[bytes, Receive]:
    """Read a body, or as much of it as may be sent; give it, and a `receive` that has all of it."""
    messages: deque[Message] = deque()
    body = b""
    more = True
    while more and len(body) <= MOST_BYTES:
        messages.append(await receive())
        body += messages[-1].get("body", b"")
        more = messages[-1].get("more_body", False)

    async def again() -> Message:
        return messages.popleft() if messages else await receive()

    return body, again


def _caller_of(context: ServerRequestContext[Any, Any]) -> Caller:
    state = context.request.scope.get("state", {}) if context.request is not None else {}
    caller = state.get("caller")
    if not isinstance(caller, Caller):
        # fails closed: without the guard nobody is let in
        raise AuthenticationError("this request has no key", remedy="send Authorization: Bearer …")
    return caller
