"""Where a client learns which issuer gives out access tokens, as RFC 9728 has it."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .authentication import Authentication
from .oauth import METADATA


def routes(authentication: Authentication) -> list[Route]:
    """Make the routes of the metadata; there is none where no issuer is set up."""

    async def metadata(request: Request) -> Response:
        if authentication.tokens is None:
            raise HTTPException(404)
        return JSONResponse(authentication.tokens.metadata())

    # clients look below the path of the resource first
    return [Route(METADATA, metadata), Route(METADATA + "/{resource:path}", metadata)]
