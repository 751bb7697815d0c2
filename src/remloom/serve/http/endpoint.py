"""A path of the server: it reads arguments, calls the operation, and answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ...errors import AuthenticationError, RemloomError
from ...jobs import Job
from ...operations import Operation
from ..caller import Caller
from ..idempotency import Kept, Replies, may_be_kept
from ..problems import problem, refusal, unexpected
from ..service import Service
from ..workers import Workers
from .arguments import Arguments
from .events import stream_events, wants_events
from .jobs import job_kind, prefers_job, queued
from .streams import receive_stream, send_stream

_log = logging.getLogger("remloom.serve")

# after these a worker has something to do
_RINGS = ("add_job", "retry_job")


class Endpoint:
    """Answers the requests to one path: an operation for each of its methods."""

    def __init__(
        self,
        service: Service,
        workers: Workers,
        replies: Replies,
        operations: Mapping[str, Operation],
    ) -> None:
        self._service = service
        self._workers = workers
        self._replies = replies
        self._operations = {
            method: (operation, Arguments(operation)) for method, operation in operations.items()
        }
        methods = {*operations, "OPTIONS", *(["HEAD"] if "GET" in operations else [])}
        self._allow = {"Allow": ", ".join(sorted(methods))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; errors are answers, too."""
        request = Request(scope, receive)
        request_id = scope["state"].get("request_id", "")
        try:
            response = await self._respond(request)
        except RemloomError as error:
            response = problem(error, request_id)
        except HTTPException as error:
            response = refusal(error, request_id)
        except ClientDisconnect:
            # nobody is there any more to be answered
            return
        except Exception:
            _log.exception("request %s failed unexpectedly", request_id)
            response = unexpected(request_id)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        if method not in self._operations:
            if method == "OPTIONS":
                return Response(status_code=204, headers=self._allow)
            raise HTTPException(
                405,
                f"{method} is not for {request.url.path}\nuse {self._allow['Allow']}",
                headers=self._allow,
            )
        operation, arguments = self._operations[method]
        request.scope["state"]["operation"] = operation.name
        caller = caller_of(request)
        # before the body is read, so that whoever may not costs nothing
        caller.check(operation)
        key = _key_of(request, operation)
        values = await arguments.read(request)
        if operation.carries == "out":
            return await send_stream(self._service, caller, operation, values)
        if operation.carries == "in":
            service = self._service
            return answer(await receive_stream(request, service, caller, operation, values))
        if job_kind(operation) and prefers_job(request):
            return await self._queue(caller, operation, values, key)
        if operation.is_long and wants_events(request):
            work = partial(self._work, caller, operation, values, key)
            request_id = request.scope["state"].get("request_id", "")
            return stream_events(work, request_id, check=partial(check_again, request))
        if key is not None:
            once = self._replies.once(operation, caller, key)
            return _repeated(await self._service.call(caller, once, values))
        value = await self._service.call(caller, operation, values)
        if operation.name in _RINGS:
            self._workers.ring(caller.tenant)
        return answer(value)

    async def _work(
        self,
        caller: Caller,
        operation: Operation,
        values: Struct,
        key: str | None,
        progress: Callable[..., None],
    ) -> Any:
        """Do what is streamed; once, if it has a key."""
        if key is None:
            return await self._service.call(caller, operation, values, progress)
        once = self._replies.once(operation, caller, key)
        kept = await self._service.call(caller, once, values, progress)
        return msgspec.Raw(kept.body or b"null")

    async def _queue(
        self, caller: Caller, operation: Operation, values: Struct, key: str | None
    ) -> Response:
        adding, is_repeated = queued(operation), False
        if key is None:
            job = await self._service.call(caller, adding, values)
        else:
            once = self._replies.once(adding, caller, key, manner="job")
            kept = await self._service.call(caller, once, values)
            job, is_repeated = msgspec.json.decode(kept.body, type=Job), kept.is_repeated
        self._workers.ring(caller.tenant)
        headers = {
            "Location": f"/v1/jobs/{quote(job.id, safe='')}",
            "Preference-Applied": "respond-async",
            **_replayed(is_repeated),
        }
        body = msgspec.json.encode(job)
        return Response(body, 202, headers=headers, media_type="application/json")


def caller_of(request: Request) -> Caller:
    """Give who calls, as the guard has found out.

    Raises:
        AuthenticationError: no guard has let the request through.
    """
    caller = request.scope["state"].get("caller")
    if not isinstance(caller, Caller):
        raise AuthenticationError("this needs a key", remedy="send Authorization: Bearer rlm_…")
    return caller


async def check_again(request: Request) -> None:
    """Check, while an answer lasts, that whoever asked for it still may.

    Raises:
        AuthenticationError: the key was revoked, or has ended.
    """
    check = request.scope["state"].get("check_again")
    if check is not None:
        await check()


def _key_of(request: Request, operation: Operation) -> str | None:
    """Give the key of a write; what only reads needs none.

    Raises:
        HTTPException: a write has one whose reply is not kept: sent again, it would be done again.
    """
    key = request.headers.get("idempotency-key")
    if key is None or may_be_kept(operation):
        return key
    if request.method not in ("GET", "HEAD") and not operation.hints.read_only:
        raise HTTPException(
            400, f"Idempotency-Key is not for {operation.name}\nsend the request without it, once"
        )
    return None


def answer(value: Any) -> Response:
    """Answer with a value as JSON; with nothing where there is none."""
    if value is None:
        return Response(status_code=204)
    return Response(msgspec.json.encode(value), media_type="application/json")


def _repeated(kept: Kept) -> Response:
    """Answer with a reply that may have been given before."""
    headers = _replayed(kept.is_repeated)
    if not kept.body:
        return Response(status_code=204, headers=headers)
    return Response(kept.body, headers=headers, media_type="application/json")


def _replayed(is_repeated: bool) -> dict[str, str]:
    return {"Idempotent-Replayed": "true"} if is_repeated else {}
