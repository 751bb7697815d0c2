"""The tools of agents as functions to call over plain HTTP: `/v1/tools`."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...errors import RemloomError
from ...operations import TOOLS
from ..problems import problem
from .endpoint import answer, caller_of


async def list_tools(request: Request) -> Response:
    """Answer with the tools that the caller may call: name, description, JSON schema."""
    try:
        caller = caller_of(request)
    except RemloomError as error:
        return problem(error, request.scope["state"].get("request_id", ""))
    return answer(
        [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": msgspec.json.schema(tool.takes),
            }
            for tool in TOOLS
            if caller.may(tool)
        ]
    )
