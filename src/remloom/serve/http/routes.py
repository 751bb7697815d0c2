"""Routes besides the operations: health, metrics, the tools, a job's events, sessions, OAuth."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import msgspec
from anyio import to_thread
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...errors import AuthenticationError, InvalidInputError, RemloomError, StoreError
from ...jobs import Job
from ...memory.home import Home
from ...model import TenantInfo
from ...operations import OPERATIONS, TOOLS
from ..caller import Caller
from ..guard.authentication import COOKIE, Authentication, check_page, session_cookie
from ..guard.oauth import METADATA
from ..metrics import CONTENT_TYPE
from ..problems import problem
from ..service import Service
from . import openapi
from .endpoint import answer, caller_of, check_again
from .events import follow_job


class _LogIn(Struct, forbid_unknown_fields=True):
    key: str


class _Session(Struct, frozen=True):
    key_id: str
    tenant: str
    scopes: tuple[str, ...]
    expires: str | None = None


def routes(service: Service) -> list[Route]:
    """Make the routes of a service besides those of operations."""

    async def metrics(request: Request) -> Response:
        # it asks the memories that are open
        text = await to_thread.run_sync(service.metrics.render)
        return Response(text, headers={"content-type": CONTENT_TYPE})

    async def metadata(request: Request) -> Response:
        tokens = service.authentication.tokens
        if tokens is None:
            raise HTTPException(404)
        return JSONResponse(tokens.metadata())

    return [
        *_health_routes(service),
        Route("/metrics", metrics),
        _session_route(service.authentication),
        # clients look below the path of the resource first
        Route(METADATA, metadata),
        Route(METADATA + "/{resource:path}", metadata),
        Route("/openapi.json", _describe),
        Route("/v1/tools", list_tools),
        _job_route(service),
    ]


async def _describe(request: Request) -> Response:
    # written when it is first asked for
    body = await to_thread.run_sync(openapi.write)
    return Response(body, media_type="application/json")


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


def _health_routes(service: Service) -> list[Route]:
    """`/health/live` does no work at all, `/health/ready` opens the home."""
    home = Home(service.settings.home, key=service.settings.key or None)
    folder = None if "://" in service.settings.home else Path(service.settings.home).expanduser()
    # one that was never there is made with the first tenant
    was_there = folder is not None and folder.is_dir()

    def tenants_of_home() -> list[TenantInfo]:
        nonlocal was_there
        is_there = folder is not None and folder.is_dir()
        if was_there and not is_there:
            raise StoreError(
                "the home's folder is gone", remedy="mount it again, or move it back; then restart"
            )
        was_there = is_there
        return home.tenants()

    async def live(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(request: Request) -> Response:
        try:
            tenants = await to_thread.run_sync(tenants_of_home)
        except (RemloomError, OSError) as error:
            reason = error if isinstance(error, RemloomError) else StoreError("no home to open")
            return problem(reason, request.state.request_id, status=503)
        return JSONResponse({"status": "ok", "tenants": len(tenants)})

    return [Route("/health/live", live), Route("/health/ready", ready)]


def _job_route(service: Service) -> Route:
    get_job = next(one for one in OPERATIONS if one.name == "get_job")

    async def follow(request: Request) -> Response:
        request_id = request.scope["state"].get("request_id", "")
        values = get_job.takes(id=unquote(request.path_params["id"]))

        async def look(*, is_noted: bool = False) -> Job:
            await check_again(request)
            caller = caller_of(request)
            job: Job = await service.call(caller, get_job, values, is_noted=is_noted)
            return job

        try:
            # whether there is one is said before the stream begins; to follow it is one call
            await look(is_noted=True)
        except RemloomError as error:
            return problem(error, request_id)
        return follow_job(look, request_id)

    return Route("/v1/jobs/{id}/events", follow, methods=["GET"])


def _session_route(authentication: Authentication) -> Route:
    """The route by which a page logs in, asks who it is, and logs out."""

    async def begin(request: Request) -> Response:
        # the guard has refused pages of other origins; a form of theirs cannot send the header
        check_page("POST", request.headers, is_own=True)
        try:
            log_in = msgspec.json.decode(await request.body(), type=_LogIn)
        except msgspec.DecodeError as error:
            raise InvalidInputError(
                f"no key was sent: {error}", remedy='send {"key": "rlm_…"}'
            ) from None
        key, cookie = await authentication.log_in(log_in.key)
        end = key.expires_at.isoformat() if key.expires_at else None
        response = answer(_Session(key.id, key.tenant, key.scopes, end))
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
        return answer(_Session(caller.key_id, caller.tenant, tuple(sorted(caller.scopes))))

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

    return Route("/v1/session", session, methods=list(handlers))
