"""Resources: records by their labels, the dialect on one page, what the memory holds and its own
schemas."""

from __future__ import annotations

from importlib.resources import files
from urllib.parse import unquote

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from ...errors import RemloomError
from ...operations import Operation
from ...operations.tools.show import SHOW
from ...text.quoting import escaped
from ..caller import Caller
from ..service import Service
from .tools import error_text

_DIALECT = "memory://dialect"
_STATS = "memory://stats"
_SCHEMAS = "memory://schemas"
_RECORD = "memory://record/"

RESOURCES = [
    Resource(
        uri=_DIALECT,
        name="dialect",
        description="The language of `query` on one page.",
        mime_type="text/markdown",
    ),
    Resource(
        uri=_STATS,
        name="stats",
        description="How much is remembered.",
        mime_type="application/json",
    ),
    Resource(
        uri=_SCHEMAS,
        name="schemas",
        description="Tables of the user's own: their fields and edges, for `query`.",
        mime_type="application/json",
    ),
]
TEMPLATES = [
    ResourceTemplate(
        uri_template=_RECORD + "{label}",
        name="record",
        description="All that is known of one thing, by its name or id.",
        mime_type="text/plain",
    )
]


async def read_resource(service: Service, caller: Caller, uri: str) -> ReadResourceResult:
    """Read a resource.

    Raises:
        MCPError: there is none, or the caller may not read it.
    """
    try:
        text, mime_type = await _read(service, caller, uri)
    except RemloomError as error:
        raise MCPError(INVALID_PARAMS, error_text(error), {"uri": uri}) from None
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return ReadResourceResult(contents=[contents])


async def _read(service: Service, caller: Caller, uri: str) -> tuple[str, str]:
    if uri == _DIALECT:
        return files(__package__).joinpath("dialect.md").read_text("utf-8"), "text/markdown"
    if uri in (_STATS, _SCHEMAS):
        asked = _operation("stats" if uri == _STATS else "list_schemas")
        value = await service.call(caller, asked, asked.takes())
        return escaped(msgspec.json.encode(value).decode()), "application/json"
    if uri.startswith(_RECORD) and len(uri) > len(_RECORD):
        values = SHOW.takes(what=unquote(uri.removeprefix(_RECORD)))
        value = await service.call(caller, SHOW, values)
        return SHOW.text(value) if SHOW.text else "", "text/plain"
    raise MCPError(INVALID_PARAMS, f"there is no resource {uri}", {"uri": uri})


def _operation(name: str) -> Operation:
    from ...operations import OPERATIONS  # made when they are first asked for

    return next(one for one in OPERATIONS if one.name == name)
