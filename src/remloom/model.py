"""What Remloom remembers and what it answers with: frozen values, built with keyword arguments.

Sources: DESIGN section 2; seed design 2 "Memory types"; seed design 5 "Data models" and "InlineEdge
structure". Times are timezone-aware; a naive one is refused when it is written. The values of which
there are many are kept from the garbage collector (`gc=False`): they form no cycles, and its rounds
cost a fifth of a bulk write.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from . import labels
from .errors import LabelError

__all__ = [
    "Answer",
    "Direction",
    "Edge",
    "Entity",
    "Hit",
    "Message",
    "Moment",
    "Order",
    "Person",
    "ReadItem",
    "ReadReport",
    "Reason",
    "Recall",
    "RecallHit",
    "Receipt",
    "Record",
    "Resource",
    "Speaker",
    "Stage",
    "TenantInfo",
]

# begins the property of an "entity" edge that tells a shared entity: its key -> its name
SHARES = "entity/"

Direction: TypeAlias = Literal["out", "in", "both"]
Order: TypeAlias = Literal["asc", "desc"]


class Edge(Struct, frozen=True, gc=False, kw_only=True):
    """A directed, typed, weighted relation between two labels (the seeds' InlineEdge).

    There is one edge for each (src, rel_type, dst). Writing it again merges: the higher weight
    wins, properties merge (the newer value of a key wins), the earliest `created_at` stays.

    In an edge that is written, `src` and `dst` are labels ("Sarah Chen"); in one that is read, they
    are keys ("sarah-chen"). Well-known properties: `dst_name`, `dst_entity_type`
    (`<schema>[/<category>]`, such as "person/employee"), `confidence`, `context`.

    In a record's `graph_paths`, an edge that is written may also be given as seed 5's JSON object
    of it, or as a path.
    """

    src: str = ""  # may be empty only inside a record's `graph_paths`, where it is that record
    rel_type: str = ""  # never empty in one that is read
    dst: str
    weight: float = 1.0  # 0..1; 1.0 owns/authored, 0.8 depends on, 0.5 references, 0.3 mentions
    properties: dict[str, Any] = {}
    created_at: datetime | None = None  # set on write when not given
    valid_from: datetime | None = None  # None: ever since
    valid_to: datetime | None = None  # None: until further notice
    # seed 2's name for `rel_type`, taken instead of it when an edge is written
    edge_type: str | UnsetType = UNSET

    def paths(self, schema: str = "resources", *, src: str = "") -> tuple[str, ...]:
        """The edge as seed 5's graph paths, from a record of `schema`: one, or one for each entity
        shared.

        Of an edge that is read, the far end is its `dst_name` where that has its key, and the near
        end `src`, if given.

        >>> Edge(src="Kickoff", rel_type="related", dst="TiDB Spec").paths()
        ('/resources/Kickoff/related/TiDB Spec',)
        >>> Edge.from_path("/resources/Kickoff/entity/Sarah Chen/TiDB Spec").paths()
        ('/resources/Kickoff/entity/Sarah Chen/TiDB Spec',)
        """
        shared = [value for name, value in self.properties.items() if name.startswith(SHARES)]
        begin, end = src or self.src, self.properties.get("dst_name")
        end = (
            end
            if isinstance(end, str) and end.strip() and labels.key(end) == labels.key(self.dst)
            else self.dst
        )
        if self.rel_type != "entity" or not shared:
            return (labels.join_path(schema, begin, self.rel_type, end),)
        return tuple(labels.join_path(schema, begin, "entity", str(name), end) for name in shared)

    @classmethod
    def from_path(cls, path: str) -> Edge:
        """The edge that a graph path stands for; its weight, which a path does not tell, is 0.5.

        Raises:
            LabelError: it is no path of the form `/<schema>/<source>/<type>/<target>` or
                `/<schema>/<source>/entity/<label>/<target>`.
        """
        match labels.split_path(path):
            case [_, src, rel_type, dst]:
                return cls(
                    src=src, rel_type=rel_type, dst=dst, weight=0.5, properties={"dst_name": dst}
                )
            case [_, src, "entity", shared, dst]:
                properties = {"dst_name": dst, SHARES + labels.key(shared): shared}
                return cls(src=src, rel_type="entity", dst=dst, weight=0.5, properties=properties)
        raise LabelError(
            "this path has not the parts of an edge",
            label=path[:80],
            remedy="/resources/<source>/related/<target> or /resources/<source>/entity/<label>/<target>",
        )


class Person(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Somebody present at a moment."""

    name: str
    id: str = ""
    role: str = ""


class Speaker(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Somebody who spoke at a moment, and for how long."""

    name: str
    speaking_time: float = 0.0  # seconds


class Resource(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A chunk of content: part of a document, a chat turn, a note, or something derived from such."""

    schema: ClassVar[str] = "resources"

    id: str = ""  # given on write when empty: the same text from the same place gets the same id
    name: str = ""  # the label; from `uri` and `ordinal` when empty
    content: str = ""
    # words around it (of a chat: who spoke, when, the turns beside it), found by as its own are
    context: str = ""
    category: str = ""
    uri: str = ""  # where it was read
    ordinal: int = 0  # position within `uri`, from 0
    content_hash: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    related_entities: tuple[str, ...] = ()
    language: str = ""  # ISO 639-1
    trust: str = "read"  # told | read | derived
    kind: str = "chunk"  # chunk | summary | synthesis | entity_insight | rem_dream | memory | ...
    generation: int = 0  # 0: as read; else 1 + max(parents)
    parents: tuple[str, ...] = ()  # ids of the records this one was derived from
    metadata: dict[str, Any] = {}  # `lines` or `pages` [first, last] from 1; `message_ids` of chats
    graph_paths: tuple[Edge, ...] = ()  # outgoing edges
    embedding: Sequence[float] | None = None  # taken on write, not returned on read
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Entity(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Somebody or something known by name: a person, organization, project, place, concept,
    agent-let, …"""

    schema: ClassVar[str] = "entities"

    # given on write when empty: that of the entity with the same key and type, or a new one
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
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Moment(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A stretch of time and what it was about. Moments refer to resources and entities, and nest."""

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
    metadata: dict[str, Any] = {}
    graph_paths: tuple[Edge, ...] = ()
    embedding: Sequence[float] | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


Record: TypeAlias = Resource | Entity | Moment
_UNSET: tuple[Any, ...] = (None, "", (), [], {}, False)


class Message(Struct, frozen=True, gc=False, kw_only=True):
    """One turn of a chat."""

    speaker: str
    text: str
    id: str = ""
    at: datetime | None = None


class Hit(Struct, frozen=True, gc=False, kw_only=True):
    """A record that answers a query, with how well it does. Reads like the record itself."""

    record: Record
    score: float = 1.0  # LOOKUP 1.0; FUZZY similarity 0..1; SEARCH cosine; text search BM25
    matched: str = ""  # the key or window that matched
    # sources of other records found with the same text; SEARCH and recall show it once
    copies: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def schema(self) -> str:
        return self.record.schema

    @property
    def type(self) -> str:
        """An entity's or moment's type, a resource's category."""
        return self.record.category if isinstance(self.record, Resource) else self.record.type

    @property
    def content(self) -> str:
        """The text of the record: a resource's content, else the summary."""
        return self.record.content if isinstance(self.record, Resource) else self.record.summary

    @property
    def uri(self) -> str:
        return self.record.uri if isinstance(self.record, Resource) else ""

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line in `uri`, from 1, where the record was read from lines."""
        found = self.record.metadata.get("lines") if isinstance(self.record, Resource) else None
        return (found[0], found[1]) if found else None

    @property
    def pages(self) -> tuple[int, int] | None:
        """First and last page of `uri`, from 1, where the record was read from pages (PDF)."""
        found = self.record.metadata.get("pages") if isinstance(self.record, Resource) else None
        return (found[0], found[1]) if found else None

    @property
    def message_ids(self) -> tuple[str, ...]:
        """The chat messages the record was read from."""
        found = (
            self.record.metadata.get("message_ids") if isinstance(self.record, Resource) else None
        )
        return tuple(found or ())

    @property
    def graph_paths(self) -> tuple[Edge, ...]:
        return self.record.graph_paths

    @property
    def source(self) -> str:
        """A citation: `uri:first-last` (lines), `uri#page=first-last`, or `uri`; the name of what
        was not read."""
        record = self.record
        return (
            cited(record.uri, record.metadata)
            if isinstance(record, Resource) and record.uri
            else self.name
        )

    def as_dict(self) -> dict[str, Any]:
        shown = record_dict(self.record)
        shown["score"] = round(self.score, 6)
        if self.matched:
            shown["matched"] = self.matched
        if self.copies:
            shown["copies"] = list(self.copies)
        return shown


class Stage(Struct, frozen=True, gc=False, kw_only=True):
    """One step of a query, for the next turn of whoever drives it (seed 5, "Stage tracking and
    memos")."""

    depth: int
    executed: str
    found: dict[str, int]  # nodes new at this depth; distinct edges known so far
    plan_memo: str = ""


class Answer(Struct, frozen=True, gc=False, kw_only=True):
    """What a query returns. Which fields are filled depends on the kind of query.

    LOOKUP, FUZZY, SEARCH: `records` (and `suggestions` when a LOOKUP finds nothing).
    TRAVERSE: `nodes`, `stages`, `source_nodes`, `edge_summary`, `metadata`.
    SQL: `columns`, `rows`.
    """

    query_type: str  # lookup | fuzzy | search | traverse | sql | explain
    statement: str = ""  # canonical text of what ran
    records: list[Hit] = []
    suggestions: list[Hit] = []
    nodes: list[dict[str, Any]] = []
    stages: list[Stage] = []
    source_nodes: list[str] = []
    edge_summary: list[tuple[str, str, str]] = []
    columns: list[str] = []
    rows: list[tuple[Any, ...]] = []
    metadata: dict[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        """The answer as the seeds' JSON: only the fields of its kind of query."""
        if self.query_type == "traverse":
            return {
                "nodes": self.nodes,
                "stages": [msgspec.to_builtins(stage) for stage in self.stages],
                "source_nodes": self.source_nodes,
                "edge_summary": [list(edge) for edge in self.edge_summary],
                "metadata": self.metadata,
            } | (
                {"suggestions": [hit.as_dict() for hit in self.suggestions]}
                if self.suggestions
                else {}
            )
        if self.query_type in ("sql", "explain"):
            return {
                "columns": self.columns,
                "rows": [list(row) for row in self.rows],
                "metadata": self.metadata,
            }
        return {
            "records": [hit.as_dict() for hit in self.records],
            "suggestions": [hit.as_dict() for hit in self.suggestions],
            "metadata": self.metadata,
        }


class Reason(Struct, frozen=True, kw_only=True):
    """One of the things that brought a record up, and what it was worth."""

    # finds: vector | text | entity | graph | hops; weighs: speaker | asks | time | history |
    # recency
    part: str
    share: float  # of the hit's score
    rank: int = 0  # in that part's own list, from 1; 0: it has no list
    score: float = 0.0  # there: cosine, BM25, …
    note: str = ""


class RecallHit(Hit, frozen=True, kw_only=True):
    """A record recalled, and why. `matched` is its best window ("start:end" in its text), where one
    is known."""

    reasons: tuple[Reason, ...] = ()
    # edges walked to it: keys and type, from the question's side
    path: tuple[tuple[str, str, str], ...] = ()
    before: tuple[Resource, ...] = ()  # what stands beside it in its source
    after: tuple[Resource, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        shown = super().as_dict()
        shown["source"] = self.source
        shown["reasons"] = [_set_fields(reason) for reason in self.reasons]
        if self.path:
            shown["path"] = [list(edge) for edge in self.path]
        for side in ("before", "after"):
            if beside := getattr(self, side):
                shown[side] = [{"id": r.id, "name": r.name, "content": r.content} for r in beside]
        return shown


class Recall(Struct, frozen=True, kw_only=True):
    """What a question brought back. Abstaining, there are no hits and `reason` says why."""

    question: str
    asked: str = ""  # the question as it was searched: pronouns resolved
    mode: str = "hybrid"  # hybrid | temporal | contextual | iterated: how it was answered
    hits: list[RecallHit] = []
    abstained: bool = False
    reason: str = ""
    window: tuple[datetime, datetime] | None = None  # the time it is about: from, until
    # of the hits as `Memory.context` writes them; counted with a budget or `explain`
    tokens: int = 0
    # with `explain`: names found, what each part found, time taken, doubts
    explained: dict[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        """The recall as JSON-ready values."""
        shown: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["window"] = [at.isoformat() for at in self.window] if self.window else None
        shown["hits"] = [hit.as_dict() for hit in self.hits]
        return shown


class Receipt(Struct, frozen=True, kw_only=True):
    """What `forget` removed, and that a sweep afterwards found nothing left."""

    records: int = 0
    vectors: int = 0
    keys: int = 0
    edges: int = 0
    derived: int = 0  # records derived from the forgotten ones, forgotten with them
    ids: tuple[str, ...] = ()
    # nothing remains, in records, what was made of them, indexes, journal and log
    verified: bool = False
    remaining: tuple[str, ...] = ()  # what the sweep still found, and where
    # what a file may still hold that nothing leads to, and when it goes
    pending: tuple[str, ...] = ()
    at: datetime | None = None


class ReadItem(Struct, frozen=True, kw_only=True):
    """One document of a reading: what became of it, and why."""

    uri: str
    status: Literal["read", "unchanged", "skipped", "failed"]
    reason: str = ""
    chunks: int = 0
    entities: int = 0


class ReadReport(Struct, frozen=True, kw_only=True):
    """What a call of `read` did, document by document."""

    items: list[ReadItem] = []
    resources: int = 0  # written
    entities: int = 0
    moments: int = 0
    edges: int = 0
    seconds: float = 0.0
    pending: int = 0  # texts still waiting for their embedding
    embedding_error: str = ""  # why they do: what was read is kept, and is found by words and names
    ids: tuple[str, ...] = ()  # of the resources, in reading order

    @property
    def read(self) -> list[ReadItem]:
        return [item for item in self.items if item.status == "read"]

    @property
    def skipped(self) -> list[ReadItem]:
        return [item for item in self.items if item.status in ("skipped", "failed")]


class Copied(Struct, frozen=True, kw_only=True):
    """What a copy of a tenant holds, verified, and how much of it this call wrote."""

    records: int
    edges: int
    vectors: int
    journal: int  # entries
    written: int  # records and edges
    resumed: bool = False  # an earlier copy had been broken off
    checksum: str  # of all contents, the same at both places


class TenantInfo(Struct, frozen=True, kw_only=True):
    """A tenant of a home, as it can be told without opening it."""

    name: str
    encrypted: bool
    bytes: int  # on disk
    damaged: bool = False  # its tenant.json cannot be read, so it cannot be opened


def _set_fields(value: Struct) -> dict[str, Any]:
    fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
    found = {name: value for name, value in fields if value not in ("", 0)}
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in found.items()
    }


def cited(uri: str, metadata: dict[str, Any]) -> str:
    """Where something was read, by its `metadata`.

    >>> cited("notes.md", {"lines": [3, 9]}), cited("q1.pdf", {"pages": [2, 2]}), cited("q1.pdf", {"pages": [2, 3]})
    ('notes.md:3-9', 'q1.pdf#page=2', 'q1.pdf#page=2-3')
    """
    if lines := metadata.get("lines"):
        return f"{uri}:{lines[0]}-{lines[1]}"
    if pages := metadata.get("pages"):
        first, last = pages
        return f"{uri}#page={first}" if first == last else f"{uri}#page={first}-{last}"
    return uri


def record_dict(record: Record) -> dict[str, Any]:
    """A record as JSON-ready values with its schema; unset fields left out."""
    if record.embedding is not None:
        record = replace(record, embedding=None)
    built = msgspec.to_builtins(record)
    shown: dict[str, Any] = {"schema": record.schema}
    for name in record.__struct_fields__:
        # what is a default is not built, and is plain
        value = built.get(name, getattr(record, name))
        if name in ("id", "name") or value not in _UNSET:
            shown[name] = value
    return shown
