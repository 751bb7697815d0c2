"""A document as records: its chunks, itself, whom and what it names, and how these hang together."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from itertools import pairwise
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Struct

from .. import labels
from ..errors import LabelError
from ..model import EXTRACTED, Edge, Entity, Moment, Record, Resource
from ..sources import Document
from ..store.record_ids import resource_id
from .chunker import Chunk, chunk_table, chunk_text
from .names.name import Extractor, Name

__all__ = [
    "MENTIONS",
    "OWNS",
    "Outline",
    "Prepared",
    "chain",
    "digest",
    "entity",
    "follows",
    "identity",
    "label",
    "mention",
    "outline",
    "prepare",
]

MENTIONS = 0.3  # weights of edges, from seed 5's guidelines
REFERENCES = 0.5
OWNS = 1.0
_LINK = re.compile(
    r"\[[^\]\n]{1,200}\]\((?P<to>[^()\s#?:]+\.(?:md|markdown|txt|rst|html?|pdf|docx))(?:#[^()\s]*)?\)"
)
_GENERIC = frozenset(
    (
        "readme",
        "index",
        "introduction",
        "license",
        "licence",
        "changelog",
        "contributing",
        "notes",
        "main",
    )
)
_MOST_RELATED = 24  # names on one chunk's `related_entities`; its edges have them all


class Prepared(Struct, frozen=True):
    """Everything a document becomes."""

    uri: str
    resources: tuple[Resource, ...]  # in order, each with its id
    others: tuple[Entity | Moment, ...]
    edges: tuple[Edge, ...]
    whole: bool = True  # what else was read from there is no longer in it; else this follows it
    there: tuple[str, ...] = ()  # ids of resources that were given, and are there already
    changed: tuple[Resource, ...] = ()  # that were read before, and have another context now
    # what it rests on: see `store.contract.Expected.records`
    expected: dict[str, datetime | None] = {}

    @property
    def ids(self) -> list[str]:
        """The ids by which a reading is recognised: of the resources, the document itself and its
        moments."""
        return [record.id for record in (*self.resources, *self.others) if record.id]

    @property
    def items(self) -> list[Record | Edge]:
        return [*self.resources, *self.changed, *self.others, *self.edges]


class Outline(Struct, frozen=True):
    """A document cut into chunks: what is told apart by, and takes little time."""

    document: Document
    chunks: tuple[Chunk, ...]
    resources: tuple[Resource, ...]  # in order, each with its id, but without name and names
    digest: str

    @property
    def id(self) -> str:
        """Of the entity that the document is."""
        return identity("document", self.document.uri)

    @property
    def moment_id(self) -> str:
        """Of its moment; empty when it is not dated."""
        at = self.document.at
        ids = (resource.id for resource in self.resources)
        return identity(self.document.uri, "document", at.isoformat(), *ids) if at else ""


def outline(document: Document, *, tenant: str, category: str | None = None) -> Outline:
    """The chunks of a document that is no chat. What they are does not depend on its name, nor on
    the names in it."""
    chunks = _chunks(document)
    resources = []
    for number, chunk in enumerate(chunks):
        metadata: dict[str, Any] = {"title": document.title}
        if document.lined:
            metadata["lines"] = list(chunk.lines)
        if document.pages:
            metadata["pages"] = [
                bisect_right(document.pages, at) for at in (chunk.start, chunk.end - 1)
            ]
        if chunk.heading:
            metadata["heading"] = chunk.heading
        resource = Resource(
            content=chunk.text,
            category=category or document.category,
            uri=document.uri,
            ordinal=number,
            starts_at=document.at,
            metadata=metadata,
        )
        resources.append(msgspec.structs.replace(resource, id=resource_id(tenant, resource)))
    return Outline(document, tuple(chunks), tuple(resources), digest(document))


def prepare(outline: Outline, *, extractor: Extractor, name: str = "") -> Prepared:
    """The records of a document that is no chat; for those see `chats.prepare`.

    They bear `name`, or else the document's title.

    * a Resource for each chunk, with `lines` (or `pages`) and `heading` in its metadata;
    * an Entity of type "document" for the document, known by its title and its file name;
    * an Entity for each name in it, with its aliases;
    * a Moment of type "document", if it is dated;
    * edges: chunk `part_of` document, chunk `next` chunk, chunk `mentions` entity, document
      `authored_by` person, document `references` document (links to files).
    """
    document, chunks = outline.document, outline.chunks
    names = extractor.extract(_readable(document), dict.fromkeys(document.authors, "person"))
    by_chunk = [[name for name in names if _mentioned(name, chunk)] for chunk in chunks]
    title = label(name or document.title)
    resources = [
        msgspec.structs.replace(
            resource,
            name=title if len(chunks) == 1 else f"{title} #{resource.ordinal + 1}",
            related_entities=tuple(name.name for name in found[:_MOST_RELATED]),
        )
        for resource, found in zip(outline.resources, by_chunk, strict=True)
    ]
    itself = _itself(outline, title)
    edges = chain(resources, title, "document")
    for resource, found in zip(resources, by_chunk, strict=True):
        edges += [mention(resource.name, name) for name in found]
    edges += _authored(document, title) + _references(document, title)
    others: list[Entity | Moment] = [
        itself,
        *(entity(name) for name in names),
        *_people(document, names),
    ]
    if document.at:
        others.append(_moment(outline, title, document.at, names))
    return Prepared(document.uri, tuple(resources), tuple(others), tuple(edges))


def identity(*parts: str) -> str:
    """A stable id of these parts, for what is neither chunk nor new."""
    return str(uuid5(NAMESPACE_URL, "remloom:" + "\n".join(parts)))


def entity(name: Name) -> Entity:
    """A name as an entity; its id is that of the entity already known by it, if there is one."""
    return Entity(
        name=name.name, type=name.type, aliases=name.aliases, properties={EXTRACTED: True}
    )


def mention(src: str, name: Name) -> Edge:
    return Edge(
        src=src,
        rel_type="mentions",
        dst=name.name,
        weight=MENTIONS,
        properties=_about(name.name, name.type),
    )


def chain(resources: Sequence[Resource], whole: str, kind: str) -> list[Edge]:
    """Each resource `part_of` the whole and `next` the one after it."""
    edges = [
        Edge(
            src=resource.name,
            rel_type="part_of",
            dst=whole,
            weight=OWNS,
            properties=_about(whole, kind),
        )
        for resource in resources
        if labels.key(resource.name) != labels.key(whole)  # a document of one chunk bears its name
    ]
    return [*edges, *(follows(resource, following) for resource, following in pairwise(resources))]


def follows(resource: Resource, following: Resource) -> Edge:
    """The edge from a resource to the `next`."""
    about = _about(following.name, "resource/chunk")
    return Edge(
        src=resource.name, rel_type="next", dst=following.name, weight=OWNS, properties=about
    )


def _about(name: str, kind: str) -> dict[str, Any]:
    return {"dst_name": name, "dst_entity_type": kind} if kind else {"dst_name": name}


def _chunks(document: Document) -> list[Chunk]:
    if document.media_type == "text/csv":
        return chunk_table(document.text, delimiter=",")
    if document.media_type == "text/tab-separated-values":
        return chunk_table(document.text, delimiter="\t")
    return chunk_text(document.text, start=document.body, title=document.title)


def _readable(document: Document) -> str:
    """The text with front matter blanked, and table cells apart from each other; offsets stay."""
    text = " " * document.body + document.text[document.body :]
    if document.category == "table":
        text = text.replace(",", "|").replace("\t", "|")
    return text


def _mentioned(name: Name, chunk: Chunk) -> bool:
    return any(chunk.start <= start < chunk.end for start, _ in name.spans)


def _itself(outline: Outline, title: str) -> Entity:
    """The document as an entity."""
    document = outline.document
    properties: dict[str, Any] = {
        "uri": document.uri, "media_type": document.media_type, "chunks": len(outline.chunks), "digest": outline.digest
    }  # fmt: skip
    if document.at:
        properties["date"] = document.at.date().isoformat()
    if document.authors:
        properties["authors"] = list(document.authors)
    aliases = tuple(
        alias for alias in _file_names(document.uri) if labels.key(alias) != labels.key(title)
    )
    return Entity(
        id=outline.id,
        type="document",
        name=title,
        aliases=aliases,
        properties={**properties, **document.metadata},
    )


def digest(document: Document) -> str:
    """A hash of what is known of a document besides its text, by which a change there is seen. The
    time of a chat is that of its turns, and told by them, unlike the sessions that its source
    tells."""
    facts: list[Any] = [
        document.title,
        document.authors,
        None if document.turns else document.at,
        document.metadata,
    ]
    if any(turn.session for turn in document.turns):
        facts.append([turn.session for turn in document.turns])
    return sha256(msgspec.json.encode(facts)).hexdigest()[:16]


def _file_names(uri: str) -> list[str]:
    """What a file may be called: its name, and that without the suffix. Names that every folder has
    are none."""
    name = uri.replace("\\", "/").rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    if stem.lower() in _GENERIC or not stem.strip("-_. "):
        return []
    return [stem] if stem == name else [stem, name]


def label(title: str) -> str:
    """A title that can be a label."""
    text = " ".join(title.split())[:200]
    try:
        labels.key(text)
    except LabelError:
        return "untitled"
    return text


def _people(document: Document, names: list[Name]) -> list[Entity]:
    """Authors whom the text itself does not name."""
    known = {labels.key(label) for name in names for label in (name.name, *name.aliases)}
    return [
        entity(Name(name=author, type="person"))
        for author in document.authors
        if labels.key(author) not in known
    ]


def _authored(document: Document, title: str) -> list[Edge]:
    return [
        Edge(
            src=title,
            rel_type="authored_by",
            dst=author,
            weight=OWNS,
            properties=_about(author, "person"),
        )
        for author in document.authors
    ]


def _references(document: Document, title: str) -> list[Edge]:
    """Links to other files, whose names are aliases of the documents in them."""
    linked = dict.fromkeys(
        found["to"].rpartition("/")[2] for found in _LINK.finditer(document.text)
    )
    own = _file_names(document.uri)
    edges = []
    for name in linked:
        stem = name.rpartition(".")[0]
        if name not in own and stem.lower() not in _GENERIC:
            properties = {"dst_name": stem, "dst_entity_type": "document"}
            edges.append(
                Edge(
                    src=title,
                    rel_type="references",
                    dst=stem,
                    weight=REFERENCES,
                    properties=properties,
                )
            )
    return edges


def _moment(outline: Outline, title: str, at: datetime, names: list[Name]) -> Moment:
    frequent = sorted(names, key=lambda name: -len(name.spans))
    return Moment(
        id=outline.moment_id,
        name=title,
        type="document",
        starts_at=at,
        topic_tags=tuple(name.name for name in frequent[:5]),
        resource_refs=tuple(resource.id for resource in outline.resources),
        entity_refs=tuple(name.name for name in names),
        metadata={"uri": outline.document.uri},
    )
