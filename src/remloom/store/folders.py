"""Folders and files of which everything is private, whole or not there, and never reached through a
link."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path

from ..errors import ReadOnlyStoreError, StoreBusyError, StoreError, StoreFullError

__all__ = [
    "alone_in",
    "destroy",
    "file_error",
    "make_private",
    "read_whole",
    "refuse_links",
    "replace_in",
    "sync",
    "write_new",
]

_HERE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

_LOOK = 0.01  # seconds between looks whether a lock is free


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner alone. What is there stays
    as it is."""
    try:
        folder.mkdir(mode=0o700)
    except FileNotFoundError:
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return
    sync(folder.parent)


def sync(folder: Path) -> None:
    """Have the names in a folder on disk, where a system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_new(path: Path | str, data: bytes, *, within: int | None = None) -> None:
    """Make a file that only its owner may read, on disk and whole when this returns; gone again
    when that fails.

    `within` is the descriptor of an open folder that `path` is relative to.

    Raises:
        FileExistsError: something has this name.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _HERE, 0o600, dir_fd=within)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]  # one call may write less than it was given
        os.fsync(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(path, dir_fd=within)
        raise
    finally:
        os.close(descriptor)


@contextmanager
def alone_in(folder: Path, patience: float) -> Iterator[None]:
    """One process, and one thread of it, at a time is in here for a folder. (Windows has no such
    lock on folders.)

    Raises:
        StoreBusyError: another was in here for as many seconds.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    ends = time.monotonic() + patience
    descriptor = os.open(folder, os.O_RDONLY | _HERE)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > ends:
                    raise StoreBusyError(
                        f"another process changes {folder}", remedy="try again"
                    ) from None
                time.sleep(_LOOK)
        yield
    finally:
        os.close(descriptor)  # which ends the lock


def read_whole(path: Path | str, *, within: int | None = None) -> bytes:
    """What is in a file that is no link."""
    with open(os.open(path, os.O_RDONLY | _HERE, dir_fd=within), "rb") as stream:
        return stream.read()


def replace_in(within: int | None, folder: Path, name: str, data: bytes) -> None:
    """Put new content under a name of a folder, wholly or not at all.

    With `within`, its descriptor, it is that folder, even when it is moved or another takes its
    place meanwhile.
    """
    temporary = f"{name}.{secrets.token_hex(8)}.tmp"
    if within is None:
        write_new(folder / temporary, data)
        os.replace(folder / temporary, folder / name)
    else:
        write_new(temporary, data, within=within)
        os.replace(temporary, name, src_dir_fd=within, dst_dir_fd=within)
        os.fsync(within)


def refuse_links(paths: Iterable[Path]) -> None:
    """See that none of these is a link: who writes through one writes to somebody else's.

    Raises:
        StoreError: one is.
    """
    for path in paths:
        try:
            linked = stat.S_ISLNK(os.lstat(path).st_mode)
        except OSError:
            # nothing of that name, or not to be looked at: whoever opens it says so
            continue
        if linked:
            raise StoreError(
                f"{path} is a link, and a tenant's folder and files are its own",
                remedy=f"put what it points to in its place: {os.path.realpath(path)}",
            )


def destroy(folder: Path, *, secret: str) -> None:
    """Remove a folder so that a stop at any moment leaves nothing readable that was not so before.

    The files whose name begins with `secret` (they hold keys) are overwritten first and go last.
    Any number of threads and processes may destroy one folder at once, or go on with it.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        entries = sorted(folder.iterdir(), key=lambda path: path.name.startswith(secret))
        for path in entries:
            if path.name.startswith(secret):
                _overwrite(path)
        for path in entries:
            with suppress(FileNotFoundError, IsADirectoryError):
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise OSError(0, "not all of it could be removed", str(folder))


def _overwrite(path: Path) -> None:
    with suppress(FileNotFoundError):
        if _only_name(path):
            descriptor = os.open(path, os.O_WRONLY | _HERE)
            try:
                os.write(descriptor, secrets.token_bytes(os.fstat(descriptor).st_size))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _only_name(path: Path) -> bool:
    """Whether this is a file of which nothing else is a name: what has another is not ours to write
    to."""
    found = os.lstat(path)
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def file_error(error: OSError, what: str, remedy: str) -> StoreError:
    """Make our error for one of the system's about files."""
    if error.errno in (ENOSPC, EDQUOT):
        return StoreFullError(f"{what}: no space left", remedy="free some space and retry")
    return ReadOnlyStoreError(f"{what}: {error.strerror or error}", remedy=remedy)
