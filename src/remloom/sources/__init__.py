"""What can be read: files, folders, chats and standard input, as `Document` values."""

from __future__ import annotations

from .document import Document, Skipped, Turn
from .files import Source, open_source, read_bytes

__all__ = ["Document", "Skipped", "Source", "Turn", "open_source", "read_bytes"]
