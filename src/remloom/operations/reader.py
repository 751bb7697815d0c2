"""Reading long documents that a memory has: each call opens them, and lets go of them again."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ..memory.memory import Memory
from ..reader.reader import Reader
from ..tenancy.api_keys import Scope
from .bounds import bounded
from .operation import Operation, Progress
from .signatures import derive, make_struct

MOST_DOCUMENTS = 100


def _reads(name: str, scope: Scope = "read", *, is_long: bool = False) -> Operation:
    """Make the operation of a method of `Reader`, which takes the documents besides."""
    made = derive(f"reader_{name}", f"POST /v1/reader/{name}", scope, of=Reader, method=name,
                  is_long=is_long)  # fmt: skip
    label = bounded("label", str)
    fields = msgspec.structs.fields(made.takes)
    documents = Annotated[list[label], Meta(min_length=1, max_length=MOST_DOCUMENTS)]  # type: ignore[valid-type]
    first = ("documents", documents, msgspec.NODEFAULT)
    rest = ((one.name, one.type, one.default) for one in fields)
    takes = make_struct(made.takes.__name__, [first, *rest])

    def does(memory: Memory, values: Any, progress: Progress | None) -> Any:
        # a server opens what the memory has, and never a path
        with memory.reader(*values.documents, files=False) as reader:
            return made.does(reader, _without_documents(values, made.takes), progress)

    description = f"{made.description} Documents are named by their uri, title or label."
    return replace(made, takes=takes, does=does, method=f"reader.{name}", description=description)


def _without_documents(values: Struct, takes: type[Struct]) -> Struct:
    return takes(**{name: getattr(values, name) for name in takes.__struct_fields__})


def _of_sessions(name: str, route: str, scope: Scope, method: str, **hints: Any) -> Operation:
    """Make the operation of a method of `Reader` that needs no document."""
    made = derive(name, route, scope, of=Reader, method=method, **hints)

    def does(memory: Memory, values: Any, progress: Progress | None) -> Any:
        with memory.reader(files=False) as reader:
            return made.does(reader, values, progress)

    return replace(made, does=does, method=f"reader.{method}")


READER: tuple[Operation, ...] = (
    _reads("outline"),
    _reads("lines"),
    _reads("search"),
    _reads("find"),
    _reads("sql"),
    _reads("schema"),
    _reads("ask", is_long=True),
    _reads("keep", "write"),
    _of_sessions("reader_sessions", "GET /v1/reader/sessions", "read", "sessions"),
    _of_sessions("reader_session", "GET /v1/reader/sessions/{name}", "read", "session"),
    _of_sessions(
        "reader_delete_session",
        "DELETE /v1/reader/sessions/{name}",
        "write",
        "delete_session",
        destructive=True,
    ),
)
