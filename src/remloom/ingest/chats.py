"""A chat as records: its turns, its sessions as moments, who spoke, and whom and what they named."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct

from .. import labels
from ..errors import InvalidInputError
from ..model import Edge, Entity, Message, Moment, Person, Resource, Speaker
from ..predicates import Eq, Query
from ..sources import Document, Turn
from ..store.batch import resource_id
from ..store.contract import Store
from .documents import OWNS, Prepared, chain, digest, entity, identity, label, mention
from .entities import Extractor, Name
from .sentences import count_words

__all__ = ["SESSION_GAP", "WORDS_PER_MINUTE", "Stored", "prepare", "stored"]

SESSION_GAP = timedelta(hours=6)  # of silence, after which a new session begins
WORDS_PER_MINUTE = 150  # of speech, from which speaking time is estimated
_TOPICS = 5  # names that tag a session
BEFORE, AFTER = 2, 1  # turns of the session beside a turn that are part of its context
_BESIDE = 400  # characters of a turn beside another that are part of that one's context


def prepare(
    document: Document, *, tenant: str, extractor: Extractor, name: str = "", category: str | None = None
) -> Prepared:
    """The records of a chat, called `name` or else by its title.

    * a Resource for each turn, with `message_ids`, `speaker` and, where known, `lines` in its metadata; its `context`
      is who spoke, when, and the turns beside it;
    * an Entity of type "chat" for the whole, of type "person" for each speaker, and for each name in it;
    * a Moment of type "conversation" for each session: those the source tells, else parted by `SESSION_GAP`;
    * edges: turn `spoken_by` person, turn `next` turn of the same session, turn `part_of` chat and of its session, turn
      `mentions` entity.
    """
    title = label(name or document.title)
    turns = document.turns
    names, by_turn = _named(turns, extractor)
    sessions = _sessions(turns)
    contexts = [_context(turns[first:last], place) for first, last in sessions for place in range(last - first)]
    resources = []
    for number, (turn, found) in enumerate(zip(turns, by_turn, strict=True)):
        metadata: dict[str, Any] = {"title": document.title, "speaker": turn.message.speaker}
        if turn.message.id:
            metadata["message_ids"] = [turn.message.id]
        if turn.lines and document.lined:
            metadata["lines"] = list(turn.lines)
        resource = Resource(
            name=f"{title} #{number + 1}",
            content=turn.message.text,
            context=contexts[number],
            category=category or document.category,
            uri=document.uri,
            ordinal=number,
            starts_at=turn.message.at,
            related_entities=tuple(dict.fromkeys(filter(None, (turn.message.speaker, *(name.name for name in found))))),
            metadata=metadata,
        )
        resources.append(msgspec.structs.replace(resource, id=resource_id(tenant, resource)))
    edges = [edge for first, last in sessions for edge in chain(resources[first:last], title, "chat")]
    for turn, resource, found in zip(turns, resources, by_turn, strict=True):
        speaker = turn.message.speaker
        if speaker:
            properties = {"dst_name": speaker, "dst_entity_type": "person"}
            edges.append(Edge(src=resource.name, rel_type="spoken_by", dst=speaker, weight=OWNS, properties=properties))
        edges += [mention(resource.name, name) for name in found if labels.key(name.name) != labels.key(speaker or "-")]
    moments = []
    for number, (first, last) in enumerate(sessions, 1):
        moment = _moment(document, title, number, turns[first:last], resources[first:last], by_turn[first:last])
        moments.append(moment)
        properties = {"dst_name": moment.name, "dst_entity_type": "moment/conversation"}
        for resource in resources[first:last]:
            edges.append(
                Edge(src=resource.name, rel_type="part_of", dst=moment.name, weight=OWNS, properties=properties)
            )
    itself = Entity(
        id=_id(document.uri),
        type="chat",
        name=title,
        properties={
            "uri": document.uri,
            "turns": len(turns),
            "sessions": len(moments),
            "digest": digest(document),
            **document.metadata,
        },
    )
    return Prepared(document.uri, tuple(resources), (itself, *map(entity, names), *moments), tuple(edges))


class Stored(Struct, frozen=True):
    """A chat as it was read before."""

    id: str  # of its entity
    updated_at: datetime | None  # None when there is no such chat yet
    title: str
    messages: tuple[Message, ...]

    def followed_by(self, messages: Sequence[Message]) -> list[Message]:
        """Its messages, then these; one whose id is there already takes that one's place."""
        joined: dict[object, Message] = {}
        for place, message in enumerate((*self.messages, *messages)):
            joined[message.id or place] = message
        return list(joined.values())


