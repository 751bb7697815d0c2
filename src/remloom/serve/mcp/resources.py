"""Resources (records, the dialect, what the memory holds) and the prompt `context`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from urllib.parse import unquote

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from ...errors import RemloomError
from ...operations import Operation
from ...operations.tools.lookup import SHOW
from ...operations.tools.recall import RECALL
from ...text.quoting import escaped
from ..caller import Caller
from ..service import Service
from .lenient import take
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
        operation = _operation("stats" if uri == _STATS else "list_schemas")
        value = await service.call(caller, operation, operation.takes())
        return escaped(msgspec.json.encode(value).decode()), "application/json"
    if uri.startswith(_RECORD) and len(uri) > len(_RECORD):
        values = SHOW.takes(what=unquote(uri.removeprefix(_RECORD)))
        value = await service.call(caller, SHOW, values)
        return SHOW.text(value) if SHOW.text else "", "text/plain"
    raise MCPError(INVALID_PARAMS, f"there is no resource {uri}", {"uri": uri})


def _operation(name: str) -> Operation:
    from ...operations import OPERATIONS  # made when they are first asked for

    return next(one for one in OPERATIONS if one.name == name)


_DESCRIPTION = "What is remembered of a question, quoted with sources, and the question."

PROMPTS = [
    Prompt(
        name="context",
        description=_DESCRIPTION,
        arguments=[PromptArgument(name="question", description="what is asked", required=True)],
    )
]


async def get_prompt(
    service: Service, caller: Caller, name: str, arguments: Mapping[str, str]
) -> GetPromptResult:
    if name != PROMPTS[0].name:
        raise MCPError(INVALID_PARAMS, f"there is no prompt {name!r}; there is 'context'")
    try:
        values, _ = take(RECALL, arguments)
        recalled = await service.call(caller, RECALL, values)
    except RemloomError as error:
        raise MCPError(INVALID_PARAMS, error_text(error)) from None
    known = RECALL.text(recalled) if RECALL.text else ""
    text = f"{known}\n\nThe question: {arguments['question']}"
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=_DESCRIPTION, messages=[message])
