"""Reading documents into memory: each one whole or not at all, none stopped by another."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable, Sequence, Sized
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import ChangedError, RemloomError, StoreError
from ..model import Edge, Entity, Moment, ReadItem, ReadReport, Record, edge_types
from ..sources import Document, Skipped
from ..store.batch import Preconditions
from ..store.contract import Reads, Store
from ..store.forget import orphans
from ..store.merge import keys_of
from ..store.results import Written
from ..store.specs import EdgeSpec
from . import chats, documents
from .chat_append import following, whole
from .documents import Prepared
from .names.known import KnownNames
from .names.name import Extractor
from .names.rules import CapitalizedNames

__all__ = ["BATCH", "ingest"]

BATCH = 500  # records and edges from which what was prepared is written
_TRIES = 4  # to write what follows in a chat while others do, before nobody else may
_PAUSE = 0.002  # seconds between them at most, at first

Link = tuple[str, str, str]  # an edge: (src, rel_type, dst), the ends as keys
# to write; ids and edges to remove before
Items = tuple[list[Record | Edge], Sequence[str], Sequence[Link]]
Update = Callable[[Callable[[Reads], Items]], Written]
Again = Callable[[Reads], Prepared]  # a document once more, under a name that is free there
Write = Callable[
    [list[Record | Edge], Sequence[str], Sequence[Link], Preconditions | None], Written
]


class _Waiting(Struct, frozen=True):
    """A document that waits to be written."""

    prepared: Prepared
    new: int  # resources that are not there yet
    place: int  # in the report
    again: Again | None = None  # None: its name is its own already


def ingest(
    source: Iterable[Document | Skipped],
    *,
    tenant: str,
    store: Store,
    write: Write,
    update: Update | None = None,
    category: str | None = None,
    extractor: Extractor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReadReport:
    """Read every document and report what became of each.

    A document is written in one transaction, small ones several together. One whose records are all
    there is `unchanged` and writes nothing. Of one that changed, what is no longer in it is removed
    in the transaction that writes the new, and then the entities that only this had named. A
    document that cannot be prepared or written is `failed` with its reason, and the reading goes
    on; only an error of the store itself (`StoreError`: full disk, closed, corrupt) ends it.

    Args:
        source: documents, as `sources.open_source` gives them.
        tenant: whose memory it is; part of every chunk's id.
        store: where it is looked up what was read before.
        write: writes items, after removing records by id and edges, in one transaction; see
            `Memory.write`.
        update: writes what is made of what it gives to read, in the same transaction; see
            `Store.update`. Without, a chat to which others append meanwhile raises ChangedError.
        category: of the resources, instead of the documents' own.
        extractor: finds names; `CapitalizedNames` when not given.
        progress: called with the documents done and, if `source` has a length, how many there are
            (else 0).
    """
    began = time.monotonic()
    names = KnownNames(extractor or CapitalizedNames(), store)
    reading = _Reading(tenant, store, write, update, category, names)
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
    return ReadItem(
        uri=skipped.uri, status="failed" if skipped.failed else "skipped", reason=skipped.reason
    )


class _Reading:
    """What has been read so far, and what waits to be written."""

    def __init__(
        self,
        tenant: str,
        store: Store,
        write: Write,
        update: Update | None,
        category: str | None,
        extractor: Extractor,
    ) -> None:
        self._tenant = tenant
        self._store = store
        self._write = write
        self._update = update
        self._category = category
        self._extractor = extractor
        # key of a name: uri of the first document that has it
        self._names: dict[str, str] = {}
        self._waiting: list[_Waiting] = []
        self._size = 0
        self._ids: list[str] = []
        self._resources = self._moments = self._edges = 0
        self._entities: set[tuple[str, str]] = set()
        self.items: list[ReadItem] = []

    def take(self, document: Document) -> None:
        """Prepare a document, unless it is known, and write it with the next batch."""
        try:
            if document.turns or document.follows:
                self._chat(document)
            else:
                self._document(document)
        except (StoreError, ChangedError):
            raise
        except (RemloomError, ValueError, RecursionError) as error:
            self.items.append(ReadItem(uri=document.uri, status="failed", reason=_reason(error)))

    def _document(self, document: Document) -> None:
        outline = documents.outline(document, tenant=self._tenant, category=self._category)
        if not outline.resources:
            self.items.append(ReadItem(uri=document.uri, status="skipped", reason="no text in it"))
            return
        known = {record.id for record in self._store.records.chunks(document.uri)}
        ids = tuple(resource.id for resource in outline.resources)
        if known.issuperset(ids) and self._is_stored(outline):
            self._unchanged(document.uri, ids)
            return

        def prepared(reads: Reads) -> Prepared:
            return documents.prepare(
                outline, extractor=self._extractor, name=self._name(document, reads)
            )

        self._add(prepared(self._store), known, prepared)

    def _is_stored(self, outline: documents.Outline) -> bool:
        """Whether all that a document is, besides its chunks, is what is stored of it."""
        itself = self._store.records.get("entities", outline.id)
        if not isinstance(itself, Entity) or itself.properties.get("digest") != outline.digest:
            return False
        return (
            not outline.moment_id
            or self._store.records.get("moments", outline.moment_id) is not None
        )

    def _chat(self, document: Document) -> None:
        """A chat of which a beginning was read goes on behind it; else it is read like any
        document."""
        for attempt in range(_TRIES):
            prepared, known = self._chat_from(self._store, document)
            if not prepared.resources:
                self._unchanged(document.uri, prepared.there)
                return
            if not prepared.expected:
                self._add(prepared, known, lambda reads: self._chat_from(reads, document)[0])
                return
            # what rests on what was there is written at once, and alone
            self.flush()
            try:
                self._add(prepared, known, None)
                self.flush()
                return
            except ChangedError:  # others went on with it meanwhile
                self._waiting, self._size = [], 0
                del self.items[-1]
                if self._update is None:
                    raise
                time.sleep(random.uniform(0, _PAUSE) * (attempt + 1))  # noqa: S311
        self._chat_held(document)

    def _chat_from(self, reads: Reads, document: Document) -> tuple[Prepared, set[str]]:
        """What is to be written of a chat, and the ids of the resources that are there of what it
        replaces."""
        extractor, category = self._extractor, self._category
        if found := following(
            reads, document, tenant=self._tenant, extractor=extractor, category=category
        ):
            return found, set()
        joined, expected = whole(reads, document) if document.follows else (document, {})
        name = self._name(joined, reads)
        prepared = chats.prepare(
            joined, tenant=self._tenant, extractor=extractor, name=name, category=category
        )
        return replace(prepared, expected=expected), {
            turn.id for turn in reads.records.chunks(document.uri)
        }

    def _chat_held(self, document: Document) -> None:
        """Others write to the chat again and again: it is read and written while nobody else can."""
        assert self._update is not None  # noqa: S101
        found: list[tuple[Prepared, set[str]]] = []

        def work(reads: Reads) -> Items:
            prepared, known = self._chat_from(reads, document)
            found[:] = [(prepared, known)]
            return _cleared(reads, prepared.items, *_superseded(reads, prepared))

        written = self._update(work)
        ((prepared, known),) = found
        if not prepared.resources:
            self._unchanged(document.uri, prepared.there)
            return
        self._add(prepared, known, None, flush=False)
        waiting, self._waiting, self._size = self._waiting, [], 0
        self._done(waiting, written)

    def _unchanged(self, uri: str, ids: Sequence[str]) -> None:
        self._ids += ids
        self.items.append(ReadItem(uri=uri, status="unchanged", chunks=len(ids)))

    def _add(
        self, prepared: Prepared, known: Collection[str], again: Again | None, *, flush: bool = True
    ) -> None:
        """Write it with the next batch. `known` are ids of resources that are there."""
        new = sum(resource.id not in known for resource in prepared.resources)
        entities = sum(isinstance(record, Entity) for record in prepared.others)
        chunks = len(prepared.there) + len(prepared.resources)
        self._waiting.append(_Waiting(prepared, new, len(self.items), again))
        self.items.append(
            ReadItem(uri=prepared.uri, status="read", chunks=chunks, entities=entities)
        )
        self._size += len(prepared.items)
        if flush and self._size >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits, together; if that fails, one by one, so that only the one at fault is
        lost."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        if not waiting:
            return
        expected: dict[str, datetime | None] = {}
        for one in waiting:
            expected |= one.prepared.expected

        def work(reads: Reads) -> Items:
            waiting[:] = [_named(reads, one) for one in waiting]
            items = [item for one in waiting for item in one.prepared.items]
            found = [_superseded(reads, one.prepared) for one in waiting]
            removed, unlinked = (
                [id for ids, _ in found for id in ids],
                [link for _, links in found for link in links],
            )
            return _cleared(reads, items, removed, unlinked)

        try:
            if self._update is not None and not expected:
                written = self._update(work)
            else:
                written = self._write(
                    *work(self._store), Preconditions(records=expected) if expected else None
                )
            self._done(waiting, written)
        except (StoreError, ChangedError):
            raise
        except RemloomError as error:
            if len(waiting) == 1:
                one = waiting[0]
                self.items[one.place] = ReadItem(
                    uri=one.prepared.uri, status="failed", reason=_reason(error)
                )
                return
            for one in waiting:
                self._waiting = [one]
                self.flush()

    def _done(self, waiting: Sequence[_Waiting], written: Written) -> None:
        self._edges += written.edges
        for one in waiting:
            prepared = one.prepared
            self._ids += [*prepared.there, *(resource.id for resource in prepared.resources)]
            self._resources += one.new
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

    def _name(self, document: Document, reads: Reads | None = None) -> str:
        """The document's title, made one that no other document has: edges go by labels and would
        mix them."""
        uri = document.uri.replace("\\", "/")
        places = uri.rsplit("/", 2)[1:] if "/" in uri else [uri]
        for name in (
            document.title,
            f"{document.title} ({places[-1]})",
            f"{document.title} ({'/'.join(places)})",
        ):
            key = labels.key(documents.label(name))
            if (
                not _taken(reads or self._store, key, document.uri)
                and self._names.setdefault(key, document.uri) == document.uri
            ):
                return name
        return f"{document.title} ({uri})"


def _named(reads: Reads, waiting: _Waiting) -> _Waiting:
    """What waits, under another name if another document was given its name since it was prepared."""
    prepared = waiting.prepared
    own = (
        record.name
        for record in prepared.others
        if isinstance(record, Entity) and "uri" in record.properties
    )
    if waiting.again is None or not any(
        _taken(reads, labels.key(name), prepared.uri) for name in own
    ):
        return waiting
    return replace(waiting, prepared=waiting.again(reads))


def _taken(reads: Reads, key: str, uri: str) -> bool:
    """Whether a document read before, from another place, has this name."""
    return any(
        isinstance(record, Entity)
        and labels.key(record.name) == key
        and record.properties.get("uri", uri) != uri
        for record in reads.records.lookup([key], edges=0)[key]
    )


def _superseded(store: Reads, prepared: Prepared) -> tuple[list[str], list[Link]]:
    """What was read from the same place before and is no longer in it: ids of records, and edges.

    Of the edges that leave the document's labels only those that reading makes: others are
    somebody's own.
    """
    before: list[Record] = [*store.records.chunks(prepared.uri)] if prepared.whole else []
    if not before:
        return [], []  # it is new, or all that is there stays
    referring = store.records.referring([record.id for record in before])
    before += (moment for moment in referring if moment.metadata.get("uri") == prepared.uri)
    for kind in ("document", "chat"):
        if (
            itself := store.records.get("entities", documents.identity(kind, prepared.uri))
        ) is not None:
            before.append(itself)
    keep: Collection[str] = set(prepared.ids)
    made = {(labels.key(edge.src), edge.rel_type, labels.key(edge.dst)) for edge in prepared.edges}
    keys = list({labels.key(record.name) for record in before})
    linked = (
        (edge.src, edge.rel_type, edge.dst)
        for edge in store.graph.edges(EdgeSpec(keys, direction="out"))
        if edge.rel_type in edge_types.READ
    )
    return [record.id for record in before if record.id not in keep], [
        link for link in linked if link not in made
    ]


def _cleared(
    reads: Reads, items: list[Record | Edge], removed: Sequence[str], unlinked: Sequence[Link]
) -> Items:
    """What is to be written, and to be removed with the rest whom nothing leads to once it is."""
    if not unlinked:
        return items, removed, unlinked
    named = {
        labels.key(end) for item in items if isinstance(item, Edge) for end in (item.src, item.dst)
    }
    named.update(key for item in items if isinstance(item, Entity) for key in keys_of(item))
    going = {id: record for id in removed if (record := reads.records.get(None, id)) is not None}
    found = orphans(reads, going, unlinked, named={dst for _, _, dst in unlinked})
    return (
        items,
        [*removed, *(entity.id for entity in found if named.isdisjoint(keys_of(entity)))],
        unlinked,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, RemloomError):
        return f"{error.message}: {error.remedy}" if error.remedy else error.message
    return f"{type(error).__name__}: {error}"
