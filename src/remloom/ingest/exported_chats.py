"""Exported chats: where each conversation of an export is kept, whichever file it comes in next.

An export has all conversations once more, under another file name. One that was read before is
gone on with where it was read first, so that nothing is there twice; what was read by an earlier
version is known by its uri, which ends with the conversation's id. Of another account a
conversation may have the same id: without a turn in common it is another one.
"""

from __future__ import annotations

from functools import cached_property

from msgspec.structs import replace

from ..model import Entity
from ..predicates import Eq, Query
from ..sources import Document
from ..store.contract import Reads
from ..store.specs import ChunkRange


class ExportedChats:
    """The conversations of exports that a store has, or gets in this reading."""

    def __init__(self, store: Reads) -> None:
        self._store = store

    def is_begun(self, document: Document) -> bool:
        """Whether a conversation of this id was read, or is being read, from another file."""
        uris = self._uris.get(document.conversation, [document.uri])
        return document.uri not in uris

    def locate(self, document: Document) -> Document:
        """The document of a conversation, under the uri that it was first read from."""
        uris = self._uris.setdefault(document.conversation, [document.uri])
        # an earlier version may have read it from several files: each stays what it is
        if document.uri in uris:
            return document
        known_uri = next((uri for uri in reversed(uris) if self._has_turn_of(uri, document)), "")
        if not known_uri:
            uris.append(document.uri)
        return replace(document, uri=known_uri or document.uri)

    def _has_turn_of(self, uri: str, document: Document) -> bool:
        """Whether a turn of the document was read under a uri; told by ids, else by its words."""
        ids = [turn.message.id for turn in document.turns if turn.message.id]
        if ids:
            return bool(self._store.records.messages(uri, ids))
        texts = {turn.message.text for turn in document.turns}
        return any(turn.content in texts for turn in self._store.records.chunks(uri))

    @cached_property
    def _uris(self) -> dict[str, list[str]]:
        """Where each conversation is, the longest last. One pass over the stored chats."""
        chats = self._store.records.query("entities", Query().filter(Eq("type", "chat")))
        found: dict[str, list[tuple[int, str]]] = {}
        for chat in chats:
            if isinstance(chat, Entity) and chat.properties.get("program"):
                uri, turns = chat.uri, int(chat.properties.get("turns", 0))
                _, _, id = uri.rpartition("#")
                found.setdefault(f"{chat.properties['program']}/{id}", []).append((turns, uri))
        return {name: [uri for _, uri in sorted(some)] for name, some in found.items()}


def is_known(reads: Reads, document: Document, *, elsewhere: bool) -> bool:
    """Whether what is stored of a conversation goes on behind the last turn of this document.

    Args:
        elsewhere: the document is in another file than what is stored: then also whether both end
            at the same turn. Else a folder with two exports would go to and fro between their
            titles.
    """
    last = reads.records.chunks(document.uri, ChunkRange(limit=1, last=True))
    if not last:
        return False
    turns, stored = last[0].ordinal + 1, last[0].starts_at
    newest = max((turn.message.at for turn in document.turns if turn.message.at), default=None)
    if stored is None or newest is None:
        return elsewhere and len(document.turns) <= turns
    return newest < stored or (elsewhere and newest == stored and len(document.turns) <= turns)
