"""Prompts: what is remembered of a question, to be put before it."""

from __future__ import annotations

from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from ...errors import RemloomError
from ...operations.tools.recall import RECALL
from ..caller import Caller
from ..service import Service
from .lenient import take
from .tools import error_text

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
    """Fill in a prompt.

    Raises:
        MCPError: there is none of this name, its question is missing, or the caller may not.
    """
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
