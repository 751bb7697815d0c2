"""Private folders and files: written whole or not at all, and never reached through a link.

What is in an `OpenFolder` is reached through it and not by its path, so that nobody can put a link
in the way. Where the system has no such descriptors (Windows), the path is looked at before each
step.
"""

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

_HAS_DESCRIPTORS = (
    {os.open, os.mkdir, os.rename, os.unlink, os.rmdir, os.stat} <= os.supports_dir_fd
    and os.listdir in os.supports_fd
    and hasattr(os, "O_NOFOLLOW")
)
_IS_REPARSED = getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)  # a link or a junction of Windows
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
    """Open a folder for its descriptor (not on Windows). Raises OSError: it cannot be opened, or it
    or a folder above it is a link."""
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
    such lock.) Raises StoreBusyError: another had it for `patience` seconds."""
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
    with open(os.open(path, os.O_RDONLY | NO_LINKS, dir_fd=within), "rb") as stream:
        return stream.read()


def replace_in(within: int | None, folder: Path, name: str, data: bytes) -> None:
    """Replace a file of a folder, wholly or not at all. With the folder's descriptor (`within`) the
    file stays in that folder, even when it is moved, or another gets its name, meanwhile."""
    temporary = f"{name}.{secrets.token_hex(8)}.tmp"
    if within is None:
        write_new(folder / temporary, data)
        os.replace(folder / temporary, folder / name)
    else:
        write_new(temporary, data, within=within)
        os.replace(temporary, name, src_dir_fd=within, dst_dir_fd=within)
        os.fsync(within)


def refuse_links(paths: Iterable[Path]) -> None:
    """Refuse links: writing through one would change a file elsewhere. Raises StoreError."""
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


@contextmanager
def refusing(what: str, remedy: str) -> Iterator[None]:
    """Raise errors of the system inside as ours: see `file_error`."""
    try:
        yield
    except OSError as error:
        raise file_error(error, what, remedy) from error


def file_error(error: OSError, what: str, remedy: str) -> StoreError:
    """Translate an error of the system about files: what cannot be done, and the remedy where it is
    not allowed, or not possible there."""
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


class OpenFolder:
    """One folder, whatever its path leads to by now; `path` is where it was, to show."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    @contextmanager
    def at(cls, path: Path, *, links: bool = True) -> Iterator[OpenFolder]:
        """Open the folder that a path leads to.

        Args:
            links: false for one that is not a link, and has none above it: what stands beside a
                database is opened through it, as a link may have been put above it since.

        Raises:
            OSError: it cannot be opened, or there is a link that may not be.
        """
        if not _HAS_DESCRIPTORS:
            yield cls(path, None)
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        descriptor = os.open(path, flags) if links else open_without_links(path)
        try:
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def inside(self, name: str, *, create: bool = False) -> Iterator[OpenFolder]:
        """Open a folder that is in this one, made for its owner alone if it is not there and
        `create`. Raises StoreError: it is a link; OSError: it is not a folder, or may not be
        opened."""
        if create:
            with suppress(FileExistsError):
                self.make(name)
        refuse_links([self.path / name])
        if self._descriptor is None:
            if not self.is_folder(name):
                raise NotADirectoryError(0, "not a folder", str(self.path / name))
            yield OpenFolder(self.path / name, None)
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=self._descriptor)
        try:
            yield OpenFolder(self.path / name, descriptor)
        finally:
            os.close(descriptor)

    def names(self) -> list[str]:
        return os.listdir(self.path if self._descriptor is None else self._descriptor)

    def status(self, name: str) -> os.stat_result:
        """Return what the system says of what has a name here, a link itself included."""
        return os.stat(self._of(name), dir_fd=self._descriptor, follow_symlinks=False)

    def is_folder(self, name: str) -> bool:
        """Whether this is the name of a folder, and not of a link to one."""
        status = self.status(name)
        reparsed = getattr(status, "st_file_attributes", 0) & _IS_REPARSED
        return stat.S_ISDIR(status.st_mode) and not reparsed

    def make(self, name: str) -> None:
        """Make a folder for its owner alone."""
        os.mkdir(self._of(name), mode=0o700, dir_fd=self._descriptor)

    def open_file(self, name: str, flags: int) -> int:
        """Open a file that is not a link; one that is made is for its owner alone."""
        return os.open(self._of(name), flags | NO_LINKS, 0o600, dir_fd=self._descriptor)

    def write_new(self, name: str, data: bytes) -> None:
        write_new(self._of(name), data, within=self._descriptor)

    def unlink(self, name: str) -> None:
        os.unlink(self._of(name), dir_fd=self._descriptor)

    def remove_empty(self, name: str) -> None:
        os.rmdir(self._of(name), dir_fd=self._descriptor)

    def move(self, name: str, target: OpenFolder, new_name: str) -> None:
        os.rename(
            self._of(name),
            target._of(new_name),
            src_dir_fd=self._descriptor,
            dst_dir_fd=target._descriptor,
        )

    def replace(self, name: str, new_name: str) -> None:
        """Give a file another name here, in the place of what has that."""
        os.replace(
            self._of(name),
            self._of(new_name),
            src_dir_fd=self._descriptor,
            dst_dir_fd=self._descriptor,
        )

    def sync(self) -> None:
        """Flush the names in it to disk, where the system can do that."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def destroy(self, name: str, *, secret: str) -> None:
        """Remove what has a name here, so that a stop at any moment leaves nothing readable that
        was not so before. Of a link the link goes, and nothing behind it is touched.

        In a folder the files whose name begins with `secret` (they hold keys) are overwritten first
        and go last. Any number of threads and processes may destroy one folder at once.
        """
        with suppress(FileNotFoundError):
            if not self.is_folder(name):
                self.unlink(name)
                return
            with self.inside(name) as folder:
                # False sorts first: the files with keys go last.
                entries = sorted(folder.names(), key=lambda entry: entry.startswith(secret))
                for entry in entries:
                    if entry.startswith(secret):
                        folder._overwrite(entry)
                for entry in entries:
                    folder.destroy(entry, secret=secret)
            self.remove_empty(name)

    def _overwrite(self, name: str) -> None:
        """Overwrite a file with noise. One that has another name may belong to somebody else."""
        with suppress(FileNotFoundError):
            if not _is_alone(self.status(name)):
                return
            descriptor = self.open_file(name, os.O_WRONLY)
            try:
                if _is_alone(status := os.fstat(descriptor)):
                    os.write(descriptor, secrets.token_bytes(status.st_size))
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _of(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)


def _is_alone(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1
