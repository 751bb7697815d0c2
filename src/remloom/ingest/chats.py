"""A chat as records: its turns, its sessions as moments, who spoke, and whom and what they named.

What a turn becomes follows from the turns near it, and what a moment holds from the turns that it
refers to: so a chat can be gone on with, or lose a turn, at the cost of a few (see `chat_append`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import InvalidInputError
from ..model import SESSION_GAP, Edge, Entity, Message, Moment, Person, Resource, Speaker
from ..model.edge_types import SPOKEN_BY
from ..model.supersession import is_hidden, marked_as, said_text
from ..sources import Document, Turn
from ..store.contract import Reads
from ..store.rules.record_ids import resource_id
from ..text.sentences import count_words
from .documents import PreparedDocument, digest, identity, label, names_by_part, to_entity, unnamed
from .edges import chain, edge_to, mentions, part_of
from .names import Extractor, Name

_WORDS_PER_MINUTE = 150  # of speech, from which speaking time is estimated
MOST = 64  # turns that one moment refers to; a longer session has several moments
BEFORE, AFTER = 2, 1  # turns of the session around a turn that are part of its context
_TOPICS = 5  # names that tag a session
_QUOTED = 400  # characters of a turn that are part of the context of its neighbours


def prepare(
    document: Document,
    *,
    tenant: str,
    extractor: Extractor,
    name: str = "",
    category: str | None = None,
) -> PreparedDocument:
    """Make the records of a chat, called `name` or else by its title.

    * a Resource for each turn, with `message_ids`, `speaker` and, where known, `role` and `lines`
      in its metadata, and what a coding agent did after it, `actions`; its `context` is who spoke,
      when, and the turns around it;
    * an Entity of type "chat" for the whole, of type "person" for each speaker, and for each name
      in it;
    * a Moment of type "conversation" for each session, and for every `MOST` turns of a longer one:
      sessions are those that the source states, else parted by `SESSION_GAP`;
    * edges: turn `spoken_by` person, turn `next` turn of the same session, turn `part_of` chat and
      of its moment, turn `mentions` entity.
    """
    title = label(name or document.title)
    turns = document.turns
    names, names_by_turn = find_names(turns, extractor)
    sessions = part_sessions(turns)
    contexts = [
        turn_context(turns[first:last], position)
        for first, last in sessions
        for position in range(last - first)
    ]
    resources = [
        turn_resource(
            document,
            title,
            tenant,
            ordinal,
            turn,
            names=names_by_turn[ordinal],
            context=contexts[ordinal],
            category=category,
        )
        for ordinal, turn in enumerate(turns)
    ]
    edges: list[Edge] = []
    for first, last in sessions:
        edges += chain(resources[first:last], title, "chat")
    for turn, resource, named in zip(turns, resources, names_by_turn, strict=True):
        edges += edges_of_turn(resource, turn, named)
    moments = []
    for number, (first, last) in enumerate(sessions, 1):
        session = turns[first].session or str(number)
        for part, start in enumerate(range(first, last, MOST), 1):
            members = resources[start : min(start + MOST, last)]
            moments.append(moment(document.uri, title, session, part, members))
            edges += edges_of_moment(moments[-1], members)
    chat = Entity(
        id=chat_id(document.uri),
        type="chat",
        name=title,
        properties={
            "uri": document.uri,
            "turns": len(turns),
            "sessions": len(sessions),
            "digest": digest(document),
            **document.metadata,
        },
    )
    others: tuple[Entity | Moment, ...] = (chat, *map(to_entity, names), *moments)
    return PreparedDocument(document.uri, tuple(resources), others, tuple(edges))


# -- turns ---------------------------------------------------------------------------------------


def turn_resource(
    document: Document,
    title: str,
    tenant: str,
    ordinal: int,
    turn: Turn,
    *,
    names: Iterable[Name],
    context: str,
    category: str | None,
) -> Resource:
    """A turn of a chat as a resource."""
    message = turn.message
    metadata: dict[str, Any] = {"title": document.title, "speaker": message.speaker}
    if message.role:
        metadata["role"] = message.role
    if message.id:
        metadata["message_ids"] = [message.id]
    if turn.lines and document.lined:
        metadata["lines"] = list(turn.lines)
    if turn.actions:
        metadata["actions"] = turn.actions
    related = dict.fromkeys((message.speaker, *(name.name for name in names)))
    resource = Resource(
        name=f"{title} #{ordinal + 1}",
        content=message.text,
        context=context,
        category=category or document.category,
        uri=document.uri,
        ordinal=ordinal,
        starts_at=message.at,
        related_entities=tuple(name for name in related if name),
        metadata=metadata,
    )
    return replace(resource, id=resource_id(tenant, resource))


def is_turn(resource: Resource) -> bool:
    """Whether a resource is a turn of a chat, if only one of nobody's."""
    return "speaker" in resource.metadata


