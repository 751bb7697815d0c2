"""Files, folders, chats and standard input as `Document` values."""

from __future__ import annotations

from .document import Document, Skipped, Turn
from .documents.convert import Limits
from .files import Source, find_files, open_source, read_bytes
from .inline import from_messages, from_text

__all__ = [
    "Document",
    "Limits",
    "Skipped",
    "Source",
    "Turn",
    "find_files",
    "from_messages",
    "from_text",
    "open_source",
    "read_bytes",
]
