"""A document as records: its chunks, itself, whom and what it names, and the edges between."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from operator import itemgetter
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..model import EXTRACTED, Edge, Entity, Moment, Record, Resource
from ..model.edge_types import AUTHORED_BY, REFERENCES
from ..sources import Document
from ..store.rules.record_ids import resource_id
from .chunker import CUT, PARAGRAPH, Chunk, chunk_table, chunk_text, guess_gap, normal_gap
from .edges import chain, edge_to, mentions
from .names import Extractor, Name

_LINK = re.compile(
    r"\[[^\]\n]{1,200}\]\((?P<to>[^()\s#?:]+\."
    r"(?:md|markdown|txt|rst|html?|pdf|docx))(?:#[^()\s]*)?\)"
)
# names that files have in every folder
_GENERIC = frozenset((
    "readme", "index", "introduction", "license", "licence", "changelog", "contributing",
    "notes", "main",
))  # fmt: skip
_BLANKS = re.compile(r"\s*")
_MOST_RELATED = 24  # names on one chunk's `related_entities`; its edges have them all
_TOPICS = 5  # names that tag a document's moment
_LONGEST_LABEL = 200  # characters


class ChunkedDocument(Struct, frozen=True):
    """A document cut into chunks: enough to tell whether it was read before, in little time."""

    document: Document
    chunks: tuple[Chunk, ...]
    resources: tuple[Resource, ...]  # in order, each with its id, but without name and names
    digest: str

    @property
    def id(self) -> str:
        return document_id(self.document.uri)

    @property
    def moment_id(self) -> str:
        """The id of its moment; empty when it is not dated."""
        return moment_id(self.document, [resource.id for resource in self.resources])


def outline(document: Document, *, tenant: str, category: str | None = None) -> ChunkedDocument:
    """Cut a document that is not a chat into chunks; they depend neither on its name nor on those
    in it."""
    chunks = _cut(document)
    columns = _columns(document, chunks)
    is_image = _is_image(document)
    # a model said some of what is said of it
    is_captioned = is_image and "captioned_by" in document.metadata["media"]
    resources = []
    before: Chunk | None = None
    for ordinal, chunk in enumerate(chunks):
        resource = Resource(
            content=chunk.text,
            category=category or document.category,
            uri=document.uri,
            origin=document.origin,
            ordinal=ordinal,
            starts_at=document.at,
            trust="derived" if is_captioned else "read",
            kind="image" if is_image else "chunk",
            metadata=_metadata(document, chunk, before) | columns[ordinal],
        )
        resources.append(replace(resource, id=resource_id(tenant, resource)))
        before = chunk
    return ChunkedDocument(document, tuple(chunks), tuple(resources), digest(document))


def prepare(outline: ChunkedDocument, *, extractor: Extractor, name: str = "") -> PreparedDocument:
    """Make the records of a document that is not a chat; for those see `chats.prepare`.

    They are called `name`, or else the document's title.

    * a Resource for each chunk, with `lines` (or `pages`) and `heading` in its metadata;
    * an Entity of type "document" for the document, known by its title and its file name;
    * an Entity for each name in it, with its aliases;
    * a Moment of type "document", if it is dated;
    * edges: chunk `part_of` document, chunk `next` chunk, chunk `mentions` entity, document
      `authored_by` person, document `references` document (links to files).
    """
    document = outline.document
    # in the whole document: how a name is written in one chunk tells what it is in another
    names = extractor.extract(_readable(document), dict.fromkeys(document.authors, "person"))
    names_by_chunk = names_by_part(names, [(one.start, one.end) for one in outline.chunks])
    title = label(name or document.title)
    resources = _named_resources(outline, title, names_by_chunk)
    edges = chain(resources, title, "document")
    for resource, named in zip(resources, names_by_chunk, strict=True):
        edges += [mentions(resource.name, name) for name in named]
    edges += [edge_to(title, AUTHORED_BY, author, "person") for author in document.authors]
    edges += _references(document, title)
    others: list[Entity | Moment] = [
        _document_entity(outline, title),
        *map(to_entity, [*names, *unnamed(document.authors, names)]),
    ]
    if document.at:
        others.append(_moment(outline, title, document.at, names))
    return PreparedDocument(document.uri, tuple(resources), tuple(others), tuple(edges))


def identity(*parts: str) -> str:
    """A stable id of these parts, for what is neither chunk nor new."""
    return str(uuid5(NAMESPACE_URL, "remloom:" + "\n".join(parts)))


def label(title: str) -> str:
    """A title as a label; "untitled" for what cannot be one."""
    text = " ".join(title.split())[:_LONGEST_LABEL]
    return text if labels.is_label(text) else "untitled"


def to_entity(name: Name) -> Entity:
    """A name as an entity; the store gives it the id of the entity that is known by it, if any."""
    return Entity(
        name=name.name,
        type=name.type,
        aliases=name.aliases,
        properties={EXTRACTED: True},
    )


def digest(document: Document) -> str:
    """A hash of what is known of a document besides its text and the values of its lines. The time
    of a chat is that of its turns."""
    facts: list[Any] = [
        document.title,
        document.authors,
        None if document.turns else document.at,
        document.metadata,
    ]
    sessions = [turn.session for turn in document.turns]
    if any(sessions):
        facts.append(sessions)
    if document.origin:
        facts.append(document.origin)
    return sha256(msgspec.json.encode(facts)).hexdigest()[:16]


def is_cut_into(document: Document, chunks: Sequence[Resource]) -> bool:
    """Whether a text is these stored chunks with blanks between; no for tables. A hash of it would
    tell of words that were forgotten."""
    if not chunks or document.category == "table":
        return False
    text = document.text
    at, line = document.body, text.count("\n", 0, document.body) + 1
    for chunk in chunks:
        start = _next_position(text, chunk.content, at)
        line += text.count("\n", at, start)
        if start < 0 or (chunk.lines is not None and chunk.lines[0] != line):
            return False
        line += chunk.content.count("\n")
        at = start + len(chunk.content)
    return not text[at:].strip()


def _next_position(text: str, content: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    end = blanks.end() if blanks else at
    start = text.find(content, at, end + len(content))
    return start if start <= end else -1


def document_id(uri: str) -> str:
    """The id of the entity that a document is."""
    return identity("document", uri)


def moment_id(document: Document, ids: Iterable[str]) -> str:
    """The id of the moment of a document with these chunks; empty when it is not dated."""
    at = document.at
    return identity(document.uri, "document", at.isoformat(), *ids) if at else ""


# -- chunks --------------------------------------------------------------------------------------


def _cut(document: Document) -> list[Chunk]:
    if document.media_type == "text/csv":
        return chunk_table(document.text, delimiter=",")
    if document.media_type == "text/tab-separated-values":
        return chunk_table(document.text, delimiter="\t")
    return chunk_text(document.text, start=document.body, title=document.title)


def _is_image(document: Document) -> bool:
    return document.media_type.startswith("image/")


def _metadata(document: Document, chunk: Chunk, before: Chunk | None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"title": document.title}
    if document.lined:
        metadata["lines"] = list(chunk.lines)
    if document.pages:
        ends = (chunk.start, chunk.end - 1)
        first, last = (bisect_right(document.pages, offset) for offset in ends)
        metadata["pages"] = [first, last]
        if last > first:
            # behind how many line ends of the chunk each further page begins
            metadata["page_lines"] = [
                document.text.count("\n", chunk.start, begin)
                for begin in document.pages[first:last]
            ]
    if chunk.heading:
        metadata["heading"] = chunk.heading
    if chunk.header:
        metadata["header"] = list(chunk.header)
    if _is_image(document):
        metadata["media"] = document.metadata["media"]
    gap = _gap(document, chunk, before) if before else None
    if gap is not None:
        metadata["gap"] = gap
    return metadata


def _columns(document: Document, chunks: Sequence[Chunk]) -> list[dict[str, Any]]:
    """The values of the lines of each chunk and the blank ones before it; the rest is the
    last's."""
    if not document.columns:
        return [{} for _ in chunks]
    ends = [chunk.lines[1] for chunk in chunks[:-1]] + [document.text.count("\n") + 1]
    begin = 0
    found = []
    for end in ends:
        values = {name: list(column[begin:end]) for name, column in document.columns.items()}
        # a chunk within one line has no values of its own
        is_empty = end == begin
        found.append({} if is_empty else {"columns": values, "column_lines": [begin + 1, end]})
        begin = end
    return found


