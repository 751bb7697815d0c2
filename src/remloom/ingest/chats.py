"""A chat as records: its turns, its sessions as moments, who spoke, and whom and what they named.

What a turn becomes follows from the turns near it, and what a moment holds from the turns that it
refers to: so a chat can be gone on with, or lose a turn, at the cost of a few (see `chat_append`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct

from .. import labels
from ..errors import InvalidInputError
from ..model import SESSION_GAP, Edge, Entity, Message, Moment, Person, Resource, Speaker
from ..sources import Document, Turn
from ..store.contract import Reads
from ..store.record_ids import resource_id
from ..text.sentences import count_words
from .documents import OWNS, Prepared, chain, digest, entity, identity, label, mention
from .names.name import Extractor, Name

__all__ = [
    "AFTER",
    "BEFORE",
    "MOST",
    "WORDS_PER_MINUTE",
    "Stored",
    "chat_id",
    "check_appendable",
    "context",
    "message_of",
    "moment",
    "named",
    "part_of",
    "prepare",
    "retold",
    "said",
    "sessions",
    "silent",
    "spoken",
    "stored",
]

WORDS_PER_MINUTE = 150  # of speech, from which speaking time is estimated
MOST = 64  # turns that one moment refers to; a longer session has several moments
_TOPICS = 5  # names that tag a session
BEFORE, AFTER = 2, 1  # turns of the session beside a turn that are part of its context
_BESIDE = 400  # characters of a turn beside another that are part of that one's context


def prepare(
    document: Document,
    *,
    tenant: str,
    extractor: Extractor,
    name: str = "",
    category: str | None = None,
) -> Prepared:
    """The records of a chat, called `name` or else by its title.

    * a Resource for each turn, with `message_ids`, `speaker` and, where known, `lines` in its
      metadata; its `context` is who spoke, when, and the turns beside it;
    * an Entity of type "chat" for the whole, of type "person" for each speaker, and for each name
      in it;
    * a Moment of type "conversation" for each session, and for every `MOST` turns of a longer one:
      sessions are those that the source tells, else parted by `SESSION_GAP`;
    * edges: turn `spoken_by` person, turn `next` turn of the same session, turn `part_of` chat and
      of its moment, turn `mentions` entity.
    """
    title = label(name or document.title)
    turns = document.turns
    names, by_turn = named(turns, extractor)
    spans = sessions(turns)
    contexts = [
        context(turns[first:last], place) for first, last in spans for place in range(last - first)
    ]
    resources = [
        said(
            document,
            title,
            tenant,
            number,
            turn,
            names=found,
            context=contexts[number],
            category=category,
        )
        for number, (turn, found) in enumerate(zip(turns, by_turn, strict=True))
    ]
    edges = [edge for first, last in spans for edge in chain(resources[first:last], title, "chat")]
    for turn, resource, found in zip(turns, resources, by_turn, strict=True):
        edges += spoken(resource, turn, found)
    moments = []
    for number, (first, last) in enumerate(spans, 1):
        for part, start in enumerate(range(first, last, MOST), 1):
            some = resources[start : min(start + MOST, last)]
            moments.append(
                moment(document.uri, title, turns[first].session or str(number), part, some)
            )
            edges += part_of(moments[-1], some)
    itself = Entity(
        id=chat_id(document.uri),
        type="chat",
        name=title,
        properties={
            "uri": document.uri,
            "turns": len(turns),
            "sessions": len(spans),
            "digest": digest(document),
            **document.metadata,
        },
    )
    return Prepared(
        document.uri, tuple(resources), (itself, *map(entity, names), *moments), tuple(edges)
    )


def said(
    document: Document, title: str, tenant: str, ordinal: int, turn: Turn, *,
    names: Iterable[Name], context: str, category: str | None,
) -> Resource:  # fmt: skip
    """A turn of the document as a resource."""
    message = turn.message
    metadata: dict[str, Any] = {"title": document.title, "speaker": message.speaker}
    if message.id:
        metadata["message_ids"] = [message.id]
    if turn.lines and document.lined:
        metadata["lines"] = list(turn.lines)
    resource = Resource(
        name=f"{title} #{ordinal + 1}",
        content=message.text,
        context=context,
        category=category or document.category,
        uri=document.uri,
        ordinal=ordinal,
        starts_at=message.at,
        related_entities=tuple(
            dict.fromkeys(filter(None, (message.speaker, *(name.name for name in names))))
        ),
        metadata=metadata,
    )
    return msgspec.structs.replace(resource, id=resource_id(tenant, resource))


def spoken(resource: Resource, turn: Turn, names: Iterable[Name]) -> list[Edge]:
    """A turn's edges to who spoke and to whom and what was named."""
    speaker = turn.message.speaker
    edges = [
        mention(resource.name, name)
        for name in names
        if labels.key(name.name) != labels.key(speaker or "-")
    ]
    if speaker:
        properties = {"dst_name": speaker, "dst_entity_type": "person"}
        edges.append(
            Edge(
                src=resource.name,
                rel_type="spoken_by",
                dst=speaker,
                weight=OWNS,
                properties=properties,
            )
        )
    return edges


def part_of(whole: Moment, resources: Iterable[Resource]) -> list[Edge]:
    """The edges of turns to the moment that refers to them."""
    properties = {"dst_name": whole.name, "dst_entity_type": "moment/conversation"}
    return [
        Edge(
            src=resource.name,
            rel_type="part_of",
            dst=whole.name,
            weight=OWNS,
            properties=properties,
        )
        for resource in resources
    ]


