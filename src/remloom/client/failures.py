"""What a server refuses, as the errors that `Memory` would raise."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from .. import errors
from ..errors import RemloomError, ServerError
from .addresses import shown

# what decoding JSON raises of bytes that are none
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# what OpenSSL says of an answer in plain HTTP, by its version
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")


class _Problem(msgspec.Struct, kw_only=True):
    """A problem of RFC 9457, with our members."""

    title: str = ""
    detail: str = ""
    error: str = ""
    remedy: str = ""
    fields: dict[str, Any] = {}


def raise_problem(status: int, body: bytes) -> None:
    """Raise the error that a reply tells of.

    Raises:
        RemloomError: of the class that was raised in the server; `ServerError` for a reply that is
            none of ours.
    """
    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except UNREADABLE:
        problem = _Problem()
    kind = getattr(errors, problem.error, None)
    if not (isinstance(kind, type) and issubclass(kind, RemloomError)):
        said = problem.detail or problem.title or body[:200].decode(errors="replace")
        raise ServerError(f"the server answered {status}: {said}", status=status)
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
