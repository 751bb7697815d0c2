"""Private folders and files: written whole or not at all, and never reached through a link."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import ReadOnlyStoreError, StoreBusyError, StoreError, StoreFullError

# flags of a file that is opened, and may be no link
NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

_POLL_INTERVAL = 0.01  # seconds between attempts to take a lock


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
    """Flush the names in a folder to disk, where the system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_without_links(folder: Path) -> int:
    """Open a folder for its descriptor: neither it nor any folder above it may be a link. (Not for
    Windows.)

    Raises:
        OSError: one is, or it cannot be opened.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    path = folder.absolute()
    if at_once := getattr(os, "O_NOFOLLOW_ANY", 0):  # pragma: no cover - macOS
        return os.open(path, flags | at_once)
    # Those above it need not be readable.
    above = flags | getattr(os, "O_PATH", 0)
    descriptor = os.open(path.anchor, above)
    for name in path.parts[1:-1]:
        descriptor = _step(descriptor, name, above)
    return _step(descriptor, path.name or ".", flags)


def _step(descriptor: int, name: str, flags: int) -> int:
    """Go from an open folder into one in it, which is not a link."""
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def write_new(path: Path | str, data: bytes, *, within: int | None = None) -> None:
    """Make a file that only its owner may read, whole and on disk when this returns; removed again
    when that fails.

    Args:
        within: the descriptor of an open folder that `path` is relative to.

    Raises:
        FileExistsError: something has this name.
    """
    descriptor = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS, 0o600, dir_fd=within
    )
    try:
        remaining = memoryview(data)
        # One call may write less than it was given.
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]
        os.fsync(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(path, dir_fd=within)
        raise
    finally:
        os.close(descriptor)


@contextmanager
def alone_in(folder: Path, patience: float) -> Iterator[None]:
    """Hold a lock on a folder, which one thread of one process can have at a time. (Windows has no
    such lock.)

    Args:
        patience: seconds to wait for it.

    Raises:
        StoreBusyError: another had it for as long.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    deadline = time.monotonic() + patience
    descriptor = os.open(folder, os.O_RDONLY | NO_LINKS)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreBusyError(
                        f"another process changes {folder}", remedy="try again"
                    ) from None
                time.sleep(_POLL_INTERVAL)
        yield
    finally:
        # Closing it ends the lock.
        os.close(descriptor)


def read_whole(path: Path | str, *, within: int | None = None) -> bytes:
    """Read a file that is not a link."""
    with open(os.open(path, os.O_RDONLY | NO_LINKS, dir_fd=within), "rb") as stream:
        return stream.read()


def replace_in(within: int | None, folder: Path, name: str, data: bytes) -> None:
    """Replace a file of a folder, wholly or not at all.

    Args:
        within: the folder's descriptor. With it the file stays in that folder, even when it is
            moved, or another gets its name, meanwhile.
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
    """Refuse links: writing through one would change a file elsewhere.

    Raises:
        StoreError: one of these paths is a link.
    """
    for path in paths:
        try:
            linked = stat.S_ISLNK(os.lstat(path).st_mode)
        except OSError:
            # Missing, or not accessible: opening it says so.
            continue
        if linked:
            target = "what it points to"
            with suppress(OSError):  # it was taken away just now
                target = os.path.realpath(path)
            raise StoreError(
                f"{path} is a link, and a tenant's folder and files are its own",
                remedy=f"put in its place: {target}",
            )


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Turn errors of the system inside into ours: see `file_error`. Also a decorator."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise file_error(error, f"{what}{where}", "check its permissions") from error


def file_error(error: OSError, what: str, remedy: str) -> StoreError:
    """Translate an error of the system about files.

    Args:
        what: what cannot be done.
        remedy: where it is not allowed, or not possible there.
    """
    message = f"{what}: {error.strerror or error}"
    match error.errno:
        case errno.ENOSPC:
            return StoreFullError(f"{what}: no space left", remedy="free some space and retry")
        case errno.EDQUOT | errno.EFBIG:
            return StoreFullError(
                message, remedy="raise the quota, or the limit of a file (`ulimit -f`), and retry"
            )
        case errno.EMFILE | errno.ENFILE:
            return StoreBusyError(
                message, remedy="close memories, or raise the limit of open files (`ulimit -n`)"
            )
        case errno.EIO:
            return StoreError(message, remedy="the disk may be failing: check it, and back up")
        case _:
            return ReadOnlyStoreError(message, remedy=remedy)
