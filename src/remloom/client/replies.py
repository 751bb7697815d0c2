"""What a server replies: the documented reply of an operation is its value, any other an error."""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from .. import errors
from ..errors import RemloomError, ServerError
from ..operations import Operation

JSON = "application/json"
EVENTS = "text/event-stream"
REMEDY = "is it the address of a Remloom server, and its version the client's?"
_OK = 200
_NO_CONTENT = 204
# what decoding JSON raises of bytes that are none
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# what OpenSSL says of an answer in plain HTTP, by its version
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
_NO_ADDRESS = "an address that cannot be read"


def read_reply(operation: Operation, response: httpx.Response) -> Any:
    """Read the value out of a reply whose body is there."""
    if response.status_code >= 400:
        raise_problem(response.status_code, response.content)
    if response.status_code == _NO_CONTENT and operation.may_give_nothing:
        return None
    if operation.gives is None:
        raise _undocumented(operation, response, str(_NO_CONTENT))
    check_stream(operation, response, JSON)
    return read_json(operation, response.content)


def check_stream(operation: Operation, response: httpx.Response, media_type: str) -> None:
    """Refuse a reply that is not a stream of this type."""
    if response.status_code >= 400:
        raise_problem(response.status_code, response.content)
    if not _is(response, media_type):
        raise _undocumented(operation, response, media_type)


def read_json(operation: Operation, body: bytes) -> Any:
    """Read a value that stands as JSON in a reply or an event."""
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


class _Problem(Struct, kw_only=True):
    title: str = ""
    detail: str = ""
    error: str = ""
    remedy: str = ""
    fields: dict[str, Any] = {}


def raise_problem(status: int, body: bytes) -> None:
    """Raise the error that a reply tells of."""
    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except UNREADABLE:
        problem = _Problem()
    kind = getattr(errors, problem.error, None)
    if not (isinstance(kind, type) and issubclass(kind, RemloomError)):
        message = problem.detail or problem.title or body[:200].decode(errors="replace")
        raise ServerError(f"the server answered {status}: {message}", status=status)
    # constructors of subclasses take other arguments than what is known here
    error = kind.__new__(kind)
    RemloomError.__init__(error, problem.detail, remedy=problem.remedy)
    error.fields = problem.fields
    raise error


def is_without_tls(error: httpx.RequestError) -> bool:
    """Whether TLS was spoken to a server of plain HTTP."""
    return any(sign in str(error) for sign in _NO_TLS)


def unreachable(url: str, error: httpx.RequestError) -> ServerError:
    """Make our error of a request that had no reply, or one that cannot be read."""
    url = shown(url)
    reason = str(error) or type(error).__name__
    remedy = "see that `remloom serve` runs there, and that the address is right"
    if is_without_tls(error):
        plain = url.replace("https://", "http://", 1)
        remedy = f"it does not speak TLS: give {plain!r}, or the address of the proxy that does"
    return ServerError(f"no reply from {url}: {reason}", remedy=remedy, url=url)


def shown(url: str) -> str:
    """Give an address without a user, a password, a query and a fragment.

    >>> shown("https://ann:secret@memory.example:8765/v1?token=abc")
    'https://memory.example:8765/v1'
    """
    if not any(mark in url for mark in "@?#"):
        return url
    try:
        read = httpx.URL(url)
    except httpx.InvalidURL:
        return _NO_ADDRESS
    if not read.host:
        return _NO_ADDRESS
    return str(read.copy_with(username=None, password=None, query=None, fragment=None))
