"""Tools: operations as MCP lists and calls them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from msgspec import UNSET, Struct, UnsetType, field

from ...errors import RemloomError
from ...operations import TOOLS, Operation, Progress
from ...text.quoting import cleaned, escaped
from ..caller import Caller
from ..problems import hide_paths, without_paths
from ..service import Service
from .lenient import take
from .schemas import WRAPPED, input_schema, is_wrapped, output_schema

META = "dev.remloom/"  # before the names of what we put into `_meta`
_LONGEST = 60  # characters of the description of an operation, where a tool has more
_log = logging.getLogger(__name__)


def tools_of(operations: Iterable[Operation]) -> list[Tool]:
    return [
        Tool(
            name=one.name,
            description=one.description if one in TOOLS else _shortened(one.description),
            input_schema=input_schema(one),
            # those of all other operations, which are many and large, stand in OpenAPI
            output_schema=output_schema(one) if one in TOOLS else None,
            annotations=_annotations(one),
        )
        for one in operations
    ]


def _shortened(description: str) -> str:
    """Give the first sentences of a description; OpenAPI and the documentation have all of it."""
    shown, *rest = re.split(r"(?<=[.]) ", description)
    for sentence in rest:
        if len(shown) + len(sentence) > _LONGEST:
            break
        shown += f" {sentence}"
    return shown


def _annotations(operation: Operation) -> ToolAnnotations:
    """Say how careful to be, where that is not what MCP takes for granted."""
    hints = operation.hints
    if hints.read_only:
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(
        destructive_hint=hints.destructive,
        idempotent_hint=True if hints.idempotent else None,
        open_world_hint=False,
    )


class Text(Struct, frozen=True, tag="text", tag_field="type"):
    text: str


class ToolOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of the call of a tool, as MCP sends it."""

    content: list[Text]
    is_error: bool = field(name="isError")
    structured: Any = field(default=UNSET, name="structuredContent")
    meta: dict[str, Any] | UnsetType = field(default=UNSET, name="_meta")
    # not before revision 2026-07-28
    kind: str | UnsetType = field(default=UNSET, name="resultType")


def as_result(outcome: ToolOutcome) -> CallToolResult:
    structured = None if outcome.structured is UNSET else outcome.structured
    return CallToolResult(
        content=[TextContent(type="text", text=part.text) for part in outcome.content],
        structured_content=msgspec.to_builtins(structured, str_keys=True),
        is_error=outcome.is_error,
        _meta=None if outcome.meta is UNSET else outcome.meta,
    )


async def call_tool(
    service: Service,
    caller: Caller,
    operation: Operation,
    arguments: Mapping[str, Any],
    progress: Progress | None = None,
) -> ToolOutcome:
    """Call a tool; what goes wrong is told as the text of an error, which a model can mend."""
    try:
        # a caller who may not call it learns nothing of its arguments
        caller.check(operation)
        values, left_out = take(operation, arguments)
        value = await service.call(caller, operation, values, progress)
    except RemloomError as error:
        return _failed(error_text(error), without_paths(error))
    except Exception as error:
        # the traceback is for the log; it may have paths of the server in it
        _log.exception("the tool %s failed", operation.name)
        return _failed(f"{operation.name} failed: {type(error).__name__}", {})
    # what has no text of its own is told as JSON, which quotes all of it
    text = operation.text(value) if operation.text else _json(value)
    nothing: dict[str, Any] = {}
    return ToolOutcome(
        content=[Text(text or "Done.")],
        is_error=False,
        structured={WRAPPED: value} if is_wrapped(operation) else value or nothing,
        meta={f"{META}left_out": left_out} if left_out else UNSET,
    )


def error_text(error: RemloomError) -> str:
    """Write an error as a model reads it, without what is the server's own business."""
    # some write more than their message, such as where in a query they are
    return cleaned(hide_paths(error, str(error)))


def _json(value: Any) -> str:
    return escaped(msgspec.json.encode(value).decode())


def _failed(text: str, fields: dict[str, Any]) -> ToolOutcome:
    return ToolOutcome(
        content=[Text(text)], is_error=True, meta={f"{META}error": fields} if fields else UNSET
    )
