"""A path of the server: it reads arguments, calls the operation, and answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ...errors import AuthenticationError, RemloomError
from ...operations import Operation
from ..caller import Caller
from ..service import Service
from .arguments import Arguments
from .problems import problem, refusal, unexpected

__all__ = ["Endpoint", "answer", "caller_of"]

_log = logging.getLogger("remloom.serve")


class Endpoint:
    """Answers the requests to one path: an operation for each of its methods."""

    def __init__(self, service: Service, operations: Mapping[str, Operation]) -> None:
        self._service = service
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
        values = await arguments.read(request)
        return answer(await self._service.call(caller, operation, values))


def caller_of(request: Request) -> Caller:
    """Give who calls, as the guard has found out.

    Raises:
        AuthenticationError: no guard has let the request through.
    """
    caller = request.scope["state"].get("caller")
    if not isinstance(caller, Caller):
        raise AuthenticationError("this needs a key", remedy="send Authorization: Bearer rlm_…")
    return caller


def answer(value: Any) -> Response:
    """Answer with a value as JSON; with nothing where there is none."""
    if value is None:
        return Response(status_code=204)
    return Response(msgspec.json.encode(value), media_type="application/json")
