"""Databases that other programs keep in SQLite, recognised by their tables.

A program may lock its database at any time: what is read is a copy, with its write-ahead log. To
read one more kind, write a function like `DatabaseKind.read`, and add a line to `KINDS`.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ..errors import SourceError
from .chats import agent_sessions, cursor, opencode
from .document import Document, Skipped
from .web import browsers

if TYPE_CHECKING:
    import apsw


_LOGS = ("-wal", "-journal")  # files next to a database that belong to it
_TRIES = 5  # to copy a database that is being written
_PAUSE = 0.1  # seconds between them
_HEADER = 100  # bytes of a database; its counter of changes is in them
_WAL_HEADER = 32  # bytes
_LARGEST_VALUE = 100_000_000  # bytes of a text or blob
_LISTED = 10  # tables in a message


class DatabaseKind(Struct, frozen=True):
    """A kind of database, and what reads it.

    Attributes:
        name: what it is, in the plural: "browsing histories of Firefox".
        tables: the tables it must have, each with columns that it must have.
        read: gives the documents of a database that has these tables. It gets a connection to a
            copy, on which nothing can be written, and the uri of the original.
        read_part: gives one of them, by what its uri ends with, behind `#`.
    """

    name: str
    tables: Mapping[str, Sequence[str]]
    read: Callable[[apsw.Connection, str], Iterator[Document | Skipped]]
    read_part: Callable[[apsw.Connection, str, str], Iterator[Document | Skipped]] | None = None


KINDS = (
    DatabaseKind(
        "sessions of the OpenAI Agents SDK",
        {"agent_messages": ("id", "session_id", "message_data", "created_at")},
        agent_sessions.read_openai_sessions,
    ),
    DatabaseKind(
        "checkpoints of LangGraph",
        {
            "checkpoints": ("thread_id", "checkpoint_ns", "checkpoint_id", "type", "checkpoint"),
            "writes": ("thread_id", "checkpoint_ns", "checkpoint_id", "channel", "type", "value"),
        },
        agent_sessions.read_langgraph_checkpoints,
    ),
    DatabaseKind(
        "sessions of OpenCode", opencode.TABLES, opencode.read_database, opencode.read_session
    ),
    DatabaseKind("chats of Cursor", cursor.TABLES, cursor.read_database),
    DatabaseKind(
        "browsing histories of Chrome and its family",
        browsers.CHROME_TABLES,
        browsers.read_chrome,
    ),
    DatabaseKind("browsing histories of Firefox", browsers.FIREFOX_TABLES, browsers.read_firefox),
)


def read(path: Path, uri: str, part: str = "") -> Iterator[Document | Skipped]:
    """Read a database by every kind whose tables it has, from a copy that is deleted after.

    Args:
        part: the document whose uri ends with it, behind `#`; empty: all of them.
    """
    import apsw

    with tempfile.TemporaryDirectory(prefix="remloom-") as folder:
        copy = _copy(path, Path(folder), uri)
        try:
            with _opened(copy) as connection:
                columns = _columns(connection)
                kinds = [kind for kind in KINDS if _has(columns, kind)]
                if not kinds:
                    raise _unknown(uri, columns)
                for kind in kinds:
                    if not part:
                        yield from kind.read(connection, uri)
                    elif kind.read_part:
                        yield from kind.read_part(connection, uri, part)
        except apsw.Error as error:
            problem = f"a SQLite database that cannot be read: {error}"
            raise SourceError(problem, uri=uri) from error


def _copy(path: Path, folder: Path, uri: str) -> Path:
    """Copy a database with its logs while nothing is rewritten; commits only lengthen its log."""
    copy = folder / "copy.db"
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        before = _states(path)
        for suffix in ("", *_LOGS):
            source, target = Path(f"{path}{suffix}"), Path(f"{copy}{suffix}")
            target.unlink(missing_ok=True)
            # the database itself may be a link; no program makes its log one
            if not suffix or _is_regular(source):
                shutil.copyfile(source, target)
        if _states(path) == before:
            return copy
    raise SourceError(
        "a SQLite database that was written while it was copied",
        uri=uri,
        remedy="close the program that writes it, or read it again later",
    )


def _states(path: Path) -> list[tuple[object, ...]]:
    """What is different once a database was written otherwise than at the end of its log."""
    states: list[tuple[object, ...]] = []
    for suffix in ("", *_LOGS):
        file = Path(f"{path}{suffix}")
        if suffix and not _is_regular(file):
            states.append(())
        elif suffix == "-wal":
            # its salts, which change when it begins again
            states.append((_head(file, _WAL_HEADER),))
        else:
            state = file.stat()
            states.append((state.st_size, state.st_mtime_ns, _head(file, _HEADER)))
    return states


def _is_regular(file: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(file).st_mode)
    except OSError:
        return False


def _head(file: Path, size: int) -> bytes:
    with file.open("rb") as stream:
        return stream.read(size)


@contextmanager
def _opened(copy: Path) -> Iterator[apsw.Connection]:
    """Open a copy so that nothing which a stranger wrote into its schema can act."""
    import apsw

    # Writable: only so can a log be taken in.
    connection = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        connection.pragma("cell_size_check", True)
        connection.pragma("query_only", True)
        # what is sorted may be many times the file: each visit has the address of its page
        connection.pragma("temp_store", "file")
        yield connection
    finally:
        connection.close()


def _columns(connection: apsw.Connection) -> dict[str, frozenset[str]]:
    """The columns of each table, without views and virtual tables, which may compute."""
    # "ordinary": as SQLite calls what is neither
    tables = [row[1] for row in connection.execute("PRAGMA main.table_list") if row[2] == "table"]
    of_table = "SELECT name FROM pragma_table_info(?)"
    return {
        table: frozenset(name for (name,) in connection.execute(of_table, (table,)))
        for table in tables
        if not table.startswith("sqlite_")
    }


def _has(columns: Mapping[str, frozenset[str]], kind: DatabaseKind) -> bool:
    return all(columns.get(table, frozenset()).issuperset(of) for table, of in kind.tables.items())


def _unknown(uri: str, columns: Mapping[str, frozenset[str]]) -> SourceError:
    tables = ", ".join(sorted(columns)[:_LISTED]) or "none"
    return SourceError(
        f"a SQLite database of no kind that can be read; its tables: {tables}",
        uri=uri,
        remedy="readable are " + ", ".join(kind.name for kind in KINDS),
    )
