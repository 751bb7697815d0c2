"""Logging in and out, for web pages: `/v1/session`."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ...errors import AuthenticationError, InvalidInputError, RemloomError
from ..caller import Caller
from ..problems import problem
from .authentication import Authentication, check_page, session_cookie
from .sessions import COOKIE


class _LogIn(Struct, forbid_unknown_fields=True):
    key: str


class _Session(Struct, frozen=True):
    key_id: str
    tenant: str
    scopes: tuple[str, ...]
    expires: str | None = None


def routes(authentication: Authentication) -> list[Route]:
    """Make the routes by which a page logs in, asks who it is, and logs out."""

    async def begin(request: Request) -> Response:
        # the guard has refused pages of other origins; a form of theirs cannot send the header
        check_page("POST", request.headers, is_own=True)
        try:
            given = msgspec.json.decode(await request.body(), type=_LogIn)
        except msgspec.DecodeError as error:
            raise InvalidInputError(
                f"no key was sent: {error}", remedy='send {"key": "rlm_…"}'
            ) from None
        key, cookie = await authentication.log_in(given.key)
        end = key.expires_at.isoformat() if key.expires_at else None
        response = _json(_Session(key.id, key.tenant, key.scopes, end))
        # a proxy may have ended TLS: the page says how it was reached
        schemes = (request.url.scheme, request.headers.get("Origin", "").partition(":")[0])
        response.set_cookie(
            COOKIE,
            cookie,
            httponly=True,
            samesite="strict",
            path="/",
            secure="https" in schemes,
        )
        return response

    async def show(request: Request) -> Response:
        caller: Caller = request.state.caller
        return _json(_Session(caller.key_id, caller.tenant, tuple(sorted(caller.scopes))))

    async def end(request: Request) -> Response:
        authentication.sessions.end(session_cookie(request.headers))
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return response

    handlers = {"POST": begin, "GET": show, "HEAD": show, "DELETE": end}

    async def session(request: Request) -> Response:
        try:
            return await handlers[request.method](request)
        except AuthenticationError as error:
            headers = {"WWW-Authenticate": authentication.challenge()}
            return problem(error, request.state.request_id, headers=headers)
        except RemloomError as error:
            return problem(error, request.state.request_id)
        except ClientDisconnect:
            return Response(status_code=204)

    return [Route("/v1/session", session, methods=list(handlers))]


def _json(session: _Session) -> Response:
    return Response(msgspec.json.encode(session), media_type="application/json")
