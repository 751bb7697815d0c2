"""Loading the documents that are to be opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

__all__ = ["DocumentLoader"]


class DocumentLoader(Protocol):
    """Finds documents in a memory; what it does not have is read in."""

    def load(self, document: str | os.PathLike[str]) -> list[str]:
        """Return the uris of what a path, a uri or a label means; a file is read if it changed.

        Raises:
            NotFoundError: there is neither a file nor a document of this name; names the nearest.
            SourceError: a file that cannot be read.
        """
        ...

    def load_text(self, text: str, name: str) -> str:
        """Read a text in, in place of an earlier one of this name; returns its uri."""
        ...

    def load_rows(self, rows: Iterable[Mapping[str, Any]], name: str) -> str:
        """Read rows in, a line each, in place of earlier ones of this name; returns their uri."""
        ...
