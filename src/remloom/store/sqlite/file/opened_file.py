"""The file that was opened, told from another one that is at its path later."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ....errors import StoreClosedError
from .error_translation import closed_error


class OpenedFile:
    """One database file, by what it is and not by where it is.

    Where a tenant was deleted, and perhaps made again, nothing of the old one may be written or
    read.

    Attributes:
        closed: nothing more is read of it or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.closed = False
        # device and number of the file, once it is open
        self._identity: tuple[int, int] | None = None

    def require_same(self) -> None:
        """Check that the file at the path is the one that was opened; the first time it becomes so.

        Raises:
            StoreClosedError: it is not, or was closed.
        """
        if self.closed:
            raise closed_error()
        try:
            status = os.stat(self.path)
        except OSError:
            status = None
        identity = (status.st_dev, status.st_ino) if status else None
        if self._identity is None:
            self._identity = identity
        if identity is None or identity != self._identity:
            raise StoreClosedError(
                f"{self.path} is no longer what was opened: the tenant was deleted, or its folder "
                "moved",
                remedy="close this memory; open it again where it is now",
            )

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Check that what is opened inside is the same file, also when opening it fails, as that
        may be why."""
        try:
            yield
        finally:
            if self._identity:
                self.require_same()
