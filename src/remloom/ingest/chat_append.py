"""What a chat that was read before goes on with, at the cost of what is new.

A turn's context rests on a few turns beside it, its names on the turns read with it and a few
before them, and its moment on at most `chats.MOST` turns. So nothing further back is read or
written, however long the chat is.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..model import Entity, Moment, Resource
from ..sources import Document, Turn, from_messages
from ..sources.files import title_of
from ..store.contract import Reads
from ..store.specs import ChunkRange
from . import chats
from .documents import Prepared, chain, digest, entity, follows
from .names.name import Extractor

__all__ = ["following", "whole"]

_NAMED = 4  # turns before the new ones in which their names are looked for too
_TAIL = chats.MOST  # turns that are read of what is there

assert _TAIL > chats.BEFORE + chats.AFTER  # noqa: S101 - else contexts would be cut short


def following(
    store: Reads,
    document: Document,
    *,
    tenant: str,
    extractor: Extractor,
    category: str | None = None,
) -> Prepared | None:
    """What is to be written of a chat of which a beginning was read: nothing, if that is all.

    None when there is no such beginning: it was not read yet, or what was read of it changed.
    """
    itself = store.records.get("entities", chats.chat_id(document.uri))
    if not isinstance(itself, Entity) or any(turn.session for turn in document.turns):
        return None
    if document.follows:
        tail = store.records.chunks(document.uri, ChunkRange(limit=_TAIL, last=True))
        if not tail or document.title not in ("", tail[-1].metadata["title"]):
            return None
        there, new = _unsaid(store, document)
        document = replace(document, title=tail[-1].metadata["title"])
    else:
        tail = store.records.chunks(document.uri)
        kind = category or document.category
        if (
            not tail
            or itself.properties.get("digest") != digest(document)
            or not _begins(document, tail, kind)
        ):
            return None
        there, new = tail, document.turns[len(tail) :]
    if new is None:
        return None
    ids = tuple(turn.id for turn in there)
    if not new:
        return Prepared(document.uri, (), (), (), there=ids)
    prepared = _Following(document, itself, tail[-_TAIL:], new).prepare(
        store, tenant, extractor, category
    )
    return replace(prepared, there=ids)


def whole(store: Reads, document: Document) -> tuple[Document, dict[str, object]]:
    """The whole chat that is there once a document that follows it is joined to it, and what that
    rests on."""
    before = chats.stored(store, document.uri)
    title = document.title or before.title or title_of("", document.uri)
    messages = before.followed_by(turn.message for turn in document.turns)
    return from_messages(messages, uri=document.uri, name=title), {before.id: before.updated_at}


def _unsaid(store: Reads, document: Document) -> tuple[list[Resource], tuple[Turn, ...] | None]:
    """What is there of the document, and the turns that are not; None when one is there with other
    words."""
    # of an id, the last counts
    last = {turn.message.id or place: turn for place, turn in enumerate(document.turns)}
    ids = [id for id in last if isinstance(id, str)]
    stored = store.records.messages(document.uri, ids) if ids else []
    there = {message.id: message for message in map(chats.message_of, stored)}
    if any(last[id].message != message for id, message in there.items()):
        return stored, None
    return stored, tuple(turn for id, turn in last.items() if id not in there)


def _begins(document: Document, stored: Sequence[Resource], category: str) -> bool:
    """Whether these are the first turns of the document, in every respect."""
    if len(stored) > len(document.turns):
        return False
    return all(
        old.ordinal == place
        and old.category == category
        and old.metadata.get("title") == document.title
        and "speaker" in old.metadata
        and chats.message_of(old) == turn.message
        and old.metadata.get("lines")
        == (list(turn.lines) if turn.lines and document.lined else None)
        for place, (old, turn) in enumerate(zip(stored, document.turns, strict=False))
    )


class _Following:
    """New turns behind the last ones of a chat."""

    def __init__(
        self, document: Document, itself: Entity, tail: Sequence[Resource], new: Sequence[Turn]
    ) -> None:
        self._document, self._itself, self._tail, self._new = document, itself, tail, new
        self._turns = [*(Turn(message=chats.message_of(turn)) for turn in tail), *new]
        sessions = chats.sessions(self._turns)
        # those with something new
        self._sessions = [span for span in sessions if span[1] > len(tail)]

    def prepare(
        self, store: Reads, tenant: str, extractor: Extractor, category: str | None
    ) -> Prepared:
        document, itself, size = self._document, self._itself, len(self._tail)
        names, by_turn = chats.named(self._turns[max(0, size - _NAMED) :], extractor)
        by_turn = by_turn[-len(self._new) :]
        contexts = {
            place: chats.context(self._turns[first:last], place - first)
            for first, last in self._sessions
            for place in range(max(first, size - chats.AFTER), last)
        }
        ordinal = self._tail[-1].ordinal + 1
        resources = [
            chats.said(
                document, itself.name, tenant, ordinal + place, turn,
                names=found, context=contexts[size + place], category=category,
            )
            for place, (turn, found) in enumerate(zip(self._new, by_turn, strict=True))
        ]  # fmt: skip
        all_turns = [*self._tail, *resources]
        edges = []
        for turn, resource, found in zip(self._new, resources, by_turn, strict=True):
            edges += chats.spoken(resource, turn, found)
        for first, last in self._sessions:
            edges += chain(all_turns[max(first, size) : last], itself.name, "chat")
            if first < size:
                edges.append(follows(all_turns[size - 1], all_turns[size]))
        moments = []
        for moment, some in self._moments(store, all_turns):
            moments.append(moment)
            edges += chats.part_of(moment, some)
        changed = [
            replace(self._tail[place], context=text)
            for place, text in contexts.items()
            if place < size and text != self._tail[place].context
        ]
        spoken = {turn.message.speaker for turn in self._new}
        named = {id(name) for found in by_turn for name in found}
        people = [
            entity(name)
            for name in names
            if id(name) in named or (not name.spans and name.name in spoken)
        ]
        begun = sum(first >= size for first, _ in self._sessions)
        counted = {
            "turns": itself.properties.get("turns", 0) + len(self._new),
            "sessions": itself.properties.get("sessions", 0) + begun,
        }
        grown = replace(itself, properties={**itself.properties, **counted})
        return Prepared(
            document.uri, tuple(resources), (grown, *people, *moments), tuple(edges),
            whole=False, changed=tuple(changed), expected={itself.id: itself.updated_at},
        )  # fmt: skip

    def _moments(
        self, store: Reads, turns: Sequence[Resource]
    ) -> list[tuple[Moment, list[Resource]]]:
        """The moments that change or begin, each with the new turns in it."""
        size, made = len(self._tail), []
        number = self._itself.properties.get("sessions", 0)
        for first, last in self._sessions:
            start, part = max(first, size), 1
            open_ = self._last_moment(store) if first < size else None
            session = str(open_.metadata["session"]) if open_ else str(number := number + 1)
            if open_:
                members = self._members(store, open_)
                part = int(open_.metadata.get("part", 1))
                room = chats.MOST - len(members)
                if room > 0:
                    some = list(turns[start : min(start + room, last)])
                    made.append((chats.retold(open_, [*members, *some]), some))
                    start += len(some)
                part += 1
            while start < last:
                some = list(turns[start : min(start + chats.MOST, last)])
                made.append(
                    (chats.moment(self._document.uri, self._itself.name, session, part, some), some)
                )
                start, part = start + len(some), part + 1
        return made

    def _last_moment(self, store: Reads) -> Moment | None:
        """The moment of the last turn that is there."""
        found = store.records.referring([self._tail[-1].id])
        ours = (
            one
            for one in found
            if one.metadata.get("uri") == self._document.uri and "session" in one.metadata
        )
        return next(ours, None)

    def _members(self, store: Reads, moment: Moment) -> list[Resource]:
        """The turns that a moment refers to."""
        near = {turn.id: turn for turn in self._tail}
        found = (near.get(id) or store.records.get("resources", id) for id in moment.resource_refs)
        return [turn for turn in found if isinstance(turn, Resource) and "speaker" in turn.metadata]
