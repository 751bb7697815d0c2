"""Reading documents into memory: each one whole or not at all, none stopped by another."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from typing import Any

from .. import labels
from ..errors import ChangedError, RemloomError, StoreError
from ..model import Edge, Entity, Moment, ReadItem, ReadReport, Record
from ..predicates import Eq, Query
from ..sources import Document, Skipped
from ..store.contract import Store, Written
from ..store.forgetting import orphans
from . import chats, documents
from .documents import Prepared
from .entities import CapitalizedNames, Extractor, Name

__all__ = ["BATCH", "ingest"]

BATCH = 500  # records and edges from which what was prepared is written

Link = tuple[str, str, str]  # an edge: (src, rel_type, dst), the ends as keys
Write = Callable[[list[Record | Edge], Sequence[str], Sequence[Link]], Written]


def ingest(
    source: Iterable[Document | Skipped],
    *,
    tenant: str,
    store: Store,
    write: Write,
    category: str | None = None,
    extractor: Extractor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReadReport:
    """Read every document and report what became of each.

    A document is written in one transaction, small ones several together. One whose records are all there is
    `unchanged` and writes nothing. Of one that changed, what is no longer in it is removed in the transaction that
    writes the new, and then the entities that only this had named. A document that cannot be prepared or written is
    `failed` with its reason, and the reading goes on; only an error of the store itself (`StoreError`: full disk,
    closed, corrupt) ends it.

    Args:
        source: documents, as `sources.open_source` gives them.
        tenant: whose memory it is; part of every chunk's id.
        store: where it is looked up what was read before.
        write: writes items, after removing records by id and edges, in one transaction; see `Memory.write`.
        category: of the resources, instead of the documents' own.
        extractor: finds names; `CapitalizedNames` when not given.
        progress: called with the documents done and, if `source` has a length, how many there are (else 0).
    """
    began = time.monotonic()
    reading = _Reading(tenant, store, write, category, extractor or CapitalizedNames())
    total = len(source) if isinstance(source, Sized) else 0
    for done, document in enumerate(source, 1):
        if isinstance(document, Skipped):
            reading.items.append(_passed_over(document))
        else:
            reading.take(document)
        if progress:
            progress(done, max(total, done) if total else 0)
    reading.flush()
    return reading.report(time.monotonic() - began)


def _passed_over(skipped: Skipped) -> ReadItem:
    return ReadItem(uri=skipped.uri, status="failed" if skipped.failed else "skipped", reason=skipped.reason)


class _Reading:
    """What has been read so far, and what waits to be written."""

    def __init__(self, tenant: str, store: Store, write: Write, category: str | None, extractor: Extractor) -> None:
        self._tenant = tenant
        self._store = store
        self._write = write
        self._category = category
        self._extractor = extractor
        self._names: dict[str, str] = {}  # key of a name: uri of the first document that has it
        self._waiting: list[tuple[Prepared, int, int]] = []  # with its new resources, and its place in the report
        self._size = 0
        self._ids: list[str] = []
        self._resources = self._moments = self._edges = 0
        self._entities: set[tuple[str, str]] = set()
        self.items: list[ReadItem] = []

    def take(self, document: Document) -> None:
        """Prepare a document, unless it is known, and write it with the next batch."""
        name = self._name(document)
        try:
            outline = self._prepare(document, _NO_NAMES)  # ids do not depend on names, which take most of the time
            chunks = len(outline.resources)
            known = {id: record for id in outline.ids if (record := self._store.get(None, id)) is not None}
            if not chunks:
                self.items.append(ReadItem(uri=document.uri, status="skipped", reason="no text in it"))
                return
            if len(known) == len(set(outline.ids)) and _digest(outline.itself) == _digest(known[outline.itself.id]):
                self._ids += [resource.id for resource in outline.resources]
                self.items.append(ReadItem(uri=document.uri, status="unchanged", chunks=chunks))
                return
            prepared = self._prepare(document, self._extractor, name)
        except StoreError:
            raise
        except (RemloomError, ValueError, RecursionError) as error:
            self.items.append(ReadItem(uri=document.uri, status="failed", reason=_reason(error)))
            return
        new = sum(resource.id not in known for resource in prepared.resources)
        entities = sum(isinstance(record, Entity) for record in prepared.others)
        self._waiting.append((prepared, new, len(self.items)))
        self.items.append(ReadItem(uri=document.uri, status="read", chunks=chunks, entities=entities))
        self._size += len(prepared.items)
        if self._size >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits, together; if that fails, one by one, so that only the one at fault is lost."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        if not waiting:
            return
        items = [item for prepared, _, _ in waiting for item in prepared.items]
        removed: list[str] = []
        unlinked: list[Link] = []
        for prepared, _, _ in waiting:
            gone, loose = _superseded(self._store, prepared)
            removed += gone
            unlinked += loose
        try:
            written = self._write(items, removed, unlinked)
            if orphaned := [record.id for record in orphans(self._store, {dst for _, _, dst in unlinked})]:
                self._write([], orphaned, [])
        except (StoreError, ChangedError):
            raise
        except RemloomError as error:
            if len(waiting) == 1:
                prepared, _, place = waiting[0]
                self.items[place] = ReadItem(uri=prepared.uri, status="failed", reason=_reason(error))
                return
            for one in waiting:
                self._waiting = [one]
                self.flush()
            return
        self._edges += written.edges
        for prepared, new, _ in waiting:
            self._ids += [resource.id for resource in prepared.resources]
            self._resources += new
            for record in prepared.others:
                if isinstance(record, Entity):
                    self._entities.add((labels.key(record.name), record.type))
                self._moments += isinstance(record, Moment)

    def report(self, seconds: float) -> ReadReport:
        return ReadReport(
            items=self.items,
            resources=self._resources,
            entities=len(self._entities),
            moments=self._moments,
            edges=self._edges,
            seconds=round(seconds, 3),
            ids=tuple(self._ids),
        )

    def _prepare(self, document: Document, extractor: Extractor, name: str = "") -> Prepared:
        prepare = chats.prepare if document.turns else documents.prepare
        return prepare(document, tenant=self._tenant, extractor=extractor, name=name, category=self._category)

    def _name(self, document: Document) -> str:
        """The document's title, made one that no other document has: edges go by labels and would mix them."""
        uri = document.uri.replace("\\", "/")
        places = uri.rsplit("/", 2)[1:] if "/" in uri else [uri]
        for name in (document.title, f"{document.title} ({places[-1]})", f"{document.title} ({'/'.join(places)})"):
            key = labels.key(documents.label(name))
            if not self._taken(key, document.uri) and self._names.setdefault(key, document.uri) == document.uri:
                return name
        return f"{document.title} ({uri})"

    def _taken(self, key: str, uri: str) -> bool:
        """Whether a document read before, from another place, has this name."""
        return any(
            isinstance(record, Entity) and labels.key(record.name) == key and record.properties.get("uri", uri) != uri
            for record in self._store.lookup([key], edges=0)[key]
        )


