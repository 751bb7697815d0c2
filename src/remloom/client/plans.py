"""What takes several requests, or arguments of another shape than `Memory`'s.

A plan is a generator: it yields operations with their arguments, and is sent what they gave. Both
clients carry the same plans out.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from ..engine.arguments import check_query
from ..errors import InvalidInputError, SourceError
from ..model import Entity, Moment, ReadReport, Registered, Resource, Row
from ..predicates import All, Query
from ..query.render import render_condition
from ..schema.definitions.definition_input import DefinitionInput, read_definition
from ..sources import find_files

if TYPE_CHECKING:
    from ..schema.drift.drift import Drift
    from ..schema.sync.report import SyncReport


R = TypeVar("R")
T = TypeVar("T", Resource, Entity, Moment)
# operation and arguments -> value
Plan: TypeAlias = Generator[tuple[str, dict[str, Any]], Any, R]

MOST_BYTES = 2_000_000  # of the files of one request, unless one file has more
PAGE = 1_000  # records of one request


def query_records(kind: type[T], query: Query) -> Plan[list[T]]:
    """List records by predicates, as `Memory.query_entities` does."""
    return _query_records(kind.schema, query)


def query_rows(schema: str, query: Query) -> Plan[list[Row]]:
    """List rows by predicates, as `Schemas.query_rows` does."""
    return _query_records(schema, query)


def register_schema(
    definition: DefinitionInput | None = None,
    *,
    mapping: Mapping[str, str | None] | None = None,
    **parts: Any,
) -> Plan[Registered]:
    """Register a schema, as `Schemas.register` does; a file is one of this machine."""
    read = msgspec.to_builtins(read_definition(definition, parts))
    fields = {name: value for name, value in read.items() if name not in ("base_fields", "source")}
    fields["fields"] = read.get("base_fields", {})
    if mapping is not None:
        fields["mapping"] = dict(mapping)
    registered: Registered = yield "register_schema", fields
    return registered


def sync_source(
    source: str, *, dry_run: bool = False, history: bool = False, url: str | None = None
) -> Plan[SyncReport]:
    """Sync a database that the server follows, as `Schemas.sync` does, at the address it has."""
    _refuse({"history": history, "url": url})
    report: SyncReport = yield "sync_source", {"name": source, "dry_run": dry_run}
    return report


def source_drift(source: str, *, accept: bool = False, url: str | None = None) -> Plan[Drift]:
    """Compare a database that the server follows, as `Schemas.drift` does."""
    _refuse({"accept": accept, "url": url})
    drift: Drift = yield "source_drift", {"name": source}
    return drift


def _refuse(arguments: Mapping[str, Any]) -> None:
    if given := [name for name, value in arguments.items() if value]:
        raise InvalidInputError(
            f"a server takes no {given[0]} of a database", remedy="say it where the memory is"
        )


def _query_records(schema: str, query: Query) -> Plan[list[Any]]:
    check_query(query)
    fields = {
        "schema": schema,
        "where": "" if isinstance(query.where, All) else render_condition(query.where),
        "order": [list(one) for one in query.order],
    }
    found: list[Any] = []
    while query.count is None or len(found) < query.count:
        wanted = PAGE if query.count is None else min(PAGE, query.count - len(found))
        page = yield "query_records", {**fields, "limit": wanted, "offset": query.skip + len(found)}
        found += page
        if len(page) < wanted:
            break
    return found


def moments_by_time(start: datetime, end: datetime) -> Plan[list[Moment]]:
    """List the moments of a time, as `Memory.get_moments_by_time` does."""
    window = msgspec.to_builtins({"start": start, "end": end})
    return _moments("get_moments_by_time", window)


def moments_by_type(type: str) -> Plan[list[Moment]]:
    """List the moments of a type, as `Memory.get_moments_by_type` does."""
    return _moments("get_moments_by_type", {"type": type})


def _moments(operation: str, fields: dict[str, Any]) -> Plan[list[Moment]]:
    found: list[Moment] = []
    while True:
        page = yield operation, {**fields, "limit": PAGE, "offset": len(found)}
        found += page
        if len(page) < PAGE:
            return found


def read_files(
    source: str | os.PathLike[str],
    *,
    category: str | None = None,
    recursive: bool = True,
    glob: str | None = None,
    exclude: Sequence[str] = (),
    wait: bool = True,
    uri: str | None = None,
) -> Plan[ReadReport]:
    """Send a file or the files of a folder, as `Memory.read` reads them. Their names are kept."""
    if os.fspath(source) == "-":
        raise InvalidInputError("standard input is not sent", remedy="use read_text")
    files = list(find_files(source, recursive=recursive, glob=glob, exclude=exclude))
    if not files:
        raise SourceError(f"{source} has no file to read", uri=str(source))
    if uri is not None:
        # a folder's files keep their paths below what it is called
        single = len(files) == 1 and files[0][1] == Path(source).expanduser().absolute()
        files = [(uri if single else f"{uri}/{name}", path) for name, path in files]
    reports: list[ReadReport] = []
    for some in _batches(files):
        sent = [{"name": name, "content": path.read_bytes()} for name, path in some]
        fields = {"files": sent, "category": category, "wait": wait}
        reports.append((yield "read_documents", fields))
    return ReadReport.of_parts(reports)


def _batches(files: list[tuple[str, Path]]) -> Iterator[list[tuple[str, Path]]]:
    """Part files so that a request does not get too large."""
    some: list[tuple[str, Path]] = []
    size = 0
    for name, path in files:
        length = path.stat().st_size
        if some and size + length > MOST_BYTES:
            yield some
            some, size = [], 0
        some.append((name, path))
        size += length
    yield some
