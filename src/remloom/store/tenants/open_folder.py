"""A folder that is held open: what is in it is reached through it and not by its path, so that
nobody can put a link in the way.

Where the system has no such descriptors (Windows), the path is looked at before each step.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from . import folders

_HAS_DESCRIPTORS = (
    {os.open, os.mkdir, os.rename, os.unlink, os.rmdir, os.stat} <= os.supports_dir_fd
    and os.listdir in os.supports_fd
    and hasattr(os, "O_NOFOLLOW")
)
_IS_REPARSED = getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)  # a link or a junction of Windows


class OpenFolder:
    """One folder, whatever its path leads to by now.

    Attributes:
        path: where it was, to show.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    @contextmanager
    def at(cls, path: Path) -> Iterator[OpenFolder]:
        """Open the folder that a path leads to, through links too."""
        if not _HAS_DESCRIPTORS:
            yield cls(path, None)
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)

    @classmethod
    @contextmanager
    def without_links(cls, path: Path) -> Iterator[OpenFolder]:
        """Open a folder that is not a link, and has none above it.

        What stands beside a database is opened through this and not by its path: a link may have
        been put above it after the database was opened.

        Raises:
            OSError: there is a link, or it cannot be opened.
        """
        if not _HAS_DESCRIPTORS:
            yield cls(path, None)
            return
        descriptor = folders.open_without_links(path)
        try:
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def inside(self, name: str, *, create: bool = False) -> Iterator[OpenFolder]:
        """Open a folder that is in this one, and no link.

        Args:
            create: make it, for its owner alone, when it is not there.

        Raises:
            StoreError: it is a link.
            OSError: it is not a folder, not there, or may not be opened.
        """
        if create:
            with suppress(FileExistsError):
                self.make(name)
        folders.refuse_links([self.path / name])
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
        """List what is in it."""
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
        return os.open(self._of(name), flags | folders.NO_LINKS, 0o600, dir_fd=self._descriptor)

    def write_new(self, name: str, data: bytes) -> None:
        """Make a file: see `folders.write_new`."""
        folders.write_new(self._of(name), data, within=self._descriptor)

    def unlink(self, name: str) -> None:
        """Remove a file or a link."""
        os.unlink(self._of(name), dir_fd=self._descriptor)

    def remove_empty(self, name: str) -> None:
        """Remove a folder that has nothing in it."""
        os.rmdir(self._of(name), dir_fd=self._descriptor)

    def move(self, name: str, target: OpenFolder, new_name: str) -> None:
        """Move what has a name here into another folder."""
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
        and go last. Any number of threads and processes may destroy one folder at once, or go on
        with it.
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
