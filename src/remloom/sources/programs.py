"""What other programs keep: recognised by what is in a file, and read piece by piece, however
large it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from . import databases, decode, streams
from .chats import coding_transcripts, exports
from .document import Document, Skipped
from .documents import formats

_TEXTS = (".json", ".jsonl", ".ndjson")
Reader = Callable[[Path, str], Iterator[Document | Skipped]]

# what an export has beside its conversations: the account, uploads, what the model remembers
_BESIDE = re.compile(
    r"(?:users?|user_settings|projects|memories|message_feedback|model_comparisons|group_chats|"
    r"shared_conversations|export_manifest)\.json|chat\.html|file[-_].+",
    re.I,
)


def find_reader(path: Path, suffix: str, named: bool) -> Reader | None:
    """Find what reads a file; None if it is a document like others.

    Args:
        suffix: of its name, lower case.
        named: it was asked for by name: only then a database or a zip is opened.
    """
    if not named and suffix not in _TEXTS:
        return None
    head = streams.head(path)
    kind = decode.sniff(head)
    if named and kind == decode.SQLITE:
        return databases.read
    # a DOCX is a zip too
    if named and kind == decode.ZIP and suffix not in formats.MEDIA_TYPES:
        return exports.read_zip
    if suffix == ".json" and exports.is_export(head):
        return exports.read_json
    if suffix != ".json" and suffix in _TEXTS and coding_transcripts.is_transcript(path):
        return coding_transcripts.read
    return None


def belongs_to_export(path: Path) -> bool:
    """Whether a file stands beside the conversations of an unpacked export, and is none of them."""
    if not _BESIDE.fullmatch(path.name):
        return False
    return any(
        exports.is_export(streams.head(sibling))
        for sibling in path.parent.glob("conversations*.json")
    )