def stored(store: Store, uri: str) -> Stored:
    """The chat that was read from messages under this uri; without messages when there is none.

    Raises:
        InvalidInputError: something else was read from there.
    """
    id = _id(uri)
    itself = store.get("entities", id)
    turns: list[Any] = store.query("resources", Query().filter(Eq("uri", uri)).order_by("ordinal"))
    if any("speaker" not in turn.metadata for turn in turns):
        raise InvalidInputError(f"what was read from {uri!r} is no chat", remedy="append under another uri")
    if any("lines" in turn.metadata for turn in turns):
        raise InvalidInputError(f"{uri!r} was read from a file", remedy="add to the file, and read it again")
    messages = (
        Message(
            speaker=turn.metadata["speaker"], text=turn.content, at=turn.starts_at,
            id=next(iter(turn.metadata.get("message_ids", ())), ""),
        )
        for turn in turns
    )  # fmt: skip
    title = turns[0].metadata["title"] if turns else ""
    return Stored(id, itself.updated_at if itself else None, title, tuple(messages))


def _id(uri: str) -> str:
    """Of the entity that a chat is."""
    return identity("chat", uri)


def _named(turns: Sequence[Turn], extractor: Extractor) -> tuple[list[Name], list[list[Name]]]:
    """The names in a chat, speakers first among them, and those of each turn. Looked for in the chat as a whole."""
    speakers = dict.fromkeys((turn.message.speaker for turn in turns if turn.message.speaker), "person")
    starts: list[int] = []
    offset = 0
    for turn in turns:
        starts.append(offset)
        offset += len(turn.message.text) + 2
    names = extractor.extract("\n\n".join(turn.message.text for turn in turns), speakers)
    by_turn: list[list[Name]] = [[] for _ in turns]
    for name in names:
        at = 0
        for start, _ in name.spans:
            while at + 1 < len(starts) and starts[at + 1] <= start:
                at += 1
            if not by_turn[at] or by_turn[at][-1] is not name:
                by_turn[at].append(name)
    known = {labels.key(found) for name in names for found in (name.name, *name.aliases)}
    silent = [Name(name=speaker, type="person") for speaker in speakers if labels.key(speaker) not in known]
    return [*silent, *names], by_turn


def _context(session: Sequence[Turn], place: int) -> str:
    """What a turn is understood by: who spoke and when, and the turns beside it in the session."""
    message = session[place].message
    when = f"{message.at.day} {message.at:%B %Y}" if message.at else ""
    before = [turn.message.text[-_BESIDE:] for turn in session[max(0, place - BEFORE) : place]]
    after = [turn.message.text[:_BESIDE] for turn in session[place + 1 : place + 1 + AFTER]]
    return "\n".join(filter(None, (message.speaker, when, *before, *after)))


def _sessions(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """First turn and the one after the last of each session."""
    starts = [0]
    for number, (before, turn) in enumerate(pairwise(turns), 1):
        earlier, later = before.message.at, turn.message.at
        silent = not turn.session and earlier and later and later - earlier > SESSION_GAP
        if turn.session != before.session or silent:
            starts.append(number)
    return list(zip(starts, [*starts[1:], len(turns)], strict=True))


def _moment(
    document: Document, title: str, number: int, turns: Sequence[Turn], resources: Sequence[Resource],
    by_turn: Sequence[Sequence[Name]],
) -> Moment:  # fmt: skip
    times = sorted(turn.message.at for turn in turns if turn.message.at)
    seconds: dict[str, float] = {}
    for turn in turns:
        if turn.message.speaker:
            spoken = count_words(turn.message.text) / WORDS_PER_MINUTE * 60
            seconds[turn.message.speaker] = seconds.get(turn.message.speaker, 0.0) + spoken
    counts: dict[str, int] = {}
    for name in (name for found in by_turn for name in found):
        counts[name.name] = counts.get(name.name, 0) + 1
    topics = [name for name in counts if name not in seconds]
    session = turns[0].session or str(number)
    when = f", {times[0].date().isoformat()}" if times else ""
    return Moment(
        id=identity(document.uri, "conversation", session, *(resource.id for resource in resources)),
        name=f"{title}, session {number}{when}",
        type="conversation",
        starts_at=times[0] if times else None,
        ends_at=times[-1] if times else None,
        present_persons=tuple(Person(id=labels.key(name), name=name) for name in seconds),
        speakers=tuple(Speaker(name=name, speaking_time=round(time, 1)) for name, time in seconds.items()),
        topic_tags=tuple(sorted(topics, key=lambda name: -counts[name])[:_TOPICS]),
        resource_refs=tuple(resource.id for resource in resources),
        entity_refs=tuple(dict.fromkeys((*seconds, *counts))),
        metadata={"uri": document.uri, "session": session},
    )
