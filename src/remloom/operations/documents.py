"""Documents that are sent or read by the server, and whole memories as streams."""

from __future__ import annotations

import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from ..errors import InvalidInputError
from ..jobs import Job
from ..model import Exported, Imported, ReadReport
from ..profile.beliefs.exchange import Imported as ImportedProfile
from ..settings import split_list
from ..store.rules.admission import JOB, admit
from ..tenancy.api_keys import Scope
from .bounds import NO_NUL
from .operation import Operation
from .signatures import OfMemory, derive

_PARTS = re.compile(r"[^/\\\x00-\x1f\x7f]{1,200}")
# arguments of jobs that name something of the server
_PATHS = ("source", "held_out", "path")
# scopes of jobs whose method asks for another than `dream`
_SCOPES: Mapping[str, Scope] = {
    "embed_pending": "write",
    "optimize": "admin",
    "discover": "admin",
    "read": "admin",
    "reembed": "admin",
    "sweep": "forget",
    "sync": "admin",
}
_LONGEST_NAME = 255  # bytes that a file system takes
_NEVER = ("embedder", "llm", "strategy", "options", "glob", "exclude")


class Upload(Struct, frozen=True, kw_only=True):
    """A file that is sent."""

    # what it is called, with folders if it has any: "notes/today.md"
    name: Annotated[str, Meta(min_length=1, max_length=1_000, pattern=NO_NUL)]
    content: bytes  # in JSON, as base64