class Stored(Struct, frozen=True):
    """A chat as it was read before, whole."""

    id: str  # of its entity
    updated_at: datetime | None  # None when there is no such chat yet
    title: str
    messages: tuple[Message, ...]

    def followed_by(self, messages: Iterable[Message]) -> list[Message]:
        """Its messages, then these; one whose id is there already takes that one's place."""
        joined: dict[object, Message] = {}
        for place, message in enumerate((*self.messages, *messages)):
            joined[message.id or place] = message
        return list(joined.values())


def stored(store: Reads, uri: str) -> Stored:
    """The chat that was read from messages under this uri; without messages when there is none.

    Raises:
        InvalidInputError: something else was read from there.
    """
    itself = store.records.get("entities", chat_id(uri))
    turns = store.records.chunks(uri)
    check_appendable(uri, turns)
    title = turns[0].metadata["title"] if turns else ""
    return Stored(
        chat_id(uri), itself.updated_at if itself else None, title, tuple(map(message_of, turns))
    )


def check_appendable(uri: str, turns: Iterable[Resource]) -> None:
    """Refuse what is no chat, and what is in a file.

    Raises:
        InvalidInputError: these were read so.
    """
    for turn in turns:
        if "speaker" not in turn.metadata:
            raise InvalidInputError(
                f"what was read from {uri!r} is no chat", remedy="append under another uri"
            )
        if "lines" in turn.metadata:
            raise InvalidInputError(
                f"{uri!r} was read from a file", remedy="add to the file, and read it again"
            )


def message_of(turn: Resource) -> Message:
    """What was said in a turn that is stored."""
    id = next(iter(turn.metadata.get("message_ids", ())), "")
    return Message(speaker=turn.metadata["speaker"], text=turn.content, at=turn.starts_at, id=id)


def chat_id(uri: str) -> str:
    """Of the entity that a chat is."""
    return identity("chat", uri)


def named(turns: Sequence[Turn], extractor: Extractor) -> tuple[list[Name], list[list[Name]]]:
    """The names in a chat, speakers first among them, and those of each turn. Looked for in the
    chat as a whole."""
    speakers = dict.fromkeys(
        (turn.message.speaker for turn in turns if turn.message.speaker), "person"
    )
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
    silent = [
        Name(name=speaker, type="person")
        for speaker in speakers
        if labels.key(speaker) not in known
    ]
    return [*silent, *names], by_turn


def context(session: Sequence[Turn], place: int) -> str:
    """What a turn is understood by: who spoke and when, and the turns beside it in the session."""
    message = session[place].message
    when = f"{message.at.day} {message.at:%B %Y}" if message.at else ""
    before = [turn.message.text[-_BESIDE:] for turn in session[max(0, place - BEFORE) : place]]
    after = [turn.message.text[:_BESIDE] for turn in session[place + 1 : place + 1 + AFTER]]
    return "\n".join(filter(None, (message.speaker, when, *before, *after)))


def sessions(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """First turn and the one after the last of each session."""
    starts = [0]
    for number, (before, turn) in enumerate(pairwise(turns), 1):
        if turn.session != before.session or (
            not turn.session and silent(before.message, turn.message)
        ):
            starts.append(number)
    return list(zip(starts, [*starts[1:], len(turns)], strict=True))


def silent(before: Message, after: Message) -> bool:
    """Whether nothing was said between two messages for so long that they are of two sessions."""
    return bool(before.at and after.at and after.at - before.at > SESSION_GAP)


def moment(uri: str, title: str, session: str, part: int, resources: Sequence[Resource]) -> Moment:
    """The moment of these turns, the `part`-th of a session."""
    first = min((turn.starts_at for turn in resources if turn.starts_at), default=None)
    when = f", {first.date().isoformat()}" if first else ""
    again = f" ({part})" if part > 1 else ""
    metadata: dict[str, Any] = {"uri": uri, "session": session}
    if part > 1:
        metadata["part"] = part
    made = Moment(
        id=identity(uri, "conversation", resources[0].id),
        name=f"{title}, session {session}{again}{when}",
        type="conversation",
        metadata=metadata,
    )
    return retold(made, resources)


def retold(moment: Moment, resources: Sequence[Resource]) -> Moment:
    """A moment of a chat with what follows from the turns that it refers to, which are to be these."""
    times = sorted(turn.starts_at for turn in resources if turn.starts_at)
    seconds: dict[str, float] = {}
    counts: dict[str, int] = {}
    for turn in resources:
        if speaker := turn.metadata["speaker"]:
            spoken = count_words(turn.content) / WORDS_PER_MINUTE * 60
            seconds[speaker] = seconds.get(speaker, 0.0) + spoken
        for name in turn.related_entities:
            counts[name] = counts.get(name, 0) + 1
    topics = [name for name in counts if name not in seconds]
    return msgspec.structs.replace(
        moment,
        starts_at=times[0] if times else None,
        ends_at=times[-1] if times else None,
        present_persons=tuple(Person(id=labels.key(name), name=name) for name in seconds),
        speakers=tuple(
            Speaker(name=name, speaking_time=round(time, 1)) for name, time in seconds.items()
        ),
        topic_tags=tuple(sorted(topics, key=lambda name: -counts[name])[:_TOPICS]),
        resource_refs=tuple(turn.id for turn in resources),
        entity_refs=tuple(dict.fromkeys((*seconds, *counts))),
    )
