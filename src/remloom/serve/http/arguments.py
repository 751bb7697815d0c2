"""The arguments of a request: of its path, its query, its body, and its files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ...errors import InvalidInputError, UnknownNameError
from ...operations import TOOLS, Operation
from ..argument_types import (
    choices_at,
    has_objects,
    list_arguments,
    refuse_unknown_fields,
    remedy_for,
)

_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_NO_CHOICE = re.compile(r"Invalid (?:enum )?value '?(.*?)'?$", re.DOTALL)
_POSITION = re.compile(r" - at `\$\.?(.*)`$")

# how msgspec says that a text has a NUL in it
_PATTERN = r"matching regex '^[^\\x00]*$'"


class Arguments:
    """Reads what an operation takes out of requests.

    Raises (each of its methods):
        InvalidInputError: a value is not what the operation takes; names the argument and its
            bound.
        UnknownNameError: an argument or a field that it does not take, or a value that is none of
            its choices; names the nearest.
        HTTPException: the body is not JSON.
    """

    def __init__(self, operation: Operation) -> None:
        self._takes = operation.takes
        self._in_path = re.findall(r"\{(\w+)\}", operation.route.path if operation.route else "")
        self._decoder = msgspec.json.Decoder(operation.takes)
        self._lists = list_arguments(operation.takes)
        self._in_query = bool(
            operation.carries == "in"
            or (operation.route is not None and operation.route.method in ("GET", "DELETE"))
        )
        self._has_objects = has_objects(operation.takes)
        self._takes_files = "files" in operation.takes.__struct_fields__

    async def read(self, request: Request) -> Struct:
        # operations of one path may call its parameters by other names
        sent = zip(self._in_path, request.path_params.values(), strict=True)
        path = {name: _decoded(name, value) for name, value in sent}
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


@contextmanager
def explained(takes: type[Struct], *, query: bool = False) -> Iterator[None]:
    """Turn what msgspec says of a wrong value into an error with the argument and the remedy."""
    try:
        yield
    except msgspec.ValidationError as error:
        raise _wrong(error, takes, query=query) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise HTTPException(
            400, f"the body is not JSON: {reason}\ngive a JSON object in UTF-8"
        ) from None


def _is_json(form: str) -> bool:
    return not form or form == "application/json" or form.endswith("+json")


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _json(request: Request) -> bytes:
    body = await request.body()
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
    text = str(error)
    position = _POSITION.search(text)
    # `labels[0]` is of the argument labels
    where = position.group(1) if position else ""
    problem = _POSITION.sub("", text)
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


MOST_FILES = 1_000


async def read_files(request: Request) -> dict[str, Any]:
    """Read the files of a request, as the arguments that they are.

    A form has them in its field `file`, as often as there are files; a body that is a file has its
    name in the header `X-File-Name`.
    """
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        name = request.headers.get("x-file-name", "")
        if not name and "content-type" not in request.headers:
            raise InvalidInputError(
                "the request has no Content-Type, so its body may be anything",
                remedy="send a form (multipart/form-data) with the field `file`, one file as the "
                "body with its name in the header X-File-Name, or JSON as application/json",
            )
        if not name:
            raise InvalidInputError(
                "the file has no name",
                remedy="send a form with the field `file`, or the header X-File-Name",
            )
        return {"files": [{"name": name, "content": await request.body()}]}
    files = []
    async with request.form(max_files=MOST_FILES, max_fields=0) as form:
        for field, file in form.multi_items():
            if not isinstance(file, UploadFile) or field != "file":
                raise InvalidInputError(
                    f"the form has a field {field!r:.100}",
                    remedy="send files as `file`; category and wait stand in the query",
                )
            files.append({"name": file.filename or "", "content": await file.read()})
    return {"files": files}
