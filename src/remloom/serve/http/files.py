"""Files that come with a request: as a form, or one as the body itself."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request

from ...errors import InvalidInputError

MOST_FILES = 1_000


async def read_files(request: Request) -> dict[str, Any]:
    """Read the files of a request, as the arguments that they are.

    A form has them in its field `file`, as often as there are files; a body that is a file has its
    name in the header `X-File-Name`.

    Raises:
        InvalidInputError: there is no file, or a field that is none.
        HTTPException: the form is broken.
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
