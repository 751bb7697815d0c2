"""What takes several requests, or arguments of another shape than `Memory`'s.

A plan is a generator: it yields requests, and is sent the values of their replies. Both clients
carry the same plans out.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from ..engine.arguments import check_query
from ..engine.private_files import create_private
from ..errors import ConflictError, InvalidInputError, ServerError, SourceError
from ..model import Entity, Exported, Imported, Moment, ReadReport, Registered, Resource, Row
from ..predicates import All, Query
from ..query.render import render_condition
from ..schema.definitions.definition_input import DefinitionInput, read_definition
from ..sources import find_files
from .replies import UNREADABLE
from .request import HttpRequest, request_of

if TYPE_CHECKING:
    from ..operations.records import RecordPage
    from ..profile.beliefs.exchange import Imported as ImportedProfile
    from ..schema.drift import Drift
    from ..schema.sync.report import SyncReport

R = TypeVar("R")
T = TypeVar("T", Resource, Entity, Moment)
Plan: TypeAlias = Generator[HttpRequest, Any, R]

MOST_BYTES = 2_000_000  # of the files of one request, unless one file has more
PAGE = 1_000  # records of one request


def query_records(kind: type[T], query: Query) -> Plan[list[T]]:
    return _query_records(kind.schema, query)


def query_rows(schema: str, query: Query) -> Plan[list[Row]]:
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
    registered: Registered = yield request_of("register_schema", fields)
    return registered


def sync_source(
    source: str,
    *,
    dry_run: bool = False,
    history: bool = False,
    url: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Plan[SyncReport]:
    """Sync a database that the server follows, as `Schemas.sync` does, at the address it has."""
    _refuse({"history": history, "url": url})
    fields = {"name": source, "dry_run": dry_run}
    report: SyncReport = yield request_of("sync_source", fields, callback=progress)
    return report


def source_drift(source: str, *, accept: bool = False, url: str | None = None) -> Plan[Drift]:
    """Compare a database that the server follows, as `Schemas.drift` does."""
    _refuse({"accept": accept, "url": url})
    drift: Drift = yield request_of("source_drift", {"name": source})
    return drift


def _refuse(arguments: Mapping[str, Any]) -> None:
    if refused := [name for name, value in arguments.items() if value]:
        raise InvalidInputError(
            f"a server takes no {refused[0]} of a database", remedy="say it where the memory is"
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
        window = {"limit": wanted, "offset": query.skip + len(found)}
        page = yield request_of("query_records", {**fields, **window})
        found += page
        if len(page) < wanted:
            break
    return found


def moments_by_time(start: datetime, end: datetime) -> Plan[list[Moment]]:
    window = msgspec.to_builtins({"start": start, "end": end})
    return _moments("get_moments_by_time", window)


def moments_by_type(type: str) -> Plan[list[Moment]]:
    return _moments("get_moments_by_type", {"type": type})


def _moments(operation: str, fields: dict[str, Any]) -> Plan[list[Moment]]:
    found: list[Moment] = []
    while True:
        page = yield request_of(operation, {**fields, "limit": PAGE, "offset": len(found)})
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
    progress: object = None,
) -> Plan[ReadReport]:
    """Send a file or the files of a folder, as `Memory.read` reads them. Their names are kept.

    Args:
        progress: is not called: each request is one step.
    """
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
        reports.append((yield request_of("read_documents", fields)))
    return ReadReport.of_parts(reports)


def list_records(cursor: str, schema: str | None = None) -> Plan[RecordPage]:
    """Give a page of the records of a schema, or of all, as `Admin.records` yields them."""
    page: RecordPage = yield request_of(
        "list_records", {"schema": schema, "cursor": cursor, "limit": PAGE}
    )
    return page


def export(path: str | os.PathLike[str] | IO[bytes], *, vectors: bool = True) -> Plan[Exported]:
    """Write everything into a new file here, or into an open stream, as `Admin.export` does."""
    with _opened(path, create_private) as stream:
        tail = _Tail(stream)
        yield request_of("export", {"vectors": vectors}, stream=tail.write)
        return tail.counts()


def import_(
    path: str | os.PathLike[str] | IO[bytes], *, incomplete: bool = False
) -> Plan[Imported]:
    with pieces_of(path) as pieces:
        done: Imported = yield request_of("import", {"incomplete": incomplete}, stream=pieces)
        return done


def import_profile(path: str | os.PathLike[str]) -> Plan[ImportedProfile]:
    with pieces_of(path) as pieces:
        done: ImportedProfile = yield request_of("profile_import", {}, stream=pieces)
        return done


def backup(path: str | os.PathLike[str]) -> Plan[None]:
    """Copy the tenant into a new folder here, as `Admin.backup` does."""
    with BackupFolder(path) as folder:
        yield request_of("backup", {}, stream=folder.write)
        folder.unpack()


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


# by the method of `Memory` that each carries out
PLANS: dict[str, Callable[..., Plan[Any]]] = {
    "admin.backup": backup,
    "admin.export": export,
    "admin.import_": import_,
    "get_moments_by_time": moments_by_time,
    "get_moments_by_type": moments_by_type,
    "profile.import_": import_profile,
    "query_entities": partial(query_records, Entity),
    "query_moments": partial(query_records, Moment),
    "query_resources": partial(query_records, Resource),
    "read": read_files,
    "schemas.drift": source_drift,
    "schemas.query_rows": query_rows,
    "schemas.register": register_schema,
    "schemas.sync": sync_source,
}
# those that give a page of what is iterated over; called with the cursor of the page before
PAGES: dict[str, Callable[..., Plan[RecordPage]]] = {"admin.records": list_records}


_PIECE = 1 << 16  # bytes
_TAIL = 4_096  # bytes in which the last line of an export stands
_END_OF_ARCHIVE = bytes(2 * tarfile.BLOCKSIZE)


class _Tail:
    """Writes pieces to a stream, and keeps the last of the bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._tail = b""

    def write(self, piece: bytes) -> None:
        self._stream.write(piece)
        self._tail = (self._tail + piece)[-_TAIL:]

    def counts(self) -> Exported:
        """Read how much was exported out of the last line."""
        try:
            return msgspec.json.decode(self._tail.rstrip().rpartition(b"\n")[2], type=Exported)
        except UNREADABLE as error:
            raise _cut_off("export") from error


