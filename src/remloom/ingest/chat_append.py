"""What a chat that was read before goes on with, at the cost of what is new: nothing further back
than `chats.MOST` turns is read or written. And where a conversation of an export is kept, which
comes once more in the next export under another file name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ..model import Edge, Entity, Moment, Resource
from ..model.supersession import SUPERSEDED, said_text, without_mark
from ..predicates import Eq, Query
from ..sources import Document, Turn, from_messages
from ..sources.texts import title_of
from ..store.contract import Reads
from ..store.specs import ChunkRange
from . import chats
from .documents import PreparedDocument, digest, to_entity
from .edges import chain, follows
from .names import Extractor, Name

_NAMES_BEFORE = 4  # turns before the new ones in which their names are looked for too
_TAIL = chats.MOST  # stored turns that are read

assert _TAIL > chats.BEFORE + chats.AFTER  # noqa: S101 - else contexts would be cut short


def prepare_new_turns(
    store: Reads,
    document: Document,
    *,
    tenant: str,
    extractor: Extractor,
    category: str | None = None,
) -> PreparedDocument | None:
    """Make what is to be written of a chat of which a beginning was read; None when none was, or it
    changed."""
    chat = store.records.get("entities", chats.chat_id(document.uri))
    if not isinstance(chat, Entity) or any(turn.session for turn in document.turns):
        return None
    if document.follows:
        beginning = _beginning_by_ids(store, document)
    else:
        beginning = _beginning_by_turns(store, document, chat, category or document.category)
    if beginning is None:
        return None
    stored_ids = tuple(turn.id for turn in beginning.stored)
    if not beginning.new:
        changed = (beginning.tail[-1],) if beginning.went_on else ()
        return PreparedDocument(
            document.uri,
            (),
            (),
            (),
            whole=False,
            stored_ids=stored_ids,
            changed=changed,
            expected={chat.id: chat.revision} if changed else {},
        )
    following = _Following(beginning, chat)
    prepared = following.prepare(store, tenant, extractor, category)
    return replace(prepared, stored_ids=stored_ids)


def join_stored(store: Reads, document: Document) -> tuple[Document, dict[str, object]]:
    """The whole of a chat that a document follows; and the stored record that it rests on, as id to
    `revision`."""
    before = chats.stored_chat(store, document.uri)
    title = document.title or before.title or title_of(document.uri)
    messages = before.followed_by(turn.message for turn in document.turns)
    whole = from_messages(messages, uri=document.uri, name=title)
    return whole, {before.id: before.revision}


class _Beginning(Struct, frozen=True):
    document: Document
    stored: Sequence[Resource]  # turns of the document that are stored
    tail: Sequence[Resource]  # the last stored turns
    new: Sequence[Turn]
    went_on: bool = False  # more was done after the last stored turn; the tail has it


def _beginning_by_ids(store: Reads, document: Document) -> _Beginning | None:
    """Messages are known by id; None when one of them was stored with other words."""
    tail = store.records.chunks(document.uri, ChunkRange(limit=_TAIL, last=True))
    if not tail or document.title not in ("", tail[-1].metadata["title"]):
        return None
    # of several messages with one id the last counts; those without are all new
    last = {turn.message.id or position: turn for position, turn in enumerate(document.turns)}
    ids = [id for id in last if isinstance(id, str)]
    messages = store.records.messages(document.uri, ids) if ids else []
    stored = {message.id: message for message in map(chats.message_of, messages)}
    # one was edited: the chat is read as a whole again
    if any(last[id].message != message for id, message in stored.items()):
        return None
    new = [turn for id, turn in last.items() if id not in stored]
    titled = replace(document, title=tail[-1].metadata["title"])
    return _Beginning(titled, messages, tail, new)


def _beginning_by_turns(
    store: Reads,
    document: Document,
    chat: Entity,
    category: str,
) -> _Beginning | None:
    """The beginning of a chat that the document has whole; None when it changed since."""
    stored = store.records.chunks(document.uri)
    # the digest is of the title and the like, which every record of the chat rests on
    if not stored or chat.properties.get("digest") != digest(document):
        return None
    if len(stored) > len(document.turns):
        return None
    went_on = False
    for position, (resource, turn) in enumerate(zip(stored, document.turns, strict=False)):
        if not _is_stored_as(resource, document, position, turn, category):
            return None
        went_on = resource.metadata.get("actions", {}) != turn.actions
        if went_on and position < len(stored) - 1:
            return None
    tail = list(stored[-_TAIL:])
    if went_on:
        actions = document.turns[len(stored) - 1].actions
        tail[-1] = replace(tail[-1], metadata={**tail[-1].metadata, "actions": actions})
    return _Beginning(document, stored, tail, document.turns[len(stored) :], went_on)


def _is_stored_as(
    resource: Resource,
    document: Document,
    position: int,
    turn: Turn,
    category: str,
) -> bool:
    lines = list(turn.lines) if turn.lines and document.lined else None
    return (
        resource.ordinal == position
        and resource.category == category
        and resource.metadata.get("title") == document.title
        and chats.is_turn(resource)
        and chats.message_of(resource) == turn.message
        and resource.metadata.get("lines") == lines
    )


class _Following:
    """New turns behind the last ones of a chat. Positions count from the first turn of the tail."""

    def __init__(self, beginning: _Beginning, chat: Entity) -> None:
        self._document = beginning.document
        self._chat = chat
        self._tail = beginning.tail
        self._new = beginning.new
        self._went_on = beginning.went_on
        self._size = len(self._tail)
        self._turns = [*map(chats.shown, self._tail), *self._new]
        # those with something new
        self._sessions = [span for span in chats.part_sessions(self._turns) if span[1] > self._size]

    def prepare(
        self,
        store: Reads,
        tenant: str,
        extractor: Extractor,
        category: str | None,
    ) -> PreparedDocument:
        names, names_by_turn = self._find_names(extractor)
        contexts = self._contexts()
        ordinal = self._tail[-1].ordinal + 1
        resources = [
            chats.turn_resource(
                self._document,
                self._chat.name,
                tenant,
                ordinal + number,
                turn,
                names=named,
                context=contexts[self._size + number],
                category=category,
            )
            for number, (turn, named) in enumerate(zip(self._new, names_by_turn, strict=True))
        ]
        edges: list[Edge] = []
        for turn, resource, named in zip(self._new, resources, names_by_turn, strict=True):
            edges += chats.edges_of_turn(resource, turn, named)
        # edges reach back to the last stored turn
        every = [*self._tail, *resources]
        edges += self._chain(every)
        moments = self._moments(store, every)
        for moment, turns in moments:
            edges += chats.edges_of_moment(moment, turns)
        others: list[Entity | Moment] = [
            self._grown_chat(),
            *map(to_entity, self._new_names(names, names_by_turn)),
            *(moment for moment, _ in moments),
        ]
        return PreparedDocument(
            self._document.uri,
            tuple(resources),
            tuple(others),
            tuple(edges),
            whole=False,
            changed=self._changed(contexts),
            expected={self._chat.id: self._chat.revision},
        )

    def _changed(self, contexts: dict[int, str]) -> tuple[Resource, ...]:
        """The stored turns that have another context now, or after which more was done."""
        turns = {
            position: replace(self._tail[position], context=context)
            for position, context in contexts.items()
            if position < self._size and context != self._tail[position].context
        }
        if self._went_on:
            turns.setdefault(self._size - 1, self._tail[-1])
        return tuple(turns.values())

    def _find_names(self, extractor: Extractor) -> tuple[list[Name], list[list[Name]]]:
        """The names in the new turns and a few before them, and those of each new turn."""
        start = max(0, self._size - _NAMES_BEFORE)
        names, names_by_turn = chats.find_names(self._turns[start:], extractor)
        return names, names_by_turn[-len(self._new) :]

    def _new_names(
        self,
        names: Sequence[Name],
        names_by_turn: Sequence[Sequence[Name]],
    ) -> list[Name]:
        speakers = {turn.message.speaker for turn in self._new}
        named = {id(name) for turn_names in names_by_turn for name in turn_names}
        return [
            name
            for name in names
            if id(name) in named or (not name.spans and name.name in speakers)
        ]

    def _contexts(self) -> dict[int, str]:
        contexts = {}
        for first, last in self._sessions:
            session = self._turns[first:last]
            for position in range(max(first, self._size - chats.AFTER), last):
                contexts[position] = chats.turn_context(session, position - first)
        return contexts

    def _chain(self, turns: Sequence[Resource]) -> list[Edge]:
        edges: list[Edge] = []
        for first, last in self._sessions:
            edges += chain(turns[max(first, self._size) : last], self._chat.name, "chat")
            if first < self._size:
                edges.append(follows(turns[self._size - 1], turns[self._size]))
        return edges

    def _grown_chat(self) -> Entity:
        # what is new was not replaced
        properties = without_mark(self._chat, SUPERSEDED).properties
        begun = sum(first >= self._size for first, _ in self._sessions)
        counts = {
            "turns": properties.get("turns", 0) + len(self._new),
            "sessions": properties.get("sessions", 0) + begun,
        }
        return replace(self._chat, properties={**properties, **counts})

    def _moments(
        self,
        store: Reads,
        turns: Sequence[Resource],
    ) -> list[tuple[Moment, list[Resource]]]:
        """The moments that change or begin, each with the new turns in it."""
        moments: list[tuple[Moment, list[Resource]]] = []
        number = self._chat.properties.get("sessions", 0)
        for first, last in self._sessions:
            start = max(first, self._size)
            part = 1
            open_moment = self._last_moment(store) if first < self._size else None
            if open_moment:
                session = str(open_moment.metadata["session"])
                grown, added = self._grow(store, open_moment, turns[start:last])
                if added:
                    moments.append((grown, added))
                start += len(added)
                part = int(open_moment.metadata.get("part", 1)) + 1
            else:
                number += 1
                session = str(number)
            while start < last:
                members = list(turns[start : min(start + chats.MOST, last)])
                uri, title = self._document.uri, self._chat.name
                moments.append((chats.moment(uri, title, session, part, members), members))
                start += len(members)
                part += 1
        return moments

    def _grow(
        self,
        store: Reads,
        moment: Moment,
        turns: Sequence[Resource],
    ) -> tuple[Moment, list[Resource]]:
        """A moment with as many of these turns as it has room for, and those."""
        members = self._members(store, moment)
        added = list(turns[: max(0, chats.MOST - len(members))])
        return chats.describe(moment, [*members, *added]), added

    def _last_moment(self, store: Reads) -> Moment | None:
        for moment in store.records.referring([self._tail[-1].id]):
            if moment.metadata.get("uri") == self._document.uri and "session" in moment.metadata:
                return moment
        return None

    def _members(self, store: Reads, moment: Moment) -> list[Resource]:
        by_id = {turn.id: turn for turn in self._tail}
        records = [
            by_id.get(id) or store.records.get("resources", id) for id in moment.resource_refs
        ]
        resources = [record for record in records if isinstance(record, Resource)]
        return [resource for resource in resources if chats.is_turn(resource)]


class ExportedChats:
    """The conversations of exports that a store has, or gets in this reading.

    One that was read before is gone on with where it was read first. What was read by an earlier
    version is known by its uri, which ends with the conversation's id. Of another account a
    conversation may have the same id: without a turn in common it is another one.
    """

    def __init__(self, store: Reads) -> None:
        self._store = store

    def is_begun(self, document: Document) -> bool:
        """Whether a conversation of this id was read, or is being read, from another file."""
        if self._is_stored(document.uri):
            return False
        uris = self._uris.get(document.conversation, [document.uri])
        return document.uri not in uris

    def locate(self, document: Document) -> Document:
        """The document of a conversation, under the uri that it was first read from."""
        if self._is_stored(document.uri):
            return document
        uris = self._uris.setdefault(document.conversation, [document.uri])
        # an earlier version may have read it from several files: each stays what it is
        if document.uri in uris:
            return document
        known_uri = next((uri for uri in reversed(uris) if self._has_turn_of(uri, document)), "")
        if not known_uri:
            uris.append(document.uri)
        return replace(document, uri=known_uri or document.uri)

    def _is_stored(self, uri: str) -> bool:
        """Whether a chat was read from here, which spares a pass over all of them."""
        return self._store.records.get("entities", chats.chat_id(uri)) is not None

    def _has_turn_of(self, uri: str, document: Document) -> bool:
        """Whether a turn of the document was read under a uri, by ids, else by its words."""
        ids = [turn.message.id for turn in document.turns if turn.message.id]
        if ids:
            return bool(self._store.records.messages(uri, ids))
        texts = {turn.message.text for turn in document.turns}
        return any(said_text(turn) in texts for turn in self._store.records.chunks(uri))

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
    """Whether what is stored of a conversation goes on behind the last turn of this document; or,
    if that is in another file (`elsewhere`), ends with it. Else a folder with two exports would go
    to and fro between their titles. What a program has as it is now may be less than it was."""
    if document.current:
        return False
    last = reads.records.chunks(document.uri, ChunkRange(limit=1, last=True))
    if not last:
        return False
    turns, stored = last[0].ordinal + 1, last[0].starts_at
    newest = max((turn.message.at for turn in document.turns if turn.message.at), default=None)
    if stored is None or newest is None:
        return elsewhere and len(document.turns) <= turns
    return newest < stored or (elsewhere and newest == stored and len(document.turns) <= turns)
