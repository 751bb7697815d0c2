"""A memory as a stream between a server and a file of one's own."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from ..engine.private_files import create_private
from ..errors import ConflictError, ServerError
from ..model import Exported
from .replies import UNREADABLE

_PIECE = 1 << 16  # bytes
_TAIL = 4_096  # bytes in which the last line of an export stands
_END_OF_ARCHIVE = bytes(2 * tarfile.BLOCKSIZE)


class ExportFile:
    """A new file, or an open stream, that an export is written into. A context manager."""

    def __init__(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        self._path = path
        self._stack = ExitStack()
        self._tail = b""

    def __enter__(self) -> ExportFile:
        if isinstance(self._path, str | os.PathLike):
            self._stream = self._stack.enter_context(create_private(self._path))
        else:
            self._stream = self._path
        self._stack.__enter__()
        return self

    def __exit__(self, *error: object) -> bool | None:
        return self._stack.__exit__(*error)  # type: ignore[arg-type]  # as it was given

    def write(self, piece: bytes) -> None:
        self._stream.write(piece)
        self._tail = (self._tail + piece)[-_TAIL:]

    def counts(self) -> Exported:
        """Read how much was exported out of the last line.

        Raises:
            ServerError: there is none: the export was cut off.
        """
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
        """Put the folder in its place, whole or not at all.

        Raises:
            ServerError: what came is no backup, or not all of one.
        """
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
    with ExitStack() as stack:
        if isinstance(path, str | os.PathLike):
            stream: IO[bytes] = stack.enter_context(open(path, "rb"))
        else:
            stream = path
        yield iter(lambda: stream.read(_PIECE), b"")


def _cut_off(what: str) -> ServerError:
    return ServerError(f"the {what} was cut off", remedy=f"{what} again")


def _check_members(archive: tarfile.TarFile) -> None:
    """Refuse an archive that has more than files and folders, or one that is outside its folder.

    Raises:
        ServerError: it has.
    """
    for member in archive.getmembers():
        place = PurePosixPath(member.name)
        is_plain = member.isreg() or member.isdir()
        if not is_plain or place.is_absolute() or ".." in place.parts or "\\" in member.name:
            raise ServerError(
                f"the backup has {member.name!r}, which is no file or folder of its own",
                remedy="look at the server that it came from",
            )
