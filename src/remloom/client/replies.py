"""What a server replies: the documented reply of an operation is its value; any other, an error."""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from ..errors import ServerError
from ..operations import Operation
from .addresses import shown
from .failures import UNREADABLE, raise_problem

JSON = "application/json"
EVENTS = "text/event-stream"
REMEDY = "is it the address of a Remloom server, and its version the client's?"
_OK = 200
_NO_CONTENT = 204


def read_reply(operation: Operation, response: httpx.Response) -> Any:
    """Read the value out of a reply whose body is there.

    Raises:
        RemloomError: what was raised in the server.
        ServerError: it is not what the operation answers.
    """
    if response.status_code >= 400:
        raise_problem(response.status_code, response.content)
    if response.status_code == _NO_CONTENT and operation.may_give_nothing:
        return None
    if operation.gives is None:
        raise _undocumented(operation, response, str(_NO_CONTENT))
    check_stream(operation, response, JSON)
    return read_json(operation, response.content)


def check_stream(operation: Operation, response: httpx.Response, media_type: str) -> None:
    """Refuse a reply that is not a stream of this type.

    Raises:
        RemloomError: what was raised in the server; the body of such a reply has been read.
        ServerError: it is something else.
    """
    if response.status_code >= 400:
        raise_problem(response.status_code, response.content)
    if not _is(response, media_type):
        raise _undocumented(operation, response, media_type)


def read_json(operation: Operation, body: bytes) -> Any:
    """Read a value that stands as JSON in a reply or an event.

    Raises:
        ServerError: it is no value of the operation.
    """
    kind: Any = type(None) if operation.gives is None else operation.gives
    try:
        value = msgspec.json.decode(body, type=kind)
        # without required fields an object of anything else would be a value, too: an empty one
        if _has_only_defaults(kind):
            known = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
            if known.keys().isdisjoint(kind.__struct_encode_fields__):
                raise msgspec.ValidationError(f"it has no field of {kind.__name__}")
    except UNREADABLE as error:
        raise ServerError(
            f"the reply to {operation.name} cannot be read: {error}",
            remedy=REMEDY,
        ) from error
    return value


@cache
def _has_only_defaults(kind: Any) -> bool:
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        return False
    return not any(field.required for field in msgspec.structs.fields(kind))


def _is(response: httpx.Response, media_type: str) -> bool:
    return response.status_code == _OK and _media_type(response) == media_type


def _media_type(response: httpx.Response) -> str:
    named: str = response.headers.get("content-type", "")
    return named.partition(";")[0].strip().lower()


def _undocumented(operation: Operation, response: httpx.Response, due: str) -> ServerError:
    came = f"{response.status_code} with {_media_type(response) or 'nothing'}"
    remedy = REMEDY
    if response.next_request is not None:
        came = f"{response.status_code}, a redirect to {shown(str(response.next_request.url))}"
        remedy = "give the address where the server itself answers: no redirect is followed"
    return ServerError(
        f"the server answered {operation.name} with {came}, not with {due}: "
        "whether it was done is not known",
        remedy=remedy,
        status=response.status_code,
    )