def _gap(document: Document, chunk: Chunk, before: Chunk) -> str | None:
    """What is between a chunk and the one before it; None where it follows from the two."""
    gap = normal_gap(document.text[before.end : chunk.start])
    if not document.lined:
        return None if gap == PARAGRAPH else gap
    # lines tell how many line ends there are
    is_implied = gap.endswith("\n") or gap == guess_gap(before.text, chunk.text)
    return None if is_implied else gap


def _named_resources(
    outline: ChunkedDocument,
    title: str,
    names_by_chunk: Sequence[Sequence[Name]],
) -> list[Resource]:
    resources = []
    for resource, names in zip(outline.resources, names_by_chunk, strict=True):
        is_only = len(outline.chunks) == 1
        resources.append(
            replace(
                resource,
                name=title if is_only else f"{title} #{resource.ordinal + 1}",
                related_entities=tuple(name.name for name in names[:_MOST_RELATED]),
            )
        )
    return resources


def _readable(document: Document) -> str:
    """The text with front matter blanked, and table cells apart from each other; offsets stay."""
    text = " " * document.body + document.text[document.body :]
    if document.category == "table":
        text = text.replace(",", "|").replace("\t", "|")
    return text


def names_by_part(names: Iterable[Name], spans: Sequence[tuple[int, int]]) -> list[list[Name]]:
    """The names in each part of a text, in the order of `names`, by where parts start and end."""
    by_part: list[list[Name]] = [[] for _ in spans]
    for name in names:
        for start, _ in name.spans:
            at = bisect_right(spans, start, key=itemgetter(0)) - 1
            if at >= 0 and start < spans[at][1] and name not in by_part[at][-1:]:
                by_part[at].append(name)
    return by_part


