"""Records: resources, entities, moments and rows, and the messages that chats are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from .edges import Edge

# property of an entity that is known only from reading; it goes when somebody writes of the entity
EXTRACTED = "extracted"
SHORT_ID = 8  # digits
SESSION_GAP = timedelta(hours=6)  # of silence in a chat, after which a new session begins

# roles in a chat with an assistant, and what they are called
USER = "user"
ASSISTANT = "assistant"
NOBODY = "nobody"  # pages, files and programs that speak in a chat, and those who made them

_ROLES = {
    USER: ("customer", "human", "user"),
    ASSISTANT: (
        "agent", "ai", "assistant", "bot", "chatbot", "chatgpt", "claude", "gemini", "gpt", "model"
    ),
    NOBODY: (
        "browser", "computer", "developer", "environment", "function", "ipython", "observation",
        "plugin", "result", "retrieval", "search", "system", "tool", "toolresult", "web",
    ),
}  # fmt: skip
_BY_WORD = {word: role for role, words in _ROLES.items() for word in words}
_LAST = ("assistant", "bot", "chatbot")  # of a name, whatever stands before
_PARTS = re.compile(r"[\s_-]+")


class Person(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Somebody present at a moment."""

    name: str
    id: str = ""
    role: str = ""


class Speaker(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Somebody who spoke at a moment, and for how long."""

    name: str
    speaking_time: float = 0.0  # seconds


class _Record(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="schema"):
    """What the four kinds of records have in common: how they are written as JSON."""


class Resource(_Record, frozen=True, kw_only=True, tag="resources"):
    """A chunk of content: part of a document, a chat turn, a note, or a text derived from these."""

    schema: ClassVar[str] = "resources"

    id: str = ""  # given on write when empty: the same text from the same place gets the same id
    name: str = ""  # the label; from `uri` and `ordinal` when empty
    content: str = ""
    # words around it (in a chat: who spoke, when, the turns beside it), searched with its own
    context: str = ""
    category: str = ""
    uri: str = ""  # where it was read
    origin: str = ""  # the source that it was remembered from, beside other texts
    ordinal: int = 0  # position within `uri`, from 0
    content_hash: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    related_entities: tuple[str, ...] = ()
    language: str = ""  # ISO 639-1
    trust: str = "read"  # told | read | derived
    kind: str = "chunk"  # chunk | summary | synthesis | entity_insight | rem_dream | memory | ...
    generation: int = 0  # 0: as read; else 1 + the highest of its parents
    parents: tuple[str, ...] = ()  # ids of the records this one was derived from
    # id of a parent -> digest of what it said when this was made of it: as read, or `premises_of`
    # what was quoted. One without is not known; on `Memory.write` it is what the parent says then
    premises: dict[str, str] = {}
    # what it depends on: slots ("Team Orion.lead"), labels, ids of records
    rests_on: tuple[str, ...] = ()
    # reading sets what the properties below show
    metadata: dict[str, Any] = {}
    graph_paths: tuple[Edge, ...] = ()  # outgoing edges
    # a vector, or several, of which the best counts; taken on write, not returned on read
    embedding: Sequence[float | Sequence[float]] | None = None
    # taken on write, not returned: the id of the text that this one takes the place of, or amends,
    # or the beginning of it that no other has; why: "changed" (default) or "wrong"; and since when
    # it changed, by default now
    replaces: str = ""
    amends: str = ""
    reason: str = ""
    since: datetime | None = None
    expires_at: datetime | None = None  # from then on nothing returns it; `admin.sweep` erases it
    created_at: datetime | None = None
    updated_at: datetime | None = None
    # set on write, never twice the same: what `expected` of `Memory.write` compares
    revision: int = 0

    @property
    def is_chunk(self) -> bool:
        """Whether it is a part of a document or chat as it was read."""
        return not self.generation and bool(self.uri)

    @property
    def speaker(self) -> str:
        """The name of who said it; empty for what is not a turn of a chat."""
        name = self.metadata.get("speaker")
        return name if isinstance(name, str) and name.strip() else ""

    @property
    def role(self) -> str:
        """What who said it is in a chat with an assistant: "user", "assistant" or "nobody", which
        is a tool, a page or the system; by the role that the chat states, else by the speaker's
        name. Empty for what tells neither."""
        stated = self.metadata.get("role")
        return (isinstance(stated, str) and role_of(stated)) or role_of(self.speaker)

    @property
    def title(self) -> str:
        """The title of the document or chat that it is part of, or an empty string."""
        return _text(self.metadata.get("title"))

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line in `uri`, from 1, if it was read from lines."""
        lines = self.metadata.get("lines")
        return (lines[0], lines[1]) if lines else None

    @property
    def pages(self) -> tuple[int, int] | None:
        """First and last page of `uri`, from 1, if it was read from pages (PDF)."""
        pages = self.metadata.get("pages")
        return (pages[0], pages[1]) if pages else None

    @property
    def message_ids(self) -> tuple[str, ...]:
        """The ids of the chat messages that it was read from."""
        return tuple(self.metadata.get("message_ids") or ())


class Entity(_Record, frozen=True, kw_only=True, tag="entities"):
    """A person, organization, project, place, concept, agent-let, … that is known by name."""

    schema: ClassVar[str] = "entities"

    # given on write when empty: the id of the entity with the same key and type, or a new one
    id: str = ""
    type: str = ""
    name: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    properties: dict[str, Any] = {}
    graph_paths: tuple[Edge, ...] = ()
    embedding: Sequence[float] | None = None
    # made only because an edge pointed at its label; the first real write replaces it
    thin: bool = False
    expires_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    revision: int = 0

    @property
    def uri(self) -> str:
        """Where the document or chat that it stands for was read, or an empty string."""
        return _text(self.properties.get("uri"))

    @property
    def is_extracted(self) -> bool:
        """Whether it is known only from reading."""
        return bool(self.properties.get(EXTRACTED))


class Moment(_Record, frozen=True, kw_only=True, tag="moments"):
    """A stretch of time and what it was about: the resources and entities in it. Moments nest."""

    schema: ClassVar[str] = "moments"

    id: str = ""
    name: str
    type: str = ""  # conversation | task | insight | meeting | ...
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    present_persons: tuple[Person, ...] = ()
    speakers: tuple[Speaker, ...] = ()
    emotion_tags: tuple[str, ...] = ()
    topic_tags: tuple[str, ...] = ()
    classifications: tuple[str, ...] = ()
    summary: str = ""
    resource_refs: tuple[str, ...] = ()  # ids of resources
    entity_refs: tuple[str, ...] = ()  # labels of entities
    parent_moment: str = ""  # id of the moment this one is part of
    # id of what it refers to -> digest of what that said, for what it was made of (see `Resource`)
    premises: dict[str, str] = {}
    metadata: dict[str, Any] = {}
    graph_paths: tuple[Edge, ...] = ()
    embedding: Sequence[float] | None = None
    expires_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    revision: int = 0

    @property
    def uri(self) -> str:
        """Where the document or chat whose moment it is was read, or an empty string."""
        return _text(self.metadata.get("uri"))

    @property
    def is_made(self) -> bool:
        """Whether reading or dreaming made it."""
        return "made_by" in self.metadata or "uri" in self.metadata


class Row(_Record, frozen=True, kw_only=True, tag="rows"):
    """A record of a schema that the tenant registered: a customer, an order, a ticket.

    It is found by its handle, which no other row of its schema has, and by its name, which others
    may share. As JSON its `schema` is "rows", like that of every row, and `schema_name` is its own.
    """

    schema: str = msgspec.field(name="schema_name")
    id: str = ""  # given on write when empty: the same schema and handle get the same id
    # "customer-12345", what edges point at; from the schema's `handle` fields or the name if empty
    handle: str = ""
    name: str = ""  # what people call it; from the schema's `name_fields`, or the handle, if empty
    type: str = ""  # of its entity: "customer"; the schema's first if empty
    aliases: tuple[str, ...] = ()
    summary: str = ""
    fields: dict[str, Any] = {}  # as the schema's `base_fields` say
    metadata: dict[str, Any] = {}  # anything else, as the schema's `metadata_schema` says
    # set on write: names of the fields whose words are found (see `Field.searchable`)
    searched: tuple[str, ...] = ()
    related_entities: tuple[str, ...] = ()
    version: int = 0  # of the schema, when it was written
    uri: str = ""  # where it comes from: "<source>/<table>"
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    graph_paths: tuple[Edge, ...] = ()
    embedding: Sequence[float] | None = None
    expires_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    revision: int = 0

    @property
    def is_identified(self) -> bool:
        """Whether its handle identifies it: it begins with its type or schema, or is at least not
        its name alone. Edges to such a handle are this row's, whatever else is called so.

        >>> Row(schema="rooms", type="room", handle="room-1", name="Room 2").is_identified
        True
        >>> Row(schema="notes", handle="Groceries", name="Groceries").is_identified
        False
        """
        key = labels.key(self.handle)
        kinds = (f"{labels.key(kind)}-" for kind in (self.type, self.schema) if kind.strip())
        return key != labels.key(self.name) or key.startswith(tuple(kinds))

    @property
    def text(self) -> str:
        """Its summary and its fields, a line each, as people and models read them."""
        facts = [f"{name}: {_shown(value)}" for name, value in self.fields.items()]
        return "\n".join([*filter(None, [self.summary]), *facts])


@lru_cache(maxsize=1024)
def role_of(name: str) -> str:
    """The role that a name is for; empty for one that is for none, such as a person's.

    >>> role_of("Human"), role_of("Support bot"), role_of("AI agent"), role_of("tool")
    ('user', 'assistant', 'assistant', 'nobody')
    >>> role_of("Claude"), role_of("Claude Monet")
    ('assistant', '')
    """
    words = _PARTS.split(name.strip().casefold())
    is_known = words[-1] in _LAST or all(word in _BY_WORD for word in words)
    return _BY_WORD[words[-1]] if is_known else ""


Record: TypeAlias = Resource | Entity | Moment | Row


class Message(Struct, frozen=True, gc=False, kw_only=True):
    """One turn of a chat."""

    speaker: str
    text: str
    id: str = ""
    at: datetime | None = None
    # in a chat with an assistant: "user", "assistant", "system", "tool", …; empty: as the speaker's
    # name says
    role: str = ""


def cited(uri: str, metadata: dict[str, Any]) -> str:
    """Cite a part of a source by the lines or pages in its `metadata`.

    >>> cited("notes.md", {"lines": [3, 9]}), cited("notes.md", {"lines": [3, 3]})
    ('notes.md:3-9', 'notes.md:3')
    >>> cited("q1.pdf", {"pages": [2, 2]}), cited("q1.pdf", {"pages": [2, 3]})
    ('q1.pdf#page=2', 'q1.pdf#page=2-3')
    """
    if lines := metadata.get("lines"):
        # a caller that writes resources of its own may have put there what they like
        first, last = lines[0], lines[1]
        return f"{uri}:{first}" if first == last else f"{uri}:{first}-{last}"
    if pages := metadata.get("pages"):
        first, last = pages[0], pages[1]
        return f"{uri}#page={first}" if first == last else f"{uri}#page={first}-{last}"
    return uri


def short_id(id: str) -> str:
    """Shorten an id to what names it in a memory: the first eight digits of one that was made of
    its content, which hardly ever are another's; any other whole, as many may begin alike.

    >>> short_id("3fa1b2c4-7d3e-5a11-9f00-0123456789ab"), short_id("order-1")
    ('3fa1b2c4', 'order-1')
    """
    is_made_of_content = len(id) == 36 and id[14] == "5" and id[8] == id[13] == "-"
    return id[:SHORT_ID] if is_made_of_content else id


def trust_of(record: Record) -> str:
    """Return how far what a record says is to be trusted: told, read or derived."""
    if isinstance(record, Resource):
        return record.trust
    return "read" if isinstance(record, Row) else "derived"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | dict):
        return msgspec.json.encode(value).decode()
    return str(value)


def label_of_record(record: Record) -> str:
    """Return the label that edges from and to a record have: a row's handle, else its name."""
    return record.handle if isinstance(record, Row) else record.name


def is_written_after(record: Record, at: datetime | None) -> bool:
    """Whether what a record says was written after a time; False where there is none."""
    written = record.updated_at or record.created_at
    return at is not None and written is not None and written > at


def record_dict(record: Record) -> dict[str, Any]:
    """Show a record as JSON-ready values with its schema, without its unset fields."""
    if record.embedding is not None:
        record = replace(record, embedding=None)
    built = msgspec.to_builtins(record)
    shown: dict[str, Any] = {"schema": record.schema}
    for name in record.__struct_fields__:
        if name == "schema":
            continue
        # `omit_defaults` leaves defaults out of `built`; they are plain values already
        value = built.get(name, getattr(record, name))
        if name in ("id", "name") or value:
            shown[name] = value
    return shown


def set_values(**values: Any) -> dict[str, Any]:
    """Return those of these values that are set."""
    return {name: value for name, value in values.items() if value}
