"""The arguments of a request: of its path, its query, and its body."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Annotated, Any, Union
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from ...errors import InvalidInputError, UnknownNameError
from ...operations import TOOLS, Operation
from ..expected import remedy_for
from ..unknown_fields import has_objects, refuse_unknown_fields
from .choices import choices_at
from .files import read_files

_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_NO_CHOICE = re.compile(r"Invalid (?:enum )?value '?(.*?)'?$", re.DOTALL)
_PLACE = re.compile(r" - at `\$\.?(.*)`$")

# how msgspec says that a text has a NUL in it
_PATTERN = r"matching regex '^[^\\x00]*$'"


class Arguments:
    """Reads what an operation takes out of requests.

    Raises (each of its methods):
        InvalidInputError: a value is not what the operation takes; names the argument and its
            bound.
        UnknownNameError: an argument or a field that it does not take, or a value that is none of
            its choices; names the nearest.
        HTTPException: the body is no JSON.
    """

    def __init__(self, operation: Operation) -> None:
        self._takes = operation.takes
        self._in_path = re.findall(r"\{(\w+)\}", operation.route.path if operation.route else "")
        self._decoder = msgspec.json.Decoder(operation.takes)
        fields = msgspec.structs.fields(operation.takes)
        self._lists = {field.name for field in fields if _is_list(field.type)}
        self._in_query = bool(
            operation.carries == "in"
            or (operation.route is not None and operation.route.method in ("GET", "DELETE"))
        )
        self._has_objects = has_objects(operation.takes)
        self._takes_files = "files" in operation.takes.__struct_fields__

    async def read(self, request: Request) -> Struct:
        """Read the arguments of a request: from its path, and its query or its body."""
        # operations of one path may call its parameters by other names
        given = zip(self._in_path, request.path_params.values(), strict=True)
        path = {name: _decoded(name, value) for name, value in given}
        query = request.query_params.multi_items() if request.scope["query_string"] else []
        if self._in_query:
            return self.of_query(query, path)
        form = _media_type(request)
        if self._takes_files and not (form and _is_json(form)):
            return self.of_query(query, await read_files(request))
        if query:
            raise InvalidInputError(
                f"{query[0][0]!r} stands in the query",
                remedy="give the arguments as a JSON object in the body",
            )
        return self.of_body(await _json(request), path)

    def of_query(self, query: Iterable[tuple[str, str]], path: dict[str, Any]) -> Struct:
        """Make the arguments of a query; one that is a list is given once for each item."""
        values = dict(path)
        for name, text in query:
            if name in path:
                raise _twice(name)
            if name in self._lists:
                values.setdefault(name, []).append(text)
            elif name in values:
                raise _twice(name)
            else:
                values[name] = text
        with explained(self._takes, query=True):
            taken = msgspec.convert(values, self._takes, strict=False)
        for name in values:
            # msgspec takes the text null for none
            if getattr(taken, name) is None:
                raise InvalidInputError(
                    f"{name}: null is not a value of a query", remedy="leave it out", argument=name
                )
        return taken

    def of_body(self, body: bytes, path: dict[str, Any]) -> Struct:
        """Make the arguments of a JSON object; no body is an empty one."""
        with explained(self._takes):
            if not path:
                # JSON knows no whole numbers: 23.0 is one as well as 23
                with suppress(msgspec.ValidationError):
                    taken = self._decoder.decode(body or b"{}")
                    if self._has_objects:
                        refuse_unknown_fields(self._takes, msgspec.json.decode(body or b"{}"))
                    return taken
            values = msgspec.json.decode(body or b"{}")
            if not isinstance(values, dict):
                return self._decoder.decode(body)
            for name in path:
                if name in values:
                    raise _twice(name)
            refuse_unknown_fields(self._takes, values)
            return msgspec.convert({**_whole(values), **path}, self._takes)


class explained:
    """Turn what msgspec says of a wrong value into an error with the argument and the remedy."""

    def __init__(self, takes: type[Struct], *, query: bool = False) -> None:
        self._takes = takes
        self._query = query

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, msgspec.ValidationError):
            raise _wrong(error, self._takes, query=self._query) from None
        if isinstance(error, msgspec.DecodeError | UnicodeDecodeError | RecursionError):
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise HTTPException(
                400, f"the body is not JSON: {reason}\ngive a JSON object in UTF-8"
            ) from None


def _is_json(form: str) -> bool:
    return not form or form == "application/json" or form.endswith("+json")


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _body(receive: Receive) -> bytes:
    """Receive a body as `Request.body` does, which takes three times as long over a short one."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _json(request: Request) -> bytes:
    body = await _body(request.receive)
    form = _media_type(request)
    if body and not (form and _is_json(form)):
        raise HTTPException(
            415,
            f"the body is {form or 'of no stated type'}, not JSON"
            "\nsend Content-Type: application/json",
        )
    return body


def _whole(value: Any) -> Any:
    """Make whole numbers of those that only look like fractions."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def _decoded(name: str, value: str) -> str:
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{name} of the path is not UTF-8", remedy="percent-encode it as UTF-8"
        ) from None


def _wrong(
    error: msgspec.ValidationError, takes: type[Struct], *, query: bool
) -> InvalidInputError:
    """Say which argument is wrong, and what would be right."""
    text = str(error)
    place = _PLACE.search(text)
    # `labels[0]` is of the argument labels
    where = place.group(1) if place else ""
    problem = _PLACE.sub("", text)
    unknown = _UNKNOWN.search(problem)
    known = takes.__struct_fields__
    if unknown and not where:
        name = unknown.group(1)
        remedy = "" if known else "leave it out: nothing is taken here"
        return UnknownNameError("argument", name, known, meant=_meant(name, known), remedy=remedy)
    wrong = _NO_CHOICE.match(problem)
    choices = choices_at(takes, where) if wrong and where else []
    if wrong and choices:
        return UnknownNameError(where, wrong.group(1), choices)
    missing = _MISSING.search(problem)
    argument = re.split(r"[.\[]", where)[0] or (missing.group(1) if missing else "")
    remedy = remedy_for(takes, argument, query=query)
    if missing:
        what = f"{where}: {missing.group(1)}" if where else argument
        more = "" if where else f"; known: {', '.join(known)}"
        return InvalidInputError(f"{what} is missing", remedy=remedy + more, argument=argument)
    problem = problem[0].lower() + problem[1:].replace(_PATTERN, "without NUL")
    return InvalidInputError(
        f"{where or 'the body'}: {problem}",
        remedy=remedy,
        argument=argument,
    )


def _meant(name: str, known: Collection[str]) -> str:
    """Give the argument that a name of another's means, as those of the tools of agents do."""
    meanings = [tool.aliases[name] for tool in TOOLS if name in tool.aliases]
    return next((meaning for meaning in meanings if meaning in known), "")


def _twice(name: str) -> InvalidInputError:
    return InvalidInputError(f"{name} is given twice", remedy="give it once", argument=name)


def _is_list(hint: Any) -> bool:
    if typing.get_origin(hint) is Annotated:
        return _is_list(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (Union, types.UnionType):
        return any(_is_list(part) for part in typing.get_args(hint))
    return typing.get_origin(hint) in (list, tuple, set, frozenset)
