"""Transcripts of coding agents in files, each recognised by its first lines.

Read is what the user typed, without what the program adds, and what the agent answered in words,
on the branch that was taken; tools, thoughts and sub-agents are left out. What was done stays with
the turns as `actions`. To read one more program, write a module with two functions, and a line in
`FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from ...errors import SourceError
from ..decode import open_regular
from ..document import Document, Skipped
from ..entries import decode
from . import claude_code, codex, copilot, cursor, gemini, opencode
from .json_lines import first_lines

_LOOKED_AT = 20  # lines by which a transcript is recognised
# one of these is in the first bytes of a transcript that is one value of JSON
_MARKS = (b'"projectHash"', b'"sessionID"', b'"projectID"')

Read = Callable[[Path, str], Iterator[Document | Skipped]]


class TranscriptFormat(Struct, frozen=True):
    """A format of transcripts.

    Attributes:
        suffixes: of its files, lower case.
        is_record: whether a decoded line, or a whole file of JSON, is of this format.
        read: gives the chats of a file, by its path and its uri.
    """

    suffixes: tuple[str, ...]
    is_record: Callable[[Any], bool]
    read: Read


_LINES = (".jsonl", ".ndjson")
FORMATS = (
    TranscriptFormat(_LINES, claude_code.is_record, claude_code.read),
    TranscriptFormat(_LINES, codex.is_record, codex.read),
    TranscriptFormat((*_LINES, ".json"), gemini.is_record, gemini.read),
    TranscriptFormat(_LINES, copilot.is_record, copilot.read),
    TranscriptFormat(_LINES, cursor.is_record, cursor.read),
    TranscriptFormat((".json",), opencode.is_record, opencode.read_file),
)


def reader_of(path: Path, suffix: str, head: bytes) -> Read | None:
    """What reads a file as a transcript; None: it is none. `head`: its first bytes."""
    formats = [format for format in FORMATS if suffix in format.suffixes]
    if suffix in _LINES:
        values = first_lines(path, _LOOKED_AT)
    elif any(mark in head for mark in _MARKS):
        values = [_whole(path)]
    else:
        return None
    for format in formats:
        if any(map(format.is_record, values)):
            return format.read
    return None


def _whole(path: Path) -> Any:
    try:
        with open_regular(path, str(path)) as stream:
            return decode(stream.read())
    except (OSError, SourceError, ValueError, RecursionError):
        return None
