"""SQLite's errors in our words, with what to do about them."""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec

from ...errors import (
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

__all__ = ["closed_error", "damaged", "nested_write_error", "translate", "translated"]


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
    """Make the error for a file that is not as it was written."""
    return CorruptStoreError(f"{path} is damaged: {what}", remedy=_RESTORE)


def translated(error: BaseException | None, path: Path) -> RemloomError:
    """Make our error for one of SQLite's, with what to do about it."""
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
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return ReadOnlyStoreError(
                f"{path} cannot be written: {error}", remedy="check the folder's permissions"
            )
        case apsw.ConnectionClosedError() | apsw.CursorClosedError():
            return StoreClosedError("the memory is closed", remedy="open it again")
        case apsw.IOError():
            return CorruptStoreError(f"{path} cannot be read or written: {error}", remedy=_RESTORE)
        case _:
            return StoreError(
                f"{path}: {error}", remedy="this is a bug in Remloom: please report it"
            )


def closed_error() -> StoreClosedError:
    """Make the error for what is asked of a closed database."""
    return StoreClosedError("the memory is closed", remedy="open it again")


def nested_write_error() -> InvalidInputError:
    """Make the error for a write inside a write."""
    return InvalidInputError(
        "nothing can be written inside `update`", remedy="return what is to be written"
    )