class ServedDocuments(OfMemory):
    """Reads documents in."""

    def read_documents(
        self,
        files: Annotated[Sequence[Upload], Meta(min_length=1, max_length=1_000)],
        *,
        category: str | None = None,
        wait: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> ReadReport:
        """Read files that are sent, in any format that can be read.

        Each is known by its name: the same name again replaces what was read before. A file that
        cannot be read is in the report with the reason, and stops no other.

        Args:
            category: of the resources; default by format.
            wait: embed before returning. Without, texts are embedded in the background; words and
                labels are findable either way.

        Raises:
            InvalidInputError: a name is no file name. Nothing was read.
        """
        names = [_checked_name(file.name) for file in files]
        reports = []
        with tempfile.TemporaryDirectory(prefix="remloom-") as folder:
            for number, (file, name) in enumerate(zip(files, names, strict=True)):
                # the suffix says what it is, so that the name is kept
                copy = Path(folder, str(number), name.rpartition("/")[2])
                copy.parent.mkdir()
                copy.write_bytes(file.content)
                last = wait and number == len(names) - 1
                report = self.memory.read(
                    copy, category=category, wait=last, progress=progress, uri=name
                )
                reports.append(report)
                copy.unlink()
        return ReadReport.of_parts(reports)

    def read_path(
        self,
        path: Annotated[str, Meta(min_length=1, max_length=4_000, pattern=NO_NUL)],
        *,
        category: str | None = None,
        wait: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> ReadReport:
        """Read a file or folder of the server, below the folders that it is allowed to read.

        Args:
            path: absolute.
            category: of the resources; default by format.
            wait: embed before returning.

        Raises:
            InvalidInputError: it is not below a folder of the setting `serve_read_roots`.
        """
        checked = _below_roots(path, self.memory.admin.settings.serve_read_roots)
        return self.memory.read(checked, category=category, wait=wait, progress=progress)

    def add_job(
        self,
        kind: str,
        payload: Mapping[str, Any] = {},  # never written to
        *,
        key: str = "",
        not_before: datetime | None = None,
        every: str = "",
        zone: str = "UTC",
    ) -> Job:
        """Have something done later, or at set times, by a worker of the server.

        Args:
            kind: the method: learn, dream, moments, affinity, consolidate, refresh, observe,
                normalise, embed_pending, sweep, reembed, optimize, sync, discover, or read of a
                path below `serve_read_roots`. A key needs the scope of what is done, too.
            payload: its arguments.
            key: adding the same job under the same key again changes nothing.
            not_before: default now, or the next time of `every`.
            every: a cron expression ("0 2 * * *"): the job is done again at each of its times.
            zone: the time zone of `every`.

        Raises:
            UnknownNameError: there is no such kind.
            InvalidInputError: arguments the method does not take, or that a server does not let be
                chosen.
            ConflictError: the key is that of another job.
        """
        arguments = dict(payload)
        for name in _NEVER:
            if name in arguments:
                raise InvalidInputError(
                    f"{name} is the server's to choose", remedy="leave it out", argument=name
                )
        roots = self.memory.admin.settings.serve_read_roots
        for name in _PATHS:
            # what is synced is a database that was registered, by its name
            if name in arguments and kind not in ("sync", "discover"):
                arguments[name] = _below_roots(arguments[name], roots)
        return self.memory.jobs.add(
            kind, arguments, key=key, not_before=not_before, every=every, zone=zone
        )

    def retry_job(self, id: str) -> Job:
        """Make a waiting or parked job due at once, and forget its failures. A key needs the scopes
        of adding it.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: it is running or done.
        """
        jobs = self.memory.jobs
        admit(JOB, jobs.get(id).kind.encode())
        return jobs.retry(id)


def _checked_name(name: str) -> str:
    """Refuse what is no relative path of a file."""
    parts = name.split("/")
    is_fit = all(_PARTS.fullmatch(part) and part not in (".", "..") for part in parts)
    if not is_fit or len(parts[-1].encode()) > _LONGEST_NAME:
        raise InvalidInputError(
            f"{name!r:.100} is no file name", remedy='give a name such as "notes/today.md"'
        )
    return name


def _below_roots(path: Any, roots: str) -> str:
    """Give a path without links and dots, if it is below a folder that may be read."""
    allowed = [os.path.realpath(root) for root in split_list(roots)]
    is_path = isinstance(path, str) and os.path.isabs(path) and "\0" not in path
    real = os.path.realpath(path) if is_path else ""
    if not real or not any(os.path.commonpath([real, root]) == root for root in allowed):
        raise InvalidInputError(
            "this server does not read that path",
            remedy="send the file, or name a path below a folder of the setting serve_read_roots",
        )
    return real


def scopes_of_job(kind: str) -> tuple[Scope, ...]:
    """A worker may do anything: what a key may not do itself it may not have done."""
    return (_SCOPES[kind],) if kind in _SCOPES else ()


_documents = partial(derive, of=ServedDocuments)

DOCUMENTS: tuple[Operation, ...] = (
    _documents("read_documents", "POST /v1/documents", "write", idempotent=True, is_long=True),
    _documents("read_path", "POST /v1/paths", "admin", idempotent=True, is_long=True),
    replace(
        _documents(
            "add_job",
            "POST /v1/jobs",
            "dream",
            also_needs=lambda values: scopes_of_job(values.kind),
        ),
        method="jobs.add",
    ),
    replace(
        _documents("retry_job", "POST /v1/jobs/{id}/retry", "dream", idempotent=True),
        method="jobs.retry",
    ),
)


class Transfer(OfMemory):
    """Moves what is remembered, as a stream."""

    def export(self, stream: IO[bytes], *, vectors: bool = True) -> Exported:
        """Send everything as JSON lines, which `import` takes in. The last line says that it is
        whole.

        Args:
            vectors: whether with the vectors of texts.
        """
        return self.memory.admin.export(stream, vectors=vectors)

    def import_(self, stream: IO[bytes], *, incomplete: bool = False) -> Imported:
        """Write an export into this memory, by id: all of it, or nothing.

        Args:
            incomplete: take what there is of an export that was cut off, or that an older Remloom
                wrote.

        Raises:
            InvalidInputError: a line is wrong, or the export is not whole or was changed. Nothing
                was written.
        """
        return self.memory.admin.import_(stream, incomplete=incomplete)

    def backup(self, stream: IO[bytes]) -> None:
        """Send a copy of this tenant's folder, as encrypted as it is, as a tar archive.

        Raises:
            InvalidInputError: it is kept in PostgreSQL, which has its own way to back up.
        """
        with tempfile.TemporaryDirectory(prefix="remloom-") as folder:
            copy = Path(folder, self.memory.admin.tenant)
            self.memory.admin.backup(copy)
            with tarfile.open(fileobj=stream, mode="w|") as archive:
                archive.add(copy, arcname=copy.name)

    def profile_import(self, stream: IO[bytes]) -> ImportedProfile:
        """Take in a profile that was exported as JSON; all of it, or nothing. It is one run.

        Raises:
            InvalidInputError: it is no such JSON; says which piece is wrong.
            ConflictError: this memory has another slot of the same name.
        """
        with tempfile.NamedTemporaryFile(prefix="remloom-", suffix=".json") as file:
            while piece := stream.read(65_536):
                file.write(piece)
            file.flush()
            return self.memory.profile.import_(file.name)


_streamed = partial(derive, of=Transfer)
TRANSFER: tuple[Operation, ...] = (
    _streamed("export", "GET /v1/export", "read", carries="out", media_type="application/x-ndjson"),
    _streamed("import", "POST /v1/import", "write", method="import_", carries="in"),
    _streamed("backup", "GET /v1/backup", "admin", carries="out", media_type="application/x-tar"),
    _streamed("profile_import", "POST /v1/profile/import", "write", carries="in"),
)
