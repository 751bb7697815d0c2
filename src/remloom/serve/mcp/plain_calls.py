"""Plain calls of tools: answered without what the SDK builds for each request.

It makes a session, its streams and tasks, and looks at every value three times, which takes longer
than most tools. What a client sends around its calls is the same from one to the next: once the
SDK has taken it, calls with the same around them are answered here, as the SDK would.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from mcp.server.lowlevel import Server
from mcp_types import SERVER_INFO_META_KEY
from msgspec import UNSET, Raw, Struct, field
from msgspec.structs import replace
from starlette.types import Message, Scope, Send

from ...operations import Operation
from ...telemetry import is_traced
from ..caller import Caller
from ..service import Service
from .tools import ToolOutcome, call_tool

MOST_KNOWN = 1_000  # ways to call that are known
LONGEST = 4_096  # bytes of what stands around a call
_VERSION = b"mcp-protocol-version"
# whose results are sent as they are, and those that say more of themselves
_HANDSHAKE = (b"2025-06-18", b"2025-11-25")
_STATELESS = b"2026-07-28"
# what the SDK decides by
_DECIDING = (b"accept", b"content-type", b"last-event-id")


class _Params(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}
    meta: Raw = field(default=Raw(b""), name="_meta")


class _Request(Struct, frozen=True, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal["tools/call"]
    params: _Params


class _Reply(Struct):
    result: Raw = Raw(b"")


class PlainCall(Struct, frozen=True):
    """A call that asks for nothing but its result."""

    id: int | str
    operation: Operation
    arguments: Mapping[str, Any]
    is_stateless: bool
    around: bytes  # what is the same from call to call


class PlainCalls:
    """Answers the plain calls of clients that call as the SDK has taken it before."""

    def __init__(self, service: Service, server: Server[Any], tools: Mapping[str, Operation]):
        self._service, self._tools = service, tools
        self._decoder = msgspec.json.Decoder(_Request)
        self._stamp = {SERVER_INFO_META_KEY: server.server_info_stamp}
        self._known: dict[bytes, None] = {}

    def read(self, scope: Scope, body: bytes) -> PlainCall | None:
        """Read a request; None for what is anything else than a plain call of a tool."""
        if scope["method"] != "POST" or is_traced():
            return None
        try:
            request = self._decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        headers = [one for one in scope["headers"] if _is_deciding(one[0])]
        version = next((value for name, value in headers if name == _VERSION), b"")
        operation = self._tools.get(request.params.name)
        if operation is None or operation.is_long:
            return None
        if version != _STATELESS and version not in _HANDSHAKE:
            return None
        lines = [b"%b: %b" % header for header in headers]
        around = b"\n".join([*lines, operation.name.encode(), bytes(request.params.meta)])
        return PlainCall(
            request.id, operation, request.params.arguments, version == _STATELESS, around
        )

    def is_known(self, call: PlainCall) -> bool:
        """Whether the SDK has taken one with the same around it."""
        return call.around in self._known

    def know(self, call: PlainCall) -> None:
        if len(call.around) <= LONGEST:
            if len(self._known) >= MOST_KNOWN:
                # the one that was there first
                self._known.pop(next(iter(self._known)))
            self._known[call.around] = None

    async def answer(self, caller: Caller, call: PlainCall) -> bytes:
        """Do a call that is known, and write its answer."""
        outcome = await call_tool(self._service, caller, call.operation, call.arguments)
        if call.is_stateless:
            meta = {} if outcome.meta is UNSET else outcome.meta
            outcome = replace(outcome, kind="complete", meta={**meta, **self._stamp})
        return _written(call.id, outcome)


class TakenCall:
    """Passes the answer of the SDK on, and finds out whether it has taken a call."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._status = 0
        self._body = b""

    async def send(self, message: Message) -> None:
        self._status = message.get("status", self._status)
        self._body += message.get("body", b"")
        await self._send(message)

    @property
    def is_taken(self) -> bool:
        """Whether the answer is a result, and no error of the protocol."""
        if self._status != 200:
            return False
        try:
            return bool(bytes(msgspec.json.decode(self._body, type=_Reply).result))
        except msgspec.DecodeError:
            return False


def _is_deciding(name: bytes) -> bool:
    return name.startswith(b"mcp-") or name in _DECIDING


def _written(id: int | str, outcome: ToolOutcome) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": outcome})