def unnamed(people: Iterable[str], names: Iterable[Name]) -> list[Name]:
    """The people whom the text itself does not name."""
    known = set[str]().union(*(name.keys for name in names))
    return [Name(name=one, type="person") for one in people if labels.key(one) not in known]


# -- the document itself -------------------------------------------------------------------------


def _document_entity(outline: ChunkedDocument, title: str) -> Entity:
    document = outline.document
    properties: dict[str, Any] = {
        "uri": document.uri,
        "media_type": document.media_type,
        "chunks": len(outline.chunks),
        "digest": outline.digest,
        "cut": CUT,
    }
    if document.at:
        properties["date"] = document.at.date().isoformat()
    if document.authors:
        properties["authors"] = list(document.authors)
    key = labels.key(title)
    aliases = [name for name in _file_names(document.uri) if labels.key(name) != key]
    return Entity(
        id=outline.id,
        type="document",
        name=title,
        aliases=tuple(aliases),
        properties={**properties, **document.metadata},
    )


def _file_names(uri: str) -> list[str]:
    """The names that a file may be called by; none that files have in every folder."""
    name = uri.replace("\\", "/").rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    if stem.lower() in _GENERIC or not stem.strip("-_. "):
        return []
    return [each for each in dict.fromkeys((stem, name)) if labels.is_label(each)]


def _references(document: Document, title: str) -> list[Edge]:
    """Edges for links to other files, whose names are aliases of the documents in them."""
    linked = dict.fromkeys(
        match["to"].rpartition("/")[2] for match in _LINK.finditer(document.text)
    )
    own = _file_names(document.uri)
    stems = [name.rpartition(".")[0] for name in linked if name not in own]
    return [
        edge_to(title, REFERENCES, stem, "document")
        for stem in stems
        if stem.lower() not in _GENERIC and labels.is_label(stem)
    ]


def _moment(outline: ChunkedDocument, title: str, at: datetime, names: Sequence[Name]) -> Moment:
    # the sort is stable: of names as frequent the first one counts
    frequent = sorted(names, key=lambda name: -len(name.spans))
    return Moment(
        id=outline.moment_id,
        name=title,
        type="document",
        starts_at=at,
        topic_tags=tuple(name.name for name in frequent[:_TOPICS]),
        resource_refs=tuple(resource.id for resource in outline.resources),
        entity_refs=tuple(name.name for name in names),
        metadata={"uri": outline.document.uri},
    )


class PreparedDocument(Struct, frozen=True):
    """Everything that a document becomes."""

    uri: str
    resources: tuple[Resource, ...]  # in order, each with its id
    others: tuple[Entity | Moment, ...]
    edges: tuple[Edge, ...]
    # it is all of its source: what else was read from there goes; else it follows that
    whole: bool = True
    stored_ids: tuple[str, ...] = ()  # of resources that were given, and are stored already
    changed: tuple[Resource, ...] = ()  # that were read before, and have another context now
    # records that must still be so when it is written: id to `revision`, see
    # `store.batch.Preconditions`
    expected: dict[str, int | None] = {}

    @property
    def ids(self) -> list[str]:
        return [record.id for record in (*self.resources, *self.others) if record.id]

    @property
    def items(self) -> list[Record | Edge]:
        return [*self.resources, *self.changed, *self.others, *self.edges]
