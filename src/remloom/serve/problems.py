"""Errors as RFC 9457 problem+json: what was wrong, where, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from .. import errors
from ..errors import RemloomError

MEDIA_TYPE = "application/problem+json"
# where each error is explained; nothing is fetched from there
TYPES = "https://remloom.readthedocs.io/serving/#"
RETRY_AFTER = 1  # seconds, where the error does not say

# The status of an error, or else that of the nearest class above it.
STATUSES: dict[type[RemloomError], int] = {
    errors.InvalidInputError: 422,
    errors.TooLargeError: 413,
    errors.AuthenticationError: 401,
    errors.ForbiddenError: 403,
    errors.MisdirectedError: 421,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.GoneError: 410,
    errors.LimitError: 429,
    errors.BusyError: 503,
    errors.TimeLimitError: 504,
    # the server was not set up for it: neither the request nor the server is at fault
    errors.ModelNotConfiguredError: 409,
    errors.ModelCallsForbiddenError: 409,
    errors.BudgetError: 409,
    errors.ModelUnavailableError: 503,
    errors.ModelError: 502,
    errors.EmbedderError: 503,
    errors.RerankerError: 503,
    errors.MissingExtraError: 501,
    errors.StoreBusyError: 503,
    errors.StoreFullError: 507,
    errors.StoreClosedError: 503,
    errors.ReadOnlyStoreError: 503,
    errors.StoreError: 500,
    RemloomError: 500,
}
# facts of an error that are the server's own business
_HIDDEN = ("home", "path", "database")
# errors about what only the server has: their messages name its files
_OF_THE_SERVER = (
    errors.TenantNotFoundError,
    errors.SettingsError,
    errors.StoreError,
    errors.EmbedderError,
    errors.RerankerError,
)
_FILE = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][^\s'\"/\\:]+){2,}[/\\]?")


def status_of(error: RemloomError) -> int:
    """Give the HTTP status of an error.

    >>> status_of(errors.TenantNotFoundError("there is no tenant 'acme'"))
    404
    """
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def problem(
    error: RemloomError,
    request_id: str = "",
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Answer with an error."""
    fields = without_paths(error)
    name, message, remedy = (fields.pop(key) for key in ("error", "message", "remedy"))
    code = status or status_of(error)
    sent = dict(headers or {})
    if code in (429, 503):
        sent.setdefault("Retry-After", str(int(fields.get("retry_after") or RETRY_AFTER)))
    if code == 401:
        sent.setdefault("WWW-Authenticate", "Bearer")
    return _response(code, name, message, remedy, fields, request_id, sent)


def without_paths(error: RemloomError) -> dict[str, Any]:
    """Give the facts of an error, without what is the server's own business: where its files are.

    >>> without_paths(errors.StoreError("/srv/home/acme is damaged", home="/srv/home"))["message"]
    '… is damaged'
    """
    shown = {key: value for key, value in error.as_dict().items() if key not in _HIDDEN}
    return shown | {key: hide_paths(error, shown[key]) for key in ("message", "remedy")}


def hide_paths(error: RemloomError, text: str) -> str:
    """Leave out the paths of a text of an error about what only the server has."""
    return _FILE.sub("…", text) if isinstance(error, _OF_THE_SERVER) else text


def refusal(error: HTTPException, request_id: str = "") -> Response:
    """Answer with what HTTP itself has a status for: no such path, another method."""
    name = "NotFoundError" if error.status_code == 404 else "InvalidInputError"
    detail, _, remedy = error.detail.partition("\n")
    return _response(
        error.status_code, name, detail, remedy, {}, request_id, dict(error.headers or {})
    )


def unexpected(request_id: str) -> Response:
    """Answer with a fault of ours: of what it was, the server's log tells more than the answer."""
    remedy = "the server's log has more under this request's id"
    return _response(
        500, "RemloomError", "something unexpected happened", remedy, {}, request_id, {}
    )


def _response(
    status: int,
    name: str,
    detail: str,
    remedy: str,
    fields: dict[str, object],
    request_id: str,
    headers: Mapping[str, str],
) -> Response:
    content = {
        "type": TYPES + name.lower(),
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "error": name,
        "remedy": remedy,
        "fields": fields,
        "request_id": request_id,
    }
    return Response(
        msgspec.json.encode(content), status, headers=dict(headers), media_type=MEDIA_TYPE
    )
