"""A path of the server: it reads arguments, calls the operation or queues it, and answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse
from starlette.types import Receive, Scope, Send

from ...errors import AuthenticationError, ChangedError, RemloomError
from ...jobs import Job
from ...memory.memory import Memory
from ...operations import Operation, Progress
from ..caller import Caller
from ..idempotency import Kept, Replies, may_be_kept
from ..problems import problem, refusal, unexpected
from ..service import Service
from ..workers import Workers
from .arguments import Arguments
from .conditions import RequestConditions, conditional, etag, has_tag
from .events import stream_events, wants_events
from .streams import receive_stream, send_stream

_log = logging.getLogger("remloom.serve")

LEAST_ZIPPED = 1_000  # bytes of an answer that is compressed

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
        self._read = operations.get("GET")
        methods = {*operations, "OPTIONS", *(["HEAD"] if "GET" in operations else [])}
        self._allow = {"Allow": ", ".join(sorted(methods))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        request_id = scope["state"].get("request_id", "")
        try:
            response = await self._respond(request)
        except RemloomError as error:
            is_condition = isinstance(error, ChangedError) and has_conditions(request)
            response = problem(error, request_id, status=412 if is_condition else None)
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
        # before the body is read: a caller who may not costs nothing
        caller.check(operation)
        key = _key_of(request, operation)
        conditions = RequestConditions.of(request.headers)
        operation = conditional(operation, self._read, conditions)
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
        reply = await self._do(caller, operation, values, key, manner=str(conditions or ""))
        if operation.name in _RINGS:
            self._workers.ring(caller.tenant)
        return self._tagged(request, operation, values, reply, conditions)

    def _tagged(
        self,
        request: Request,
        operation: Operation,
        values: Struct,
        reply: JsonReply,
        conditions: RequestConditions | None,
    ) -> Response:
        """Answer with the entity tag of a record, or that it is known already."""
        is_now = getattr(values, "as_of", None) is None
        if not (reply.revision and is_now and has_tag(operation, self._read)):
            return reply.response()
        is_zipped = takes_gzip(request.scope) and len(reply.body) >= LEAST_ZIPPED
        tag = etag(reply.revision, reply.body, is_zipped=is_zipped)
        response = reply.response(ETag=tag)
        if conditions is not None and operation is self._read:
            conditions.check(reply.revision, getattr(values, "id", ""))
            if conditions.is_known(tag):
                return NotModifiedResponse(response.headers)
        return response

    async def _do(
        self,
        caller: Caller,
        operation: Operation,
        values: Struct,
        key: str | None,
        progress: Progress | None = None,
        *,
        manner: str = "",
    ) -> JsonReply:
        """Do an operation: once, if it has a key."""
        if key is None:
            value = await self._service.call(caller, operation, values, progress)
            return JsonReply.of(value)
        once = self._replies.once(operation, caller, key, manner=manner)
        kept: Kept = await self._service.call(caller, once, values, progress)
        # what is repeated may have been written again since
        return JsonReply(kept.body, kept.is_repeated, getattr(kept.records, "revision", 0))

    async def _work(
        self,
        caller: Caller,
        operation: Operation,
        values: Struct,
        key: str | None,
        progress: Progress,
    ) -> msgspec.Raw:
        reply = await self._do(caller, operation, values, key, progress)
        return msgspec.Raw(reply.body or b"null")

    async def _queue(
        self, caller: Caller, operation: Operation, values: Struct, key: str | None
    ) -> Response:
        reply = await self._do(caller, queued(operation), values, key, manner="job")
        self._workers.ring(caller.tenant)
        job = msgspec.json.decode(reply.body, type=Job)
        location = f"/v1/jobs/{quote(job.id, safe='')}"
        return reply.response(202, Location=location, **{"Preference-Applied": "respond-async"})


class JsonReply(NamedTuple):
    body: bytes  # JSON; empty: there is none
    is_repeated: bool = False
    revision: int = 0  # of a record

    @classmethod
    def of(cls, value: Any) -> JsonReply:
        body = b"" if value is None else msgspec.json.encode(value)
        return cls(body, revision=getattr(value, "revision", 0))

    def response(self, status: int = 200, **headers: str) -> Response:
        if self.is_repeated:
            headers["Idempotent-Replayed"] = "true"
        if not self.body:
            return Response(status_code=204, headers=headers)
        return Response(self.body, status, headers=headers, media_type="application/json")


def has_conditions(request: Request) -> bool:
    """Whether a request is to be done only if a record is as it says."""
    return "if-match" in request.headers or "if-none-match" in request.headers


def caller_of(request: Request) -> Caller:
    """Give who calls, as the guard has found out."""
    caller = request.scope["state"].get("caller")
    if not isinstance(caller, Caller):
        raise AuthenticationError("this needs a key", remedy="send Authorization: Bearer rlm_…")
    return caller


def takes_gzip(scope: Scope) -> bool:
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])


async def check_again(request: Request) -> None:
    """Check, while an answer lasts, that its caller still may."""
    check = request.scope["state"].get("check_again")
    if check is not None:
        await check()


def _key_of(request: Request, operation: Operation) -> str | None:
    """Give the key of a write; what only reads needs none."""
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
    return JsonReply.of(value).response()


# what does the job, by the method of `Memory` that the operation is
_KINDS = {
    "learn": "learn",
    "dream": "dream",
    "dreams.moments": "moments",
    "dreams.affinity": "affinity",
    "dreams.consolidate": "consolidate",
    "dreams.refresh": "refresh",
    "profile.observe": "observe",
    "profile.normalise": "normalise",
    "embed_pending": "embed_pending",
    "admin.reembed": "reembed",
    "admin.sweep": "sweep",
}


def job_kind(operation: Operation) -> str:
    return _KINDS.get(operation.method, "")


def prefers_job(request: Request) -> bool:
    """Whether a request says `Prefer: respond-async`."""
    preferences = request.headers.get("prefer", "").split(",")
    return any(one.strip().lower() == "respond-async" for one in preferences)


def queued(operation: Operation) -> Operation:
    """Give an operation that puts what this one does into the tenant's own queue."""

    def does(memory: Memory, values: Struct, progress: Any) -> Job:
        return memory.jobs.add(job_kind(operation), _payload(values))

    return replace(operation, does=does, is_long=False)


def _payload(values: Struct) -> dict[str, Any]:
    """Give the arguments that are not as they are by default."""
    fields = msgspec.structs.fields(type(values))
    default = {one.name: one.default for one in fields}
    changed = {name: value for name in default if (value := getattr(values, name)) != default[name]}
    payload: dict[str, Any] = msgspec.to_builtins(changed)
    return payload
