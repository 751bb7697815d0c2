"""Each request: its id, one line of a log, and one count. Nothing of its content is in them."""

from __future__ import annotations

import logging
import re
import secrets
from time import perf_counter
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..metrics import ServerMetrics

LOGGER = logging.getLogger("remloom.requests")
_UNMATCHED = "(none)"
_HEADER = b"x-request-id"
# of a caller's own id; anything else could write lines into logs
_SAFE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class RequestLog:
    """ASGI middleware: names, logs and counts requests, also what never came to an end.

    Each has the id that it came with, or a new one, which is sent back: `request_id` of the scope's
    state. It stands outside of the guard, so that what is refused is counted too, and reads what
    others leave in that state: `caller`, `operation`.
    """

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        state: dict[str, Any] = scope.setdefault("state", {})
        state["request_id"] = request_id = _id_of(scope)
        # what a client that goes away, or an error that nobody caught, leaves behind
        status = 499

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (_HEADER, request_id.encode()),
                ]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except Exception:
            status = 500
            raise
        finally:
            self._metrics.request(_route_of(scope), status)
            if LOGGER.isEnabledFor(logging.INFO):
                LOGGER.info("%s", _line(scope["method"], state, status, perf_counter() - began))


def log_as_json() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


def _id_of(scope: Scope) -> str:
    """The id that a request came with, if it is one, or a new one."""
    sent = next((value for name, value in scope["headers"] if name == _HEADER), b"").strip()
    return sent.decode() if _SAFE_ID.fullmatch(sent) else secrets.token_hex(16)


def _route_of(scope: Scope) -> str:
    """Name what was asked for; never the path itself, which anybody can make up."""
    endpoint = scope.get("endpoint")
    return str(scope["state"].get("operation") or getattr(endpoint, "__name__", _UNMATCHED))


def _line(method: str, state: dict[str, Any], status: int, seconds: float) -> str:
    caller = state.get("caller")
    shown = {
        "request_id": state.get("request_id", ""),
        "key_id": getattr(caller, "key_id", ""),
        "tenant": getattr(caller, "tenant", ""),
        "operation": state.get("operation", ""),
        "method": method,
        "status": status,
        "ms": round(seconds * 1000, 2),
    }
    return msgspec.json.encode(shown).decode()