class _NoNames:
    """An extractor for when names do not matter."""

    def extract(self, text: str, known: Mapping[str, str] = {}) -> list[Name]:
        return []


_NO_NAMES = _NoNames()


def _superseded(store: Store, prepared: Prepared) -> tuple[list[str], list[Link]]:
    """What was read from the same place before and is no longer in it: ids of records, and edges.

    Of the edges that leave the document's labels only those that reading makes: others are somebody's own.
    """
    before: list[Record] = store.query("resources", Query().filter(Eq("uri", prepared.uri)))
    if not before:
        return [], []  # it is new, and the entities and moments need no look
    before += store.query("entities", Query().filter(Eq("properties.uri", prepared.uri)))
    before += store.query("moments", Query().filter(Eq("metadata.uri", prepared.uri)))
    keep: Collection[str] = set(prepared.ids)
    made = {(labels.key(edge.src), edge.rel_type, labels.key(edge.dst)) for edge in prepared.edges}
    keys = list({labels.key(record.name) for record in before})
    linked = (
        (edge.src, edge.rel_type, edge.dst)
        for edge in store.edges(keys, direction="out", rel_types=None, limit=None)
        if edge.rel_type in documents.EDGES
    )
    return [record.id for record in before if record.id not in keep], [link for link in linked if link not in made]


def _digest(record: Record) -> Any:
    return record.properties.get("digest") if isinstance(record, Entity) else None


def _reason(error: Exception) -> str:
    if isinstance(error, RemloomError):
        return f"{error.message}: {error.remedy}" if error.remedy else error.message
    return f"{type(error).__name__}: {error}"
