"""What a chat that was read before goes on with, at the cost of what is new.

A turn's context rests on a few turns beside it, its names on the turns read with it and a few
before them, and its moment on at most `chats.MOST` turns. So nothing further back is read or
written, however long the chat is.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..model import Edge, Entity, Moment, Resource
from ..sources import Document, Turn, from_messages
from ..sources.files import title_of
from ..store.contract import Reads
from ..store.specs import ChunkRange
from . import chats
from .documents import digest, to_entity
from .edges import chain, follows
from .names.name import Extractor, Name
from .prepared import Prepared

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
) -> Prepared | None:
    """Make what is to be written of a chat of which a beginning was read: nothing, if that is all.

    None when there is no such beginning: it was not read yet, or what was read of it changed.
    """
    chat = store.records.get("entities", chats.chat_id(document.uri))
    if not isinstance(chat, Entity) or any(turn.session for turn in document.turns):
        return None
    if document.follows:
        beginning = _beginning_by_ids(store, document)
    else:
        beginning = _beginning_by_turns(store, document, chat, category or document.category)
    if beginning is None:
        return None
    stored_ids = tuple(turn.id for turn in beginning.given)
    if not beginning.new:
        return Prepared(document.uri, (), (), (), stored_ids=stored_ids)
    following = _Following(beginning.document, chat, beginning.tail, beginning.new)
    prepared = following.prepare(store, tenant, extractor, category)
    return replace(prepared, stored_ids=stored_ids)


def join_stored(store: Reads, document: Document) -> tuple[Document, dict[str, object]]:
    """Join a document to the chat that it follows.

    Returns: the whole chat, and the stored record that it rests on, as id to `updated_at`.
    """
    before = chats.stored_chat(store, document.uri)
    title = document.title or before.title or title_of("", document.uri)
    messages = before.followed_by(turn.message for turn in document.turns)
    whole = from_messages(messages, uri=document.uri, name=title)
    return whole, {before.id: before.updated_at}


class _Beginning(Struct, frozen=True):
    """What is stored of a chat, and what is new."""

    document: Document
    given: Sequence[Resource]  # turns of the document that are stored
    tail: Sequence[Resource]  # the last stored turns
    new: Sequence[Turn]


def _beginning_by_ids(store: Reads, document: Document) -> _Beginning | None:
    """The beginning of a chat that the document only goes on with: messages are known by id.

    None when one of them was stored with other words.
    """
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
    """The beginning of a chat that the document holds whole; None when it changed since."""
    stored = store.records.chunks(document.uri)
    # the digest is of the title and the like, which every record of the chat rests on
    if not stored or chat.properties.get("digest") != digest(document):
        return None
    if len(stored) > len(document.turns):
        return None
    for position, (resource, turn) in enumerate(zip(stored, document.turns, strict=False)):
        if not _is_stored_as(resource, document, position, turn, category):
            return None
    return _Beginning(document, stored, stored[-_TAIL:], document.turns[len(stored) :])


def _is_stored_as(
    resource: Resource,
    document: Document,
    position: int,
    turn: Turn,
    category: str,
) -> bool:
    """Whether a resource is this turn of the document, in every respect."""
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

    def __init__(
        self,
        document: Document,
        chat: Entity,
        tail: Sequence[Resource],
        new: Sequence[Turn],
    ) -> None:
        self._document = document
        self._chat = chat
        self._tail = tail
        self._new = new
        self._size = len(tail)
        stored = [Turn(message=chats.message_of(turn)) for turn in tail]
        self._turns = [*stored, *new]
        # those with something new
        self._sessions = [span for span in chats.part_sessions(self._turns) if span[1] > self._size]

    def prepare(
        self,
        store: Reads,
        tenant: str,
        extractor: Extractor,
        category: str | None,
    ) -> Prepared:
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
        return Prepared(
            self._document.uri,
            tuple(resources),
            tuple(others),
            tuple(edges),
            whole=False,
            changed=tuple(self._changed(contexts)),
            expected={self._chat.id: self._chat.updated_at},
        )

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
        """The names that the new turns have, with their speakers."""
        speakers = {turn.message.speaker for turn in self._new}
        named = {id(name) for turn_names in names_by_turn for name in turn_names}
        return [
            name
            for name in names
            if id(name) in named or (not name.spans and name.name in speakers)
        ]

    def _contexts(self) -> dict[int, str]:
        """The contexts of the new turns, and of the stored ones that they stand beside."""
        contexts = {}
        for first, last in self._sessions:
            session = self._turns[first:last]
            for position in range(max(first, self._size - chats.AFTER), last):
                contexts[position] = chats.turn_context(session, position - first)
        return contexts

    def _changed(self, contexts: dict[int, str]) -> list[Resource]:
        """The stored turns that have another context now."""
        return [
            replace(self._tail[position], context=context)
            for position, context in contexts.items()
            if position < self._size and context != self._tail[position].context
        ]

    def _chain(self, turns: Sequence[Resource]) -> list[Edge]:
        edges: list[Edge] = []
        for first, last in self._sessions:
            edges += chain(turns[max(first, self._size) : last], self._chat.name, "chat")
            if first < self._size:
                edges.append(follows(turns[self._size - 1], turns[self._size]))
        return edges

    def _grown_chat(self) -> Entity:
        """The chat with its new turns and sessions counted."""
        properties = self._chat.properties
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
        """A moment with as many of these turns as it has room for; and those."""
        members = self._members(store, moment)
        added = list(turns[: max(0, chats.MOST - len(members))])
        return chats.describe(moment, [*members, *added]), added

    def _last_moment(self, store: Reads) -> Moment | None:
        """The moment of the last turn that is stored."""
        for moment in store.records.referring([self._tail[-1].id]):
            if moment.metadata.get("uri") == self._document.uri and "session" in moment.metadata:
                return moment
        return None

    def _members(self, store: Reads, moment: Moment) -> list[Resource]:
        """The turns that a moment refers to."""
        by_id = {turn.id: turn for turn in self._tail}
        records = [
            by_id.get(id) or store.records.get("resources", id) for id in moment.resource_refs
        ]
        resources = [record for record in records if isinstance(record, Resource)]
        return [resource for resource in resources if chats.is_turn(resource)]