class BackupFolder:
    """A new folder that a backup is unpacked into. A context manager."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def __enter__(self) -> BackupFolder:
        if self._path.exists():
            raise ConflictError(f"{self._path} is there already", remedy="choose a new folder name")
        self._archive = tempfile.TemporaryFile()
        return self

    def __exit__(self, *error: object) -> None:
        self._archive.close()

    def write(self, piece: bytes) -> None:
        self._archive.write(piece)

    def unpack(self) -> None:
        """Put the folder in its place, whole or not at all."""
        size = self._archive.seek(0, os.SEEK_END)
        self._archive.seek(max(0, size - len(_END_OF_ARCHIVE)))
        # a reader of archives takes one that was cut off between two files for whole
        if self._archive.read() != _END_OF_ARCHIVE:
            raise _cut_off("backup")
        self._archive.seek(0)
        with tempfile.TemporaryDirectory(dir=self._path.absolute().parent) as folder:
            try:
                with tarfile.open(fileobj=self._archive, mode="r:") as archive:
                    _check_members(archive)
                    # Python before 3.11.4 has no filters
                    options = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                    archive.extractall(folder, **options)  # type: ignore[arg-type]  # noqa: S202
            except tarfile.TarError as error:
                raise ServerError(
                    f"the backup cannot be read: {error}", remedy="take it again"
                ) from error
            found = list(Path(folder).iterdir())
            if len(found) != 1:
                raise ServerError(f"the backup has {len(found)} folders, and not one")
            found[0].rename(self._path)


@contextmanager
def pieces_of(path: str | os.PathLike[str] | IO[bytes]) -> Iterator[Iterator[bytes]]:
    """Give the bytes of a file, or of an open stream, piece by piece."""
    with _opened(path, lambda name: open(name, "rb")) as stream:
        yield iter(lambda: stream.read(_PIECE), b"")


def _opened(
    path: str | os.PathLike[str] | IO[bytes],
    open_file: Callable[[str | os.PathLike[str]], AbstractContextManager[IO[bytes]]],
) -> AbstractContextManager[IO[bytes]]:
    return open_file(path) if isinstance(path, str | os.PathLike) else nullcontext(path)


def _cut_off(what: str) -> ServerError:
    return ServerError(f"the {what} was cut off", remedy=f"{what} again")


def _check_members(archive: tarfile.TarFile) -> None:
    """Refuse an archive that has more than files and folders, or one that is outside its folder."""
    for member in archive.getmembers():
        path = PurePosixPath(member.name)
        is_plain = member.isreg() or member.isdir()
        if not is_plain or path.is_absolute() or ".." in path.parts or "\\" in member.name:
            raise ServerError(
                f"the backup has {member.name!r}, which is no file or folder of its own",
                remedy="look at the server that it came from",
            )