def message_of(turn: Resource) -> Message:
    """The message that was stored as a turn."""
    ids = turn.metadata.get("message_ids") or [""]
    return Message(
        # as it was given: it may be blank
        speaker=turn.metadata["speaker"],
        text=said_text(turn),
        at=turn.starts_at,
        id=ids[0],
        role=turn.metadata.get("role", ""),
    )


def shown(turn: Resource) -> Turn:
    """A stored turn as its neighbours quote it: nothing of one that was replaced."""
    return Turn(message=replace(message_of(turn), text=turn.content))


def turn_context(session: Sequence[Turn], position: int) -> str:
    """What a turn is understood by: who spoke and when, and the turns around it in the session."""
    message = session[position].message
    when = f"{message.at.day} {message.at:%B %Y}" if message.at else ""
    before = session[max(0, position - BEFORE) : position]
    after = session[position + 1 : position + 1 + AFTER]
    parts = [
        message.speaker,
        when,
        *(turn.message.text[-_QUOTED:] for turn in before),
        *(turn.message.text[:_QUOTED] for turn in after),
    ]
    return "\n".join(part for part in parts if part)


def edges_of_turn(resource: Resource, turn: Turn, names: Iterable[Name]) -> list[Edge]:
    """A turn's edges to who spoke and to whom and what was named."""
    speaker = turn.message.speaker
    speaker_key = labels.key(speaker or "-")
    edges = [
        mentions(resource.name, name) for name in names if labels.key(name.name) != speaker_key
    ]
    if speaker:
        edges.append(edge_to(resource.name, SPOKEN_BY, speaker, "person"))
    return edges


def find_names(turns: Sequence[Turn], extractor: Extractor) -> tuple[list[Name], list[list[Name]]]:
    """The names in a chat as a whole, speakers that nobody names first, and those of each turn."""
    named_speakers = (turn.message.speaker for turn in turns)
    speakers = {speaker: "person" for speaker in named_speakers if speaker}
    spans: list[tuple[int, int]] = []
    offset = 0
    for turn in turns:
        # and a blank line
        end = offset + len(turn.message.text) + 2
        spans.append((offset, end))
        offset = end
    names = extractor.extract("\n\n".join(turn.message.text for turn in turns), speakers)
    return [*unnamed(speakers, names), *names], names_by_part(names, spans)


# -- sessions ------------------------------------------------------------------------------------


