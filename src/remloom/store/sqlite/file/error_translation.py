"""SQLite's errors in our words, with what to do about them."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

import apsw
import msgspec

from ....errors import (
    CorruptStoreError,
    InvalidInputError,
    ReadOnlyStoreError,
    RemloomError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    StoreFullError,
    WrongKeyError,
    unencodable,
)
from ...tenants.folders import file_error

# what the system refused in writing, of which nothing is damaged
_WRITING = frozenset(
    {
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_DIR_FSYNC,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_SHMOPEN,
        apsw.SQLITE_IOERR_SHMMAP,
    }
)

_PAGE = 65_536 + 24  # bytes that are written at once, at most: a page, with its head in the log


class translate:
    """Turns SQLite's errors into ours. A plain class: it sits on hot paths."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if kind is not None and issubclass(kind, (apsw.Error, msgspec.DecodeError, UnicodeError)):
            raise translated(error, self.path) from error


_RESTORE = (
    "`remloom doctor` looks at all of it; keep a copy of it, and restore the last `remloom backup`"
)


def damaged(path: Path, what: object) -> CorruptStoreError:
    return CorruptStoreError(f"{path} is damaged: {what}", remedy=_RESTORE)


def translated(error: BaseException | None, path: Path) -> RemloomError:
    match error:
        case UnicodeEncodeError():
            return unencodable(error)
        case apsw.NotADBError():
            return WrongKeyError(
                f"{path} does not open with this key, or is not a Remloom database",
                remedy="check REMLOOM_KEY; if the key is right the file is damaged: restore a "
                "backup",
            )
        case apsw.CorruptError() | msgspec.DecodeError() | UnicodeDecodeError():
            return damaged(path, error)
        case apsw.FullError():
            return StoreFullError(
                f"no space left for {path}; nothing of this write was kept",
                remedy="free some space and retry",
            )
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusyError(
                f"{path} is being written by another process",
                remedy="try again, or raise busy_timeout",
            )
        case apsw.CantOpenError() if (reason := _no_more_files()) is not None:
            return file_error(reason, f"{path} cannot be opened", "")
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return ReadOnlyStoreError(
                f"{path} cannot be written: {error}", remedy="check the folder's permissions"
            )
        case apsw.ConnectionClosedError() | apsw.CursorClosedError():
            return closed_error()
        case apsw.IOError() if error.extendedresult in _WRITING:
            return _not_written(error, path)
        case apsw.IOError():
            return CorruptStoreError(f"{path} cannot be read or written: {error}", remedy=_RESTORE)
        case _:
            return StoreError(
                f"{path}: {error}", remedy="this is a bug in Remloom: please report it"
            )


def _no_more_files() -> OSError | None:
    """Return why no file can be opened now, if that is why: SQLite does not say."""
    try:
        # not the database: to close that would give up the locks that this process has on it
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error if error.errno in (errno.EMFILE, errno.ENFILE) else None
    return None


def _not_written(error: apsw.Error, path: Path) -> StoreError:
    """Make the error for a write that the system refused; SQLite does not say why."""
    limit = _file_limit()
    if limit is not None and (grown := _largest(path)) > limit - _PAGE:
        return StoreFullError(
            f"{path} cannot grow beyond {grown:,} bytes: a file may have {limit:,} bytes; nothing "
            "of this write was kept",
            remedy="raise the limit (`ulimit -f`) and retry",
        )
    return StoreError(
        f"{path} could not be written: {error}; nothing of this write was kept",
        remedy="look whether a quota is used up, or the disk is failing; then retry",
    )


def _largest(path: Path) -> int:
    sizes = [0]
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            sizes.append(os.stat(f"{path}{suffix}").st_size)
    return max(sizes)


def _file_limit() -> int | None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def closed_error() -> StoreClosedError:
    return StoreClosedError("the memory is closed", remedy="open it again")


def nested_write_error() -> InvalidInputError:
    return InvalidInputError(
        "nothing can be written inside `update`", remedy="return what is to be written"
    )
