"""New files that only their owner may read: what is in them is plain, whatever the tenant is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO

from ..errors import ConflictError
from ..store.tenants.folders import file_error


@contextmanager
def create_private(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Create a file to write into; after an error it is gone.

    Raises:
        ConflictError: it exists already.
        ReadOnlyStoreError, StoreFullError, StoreError: it cannot be written.
    """
    try:
        with open(path, "xb", opener=partial(os.open, mode=0o600)) as stream:
            yield stream
    except FileExistsError:
        raise ConflictError(f"{path} is there already", remedy="choose a new file name") from None
    except BaseException as error:
        with suppress(OSError):
            # half of it must not be taken for the whole
            os.unlink(path)
        if isinstance(error, OSError):
            raise file_error(
                error, f"{os.fspath(path)} cannot be written", "choose a folder you may write"
            ) from error
        raise