def part_sessions(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """First turn and the one after the last of each session."""
    starts = [0]
    for position, (before, turn) in enumerate(pairwise(turns), 1):
        # where the source states sessions, silence parts nothing
        earlier, later = before.message.at, turn.message.at
        is_silence = not turn.session and earlier and later and later - earlier > SESSION_GAP
        if turn.session != before.session or is_silence:
            starts.append(position)
    return list(zip(starts, [*starts[1:], len(turns)], strict=True))


def moment(uri: str, title: str, session: str, part: int, turns: Sequence[Resource]) -> Moment:
    """The moment of these turns, the `part`-th of a session."""
    first = min((turn.starts_at for turn in turns if turn.starts_at), default=None)
    when = f", {first.date().isoformat()}" if first else ""
    shown_part = f" ({part})" if part > 1 else ""
    metadata: dict[str, Any] = {"uri": uri, "session": session}
    if part > 1:
        metadata["part"] = part
    empty = Moment(
        id=identity(uri, "conversation", turns[0].id),
        name=f"{title}, session {session}{shown_part}{when}",
        type="conversation",
        metadata=metadata,
    )
    return describe(empty, turns)


def describe(moment: Moment, turns: Sequence[Resource]) -> Moment:
    """A moment of a chat with everything that follows from its turns, which are to be these. Of one
    that was replaced it has who spoke alone."""
    times = sorted(turn.starts_at for turn in turns if turn.starts_at)
    spoken = speakers(turns)
    names = [speaker.name for speaker in spoken]
    shown_turns = [turn for turn in turns if not is_hidden(turn)]
    counts = Counter(name for turn in shown_turns for name in turn.related_entities)
    topics = [name for name, _ in counts.most_common() if name.strip() not in names]
    described = replace(
        moment,
        starts_at=times[0] if times else None,
        ends_at=times[-1] if times else None,
        present_persons=people(turns),
        speakers=spoken,
        topic_tags=tuple(topics[:_TOPICS]),
        resource_refs=tuple(turn.id for turn in turns),
        entity_refs=tuple(dict.fromkeys((*names, *counts))),
    )
    return marked_as(described, turns)


def people(resources: Sequence[Resource]) -> tuple[Person, ...]:
    """Who spoke, in order."""
    names = dict.fromkeys(resource.speaker.strip() for resource in resources if resource.speaker)
    return tuple(Person(id=labels.key(name), name=name) for name in names)


def speakers(resources: Sequence[Resource]) -> tuple[Speaker, ...]:
    """Who spoke, and for how long at a usual pace."""
    seconds: dict[str, float] = {}
    for resource in resources:
        name = resource.speaker.strip()
        if name:
            spoken = count_words(said_text(resource)) / _WORDS_PER_MINUTE * 60
            seconds[name] = seconds.get(name, 0.0) + spoken
    return tuple(Speaker(name=name, speaking_time=round(time, 1)) for name, time in seconds.items())


def edges_of_moment(whole: Moment, turns: Iterable[Resource]) -> list[Edge]:
    """The edges of turns to the moment that refers to them."""
    return part_of(turns, whole.name, "moment/conversation")


# -- the chat as it is stored --------------------------------------------------------------------


class StoredChat(Struct, frozen=True):
    """A chat as it was read before, whole."""

    id: str  # of its entity
    revision: int | None  # None when there is no such chat yet
    title: str
    messages: tuple[Message, ...]

    def followed_by(self, messages: Iterable[Message]) -> list[Message]:
        """Its messages, then these; one whose id is there already takes that one's place."""
        joined: dict[object, Message] = {}
        for position, message in enumerate((*self.messages, *messages)):
            joined[message.id or position] = message
        return list(joined.values())


def stored_chat(store: Reads, uri: str) -> StoredChat:
    """The chat that was read from messages under this uri, without messages when there is none."""
    id = chat_id(uri)
    chat = store.records.get("entities", id)
    turns = store.records.chunks(uri)
    check_appendable(uri, turns)
    title = turns[0].metadata["title"] if turns else ""
    return StoredChat(id, chat.revision if chat else None, title, tuple(map(message_of, turns)))


def check_appendable(uri: str, resources: Iterable[Resource]) -> None:
    """Refuse to append to what is not a chat, or is in a file."""
    for resource in resources:
        if not is_turn(resource):
            raise InvalidInputError(
                f"what was read from {uri!r} is not a chat",
                remedy="append under another uri",
            )
        if "lines" in resource.metadata:
            raise InvalidInputError(
                f"{uri!r} was read from a file",
                remedy="add to the file, and read it again",
            )


def chat_id(uri: str) -> str:
    """The id of the entity that a chat is."""
    return identity("chat", uri)
