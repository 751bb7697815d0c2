"""Reading documents into memory: each one whole or not at all, none stopped by another."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import ChangedError, RemloomError, StoreError
from ..model import (
    Edge,
    EdgeKey,
    Entity,
    Moment,
    ReadItem,
    ReadReport,
    Record,
    Resource,
    edge_types,
)
from ..sources import Document, Skipped
from ..store.batch import Preconditions
from ..store.contract import Reads, Store
from ..store.forgetting.forget import orphans
from ..store.premises import STALE_SHOWN
from ..store.results import Written
from ..store.rules.merge import keys_of
from ..store.specs import EdgeSpec
from . import chats, documents
from .chat_append import ExportedChats, is_known, join_stored, prepare_new_turns
from .chunker import CUT
from .cleaning import cleaned
from .documents import PreparedDocument
from .names import Extractor
from .names.known import KnownNames
from .names.rules import CapitalizedNames
from .redaction import Redaction

BATCH = 500  # records and edges from which what was prepared is written
_TRIES = 4  # to write what follows in a chat while others do, before nobody else may
_PAUSE = 0.002  # seconds between them at most, at first

# to write; ids and edges to remove before
Items = tuple[list[Record | Edge], Sequence[str], Sequence[EdgeKey]]
Update = Callable[[Callable[[Reads], Items], Preconditions | None], Written]
# a document once more, under a name that is free there
PrepareAgain = Callable[[Reads], PreparedDocument]


class _Waiting(Struct, frozen=True):
    prepared: PreparedDocument
    new: int  # resources that are not stored yet
    position: int  # in the report
    prepare_again: PrepareAgain | None = None  # None: its name is its own already


def ingest(
    source: Iterable[Document | Skipped],
    *,
    tenant: str,
    store: Store,
    update: Update,
    category: str | None = None,
    texts_as: str | None = None,
    mask_secrets: bool = True,
    extractor: Extractor | None = None,
    progress: Callable[[int, int], None] | None = None,
    total: int = 0,
) -> ReadReport:
    """Read every document, and report what became of each.

    A document is written in one transaction, small ones several together. One whose records are all
    there is `unchanged` and writes nothing. Of one that changed, what is no longer in it is removed
    in the transaction that writes the new, and then the entities that only this had named. A
    document that cannot be prepared or written is `failed` with its reason, and the reading goes
    on; only an error of the store itself (`StoreError`: full disk, closed, corrupt) ends it.

    Args:
        update: writes what is made of what it gives to read, in the same transaction, if the
            preconditions hold; see `Store.update`.
        category: of the resources, instead of the documents' own.
        texts_as: the category of texts that do not say themselves what they are; default the one
            that they were read as before, else "document".
        mask_secrets: whether keys, passwords and the like are masked; what is marked as private is
            never kept.
        progress: called with the documents done, and `total`, or more if there are.
        total: how many documents there are; 0: that is not known.
    """
    began = time.monotonic()
    names = KnownNames(extractor or CapitalizedNames(), store)
    reading = _Reading(tenant, store, update, category, names, texts_as, mask_secrets)
    for done, document in enumerate(source, 1):
        if isinstance(document, Skipped):
            reading.pass_over(document)
        else:
            reading.take(document)
        if progress:
            progress(done, max(total, done) if total else 0)
    reading.flush()
    return reading.report(time.monotonic() - began)


class _Reading:
    def __init__(
        self,
        tenant: str,
        store: Store,
        update: Update,
        category: str | None,
        extractor: Extractor,
        texts_as: str | None,
        mask_secrets: bool,
    ) -> None:
        self.redaction = Redaction(mask_secrets)
        self._tenant = tenant
        self._store = store
        self._update = update
        self._category = category
        self._texts_as = texts_as
        self._extractor = extractor
        # key of a name: uri of the first document that has it
        self._names: dict[str, str] = {}
        self._exported = ExportedChats(store)
        self._waiting: list[_Waiting] = []
        self._size = 0  # records and edges that wait
        self.items: list[ReadItem] = []
        # what was written
        self._ids: list[str] = []
        self._entities: set[tuple[str, str]] = set()
        self._resources = self._moments = self._edges = 0
        self._stale = 0
        self._stale_ids: list[str] = []

    def take(self, document: Document) -> None:
        """Prepare a document, unless it is known, and write it with the next batch."""
        left_out = ""
        try:
            document = self.redaction.document(document)
            document, left_out = cleaned(document)
            if document.turns or document.follows:
                self._take_chat(document)
            else:
                self._take_document(document)
        except (StoreError, ChangedError):
            raise
        except (RemloomError, ValueError, RecursionError) as error:
            self.pass_over(Skipped(uri=document.uri, reason=_describe(error), failed=True))
        if left_out:
            self.pass_over(Skipped(uri=document.uri, reason=f"left out: {left_out}"))

    def pass_over(self, skipped: Skipped) -> None:
        """Report what was not read, or failed."""
        skipped = self.redaction.skipped(skipped)
        self.items.append(
            ReadItem(
                uri=skipped.uri,
                status="failed" if skipped.failed else "skipped",
                reason=skipped.reason,
            )
        )

    def flush(self) -> None:
        """Write what waits, together; if that fails one by one, so only the one at fault is
        lost."""
        waiting = self._take_waiting()
        if not waiting:
            return
        try:
            self._write_together(waiting)
        except (StoreError, ChangedError):
            raise
        except RemloomError as error:
            if len(waiting) == 1:
                uri, position = waiting[0].prepared.uri, waiting[0].position
                self.items[position] = ReadItem(uri=uri, status="failed", reason=_describe(error))
                return
            for one in waiting:
                self._waiting = [one]
                self.flush()

    def report(self, seconds: float) -> ReadReport:
        return ReadReport(
            items=self.items,
            resources=self._resources,
            entities=len(self._entities),
            moments=self._moments,
            edges=self._edges,
            seconds=round(seconds, 3),
            ids=tuple(self._ids),
            stale=self._stale,
            stale_ids=tuple(self._stale_ids[:STALE_SHOWN]),
            masked=self.redaction.masked,
        )

    # -- documents -----------------------------------------------------------------------------

    def _take_document(self, document: Document) -> None:
        chunks = self._store.records.chunks(document.uri)
        category = self._category or self._category_of(document, chunks)
        same_kind = all(chunk.category == category for chunk in chunks)
        if same_kind and self._is_same(document, chunks):
            self._add_unchanged(document.uri, [chunk.id for chunk in chunks])
            return
        outline = documents.outline(document, tenant=self._tenant, category=category)
        if not outline.resources:
            self.pass_over(Skipped(uri=document.uri, reason="no text in it"))
            return
        stored = {chunk.id: chunk for chunk in chunks}
        ids = tuple(resource.id for resource in outline.resources)
        # with the values of its lines
        is_there = all(
            one.id in stored
            and stored[one.id].metadata.get("columns") == one.metadata.get("columns")
            for one in outline.resources
        )
        if same_kind and is_there and self._is_stored(document, ids):
            self._add_unchanged(document.uri, ids)
            return

        def prepare(reads: Reads) -> PreparedDocument:
            name = self._free_name(document, reads)
            return documents.prepare(outline, extractor=self._extractor, name=name)

        self._add(prepare(self._store), stored, prepare)

    def _category_of(self, document: Document, chunks: Sequence[Resource]) -> str:
        """What a text is taken for; whose words it has was perhaps said when it was read before."""
        if document.category != "document":
            return document.category
        return self._texts_as or next((chunk.category for chunk in chunks), "document")

    def _is_same(self, document: Document, chunks: Sequence[Resource]) -> bool:
        """Whether a document is stored as it is, without cutting it, which takes seconds of a book;
        if not, it may be the same all the same."""
        is_stored = self._is_stored(document, [chunk.id for chunk in chunks], cut=True)
        return is_stored and documents.is_cut_into(document, chunks)

    def _is_stored(self, document: Document, ids: Sequence[str], *, cut: bool = False) -> bool:
        """Whether all that a document is, besides its chunks, is what is stored of it; with `cut`,
        if it was cut as it would be now."""
        records = self._store.records
        entity = records.get("entities", documents.document_id(document.uri))
        if not isinstance(entity, Entity) or (cut and entity.properties.get("cut") != CUT):
            return False
        if entity.properties.get("digest") != documents.digest(document):
            return False
        moment = documents.moment_id(document, ids)
        return not moment or records.get("moments", moment) is not None

    # -- chats ---------------------------------------------------------------------------------

    def _take_chat(self, document: Document) -> None:
        if document.conversation:
            if self._exported.is_begun(document):
                # it may be among what waits
                self.flush()
            original, document = document, self._exported.locate(document)
            elsewhere = document.uri != original.uri
            if is_known(self._store, document, elsewhere=elsewhere):
                turns = self._store.records.chunks(document.uri)
                self._add_unchanged(document.uri, [turn.id for turn in turns])
                return
        for attempt in range(_TRIES):
            prepared, stored = self._prepare_chat(self._store, document)
            if not prepared.resources and not prepared.changed:
                self._add_unchanged(document.uri, prepared.stored_ids)
                return
            if not prepared.expected:
                self._add(prepared, stored, lambda reads: self._prepare_chat(reads, document)[0])
                return
            # what rests on what is stored is written at once, and alone
            self.flush()
            try:
                self._add(prepared, stored, None)
                self.flush()
                return
            except ChangedError:
                # others went on with it meanwhile
                self._take_waiting()
                del self.items[-1]
                time.sleep(random.uniform(0, _PAUSE) * (attempt + 1))  # noqa: S311
        self._take_chat_exclusively(document)

    def _prepare_chat(self, reads: Reads, document: Document) -> tuple[PreparedDocument, set[str]]:
        """What is to be written of a chat, and the ids of the stored resources that it replaces."""
        following = prepare_new_turns(
            reads,
            document,
            tenant=self._tenant,
            extractor=self._extractor,
            category=self._category,
        )
        if following:
            return following, set()
        expected: dict[str, Any] = {}
        whole = document
        if document.follows:
            whole, expected = join_stored(reads, document)
        prepared = chats.prepare(
            whole,
            tenant=self._tenant,
            extractor=self._extractor,
            name=self._free_name(whole, reads),
            category=self._category,
        )
        stored = {turn.id for turn in reads.records.chunks(document.uri)}
        return replace(prepared, expected=expected), stored

    def _take_chat_exclusively(self, document: Document) -> None:
        """Read and write a chat while nobody else can: others write to it again and again."""
        result: list[tuple[PreparedDocument, set[str]]] = []

        def work(reads: Reads) -> Items:
            prepared, stored = self._prepare_chat(reads, document)
            result[:] = [(prepared, stored)]
            deleted, links = _replaced(reads, prepared)
            return _with_orphans(reads, prepared.items, deleted, links)

        written = self._update(work, None)
        ((prepared, stored),) = result
        if not prepared.resources and not prepared.changed:
            self._add_unchanged(document.uri, prepared.stored_ids)
            return
        self._add(prepared, stored, None, flush=False)
        self._count_written(self._take_waiting(), written)

    # -- what waits ----------------------------------------------------------------------------

    def _add_unchanged(self, uri: str, ids: Sequence[str]) -> None:
        self._ids += ids
        self.items.append(ReadItem(uri=uri, status="unchanged", chunks=len(ids)))

    def _add(
        self,
        prepared: PreparedDocument,
        stored: Collection[str],
        prepare_again: PrepareAgain | None,
        *,
        flush: bool = True,
    ) -> None:
        """Write a document with the next batch. `stored` are ids of resources that are there."""
        new = sum(resource.id not in stored for resource in prepared.resources)
        self._waiting.append(_Waiting(prepared, new, len(self.items), prepare_again))
        item = ReadItem(
            uri=prepared.uri,
            status="read",
            chunks=len(prepared.stored_ids) + len(prepared.resources),
            entities=sum(isinstance(record, Entity) for record in prepared.others),
        )
        self.items.append(item)
        self._size += len(prepared.items)
        if flush and self._size >= BATCH:
            self.flush()

    def _take_waiting(self) -> list[_Waiting]:
        waiting, self._waiting = self._waiting, []
        self._size = 0
        return waiting

    def _write_together(self, waiting: list[_Waiting]) -> None:
        expected: dict[str, int | None] = {}
        for one in waiting:
            expected |= one.prepared.expected

        def work(reads: Reads) -> Items:
            # names may have been given to others since: what counts is the name that is written
            waiting[:] = [_with_free_name(reads, one) for one in waiting]
            items: list[Record | Edge] = []
            deleted: list[str] = []
            links: list[EdgeKey] = []
            for one in waiting:
                items += one.prepared.items
                replaced_ids, replaced_links = _replaced(reads, one.prepared)
                deleted += replaced_ids
                links += replaced_links
            return _with_orphans(reads, items, deleted, links)

        preconditions = Preconditions(records=expected) if expected else None
        self._count_written(waiting, self._update(work, preconditions))

    def _count_written(self, waiting: Sequence[_Waiting], written: Written) -> None:
        self._edges += written.edges
        self._stale += written.stale
        self._stale_ids += written.stale_ids
        for one in waiting:
            prepared = one.prepared
            self._ids += prepared.stored_ids
            self._ids += [resource.id for resource in prepared.resources]
            self._resources += one.new
            for record in prepared.others:
                if isinstance(record, Entity):
                    self._entities.add((labels.key(record.name), record.type))
                self._moments += isinstance(record, Moment)

    # -- names ---------------------------------------------------------------------------------

    def _free_name(self, document: Document, reads: Reads) -> str:
        """The document's title, made unique: edges go by labels and would mix two of one name."""
        uri = document.uri.replace("\\", "/")
        folders = uri.rsplit("/", 2)[1:] if "/" in uri else [uri]
        candidates = (
            document.title,
            f"{document.title} ({folders[-1]})",
            f"{document.title} ({'/'.join(folders)})",
        )
        for name in candidates:
            key = labels.key(documents.label(name))
            if _is_taken(reads, key, document.uri):
                continue
            # nor one that waits to be written
            if self._names.setdefault(key, document.uri) == document.uri:
                return name
        return f"{document.title} ({uri})"


def _with_free_name(reads: Reads, waiting: _Waiting) -> _Waiting:
    if waiting.prepare_again is None:
        return waiting
    prepared = waiting.prepared
    own_names = [
        record.name
        for record in prepared.others
        if isinstance(record, Entity) and "uri" in record.properties
    ]
    if any(_is_taken(reads, labels.key(name), prepared.uri) for name in own_names):
        return replace(waiting, prepared=waiting.prepare_again(reads))
    return waiting


def _is_taken(reads: Reads, key: str, uri: str) -> bool:
    """Whether a document read before, from another place, has the name with this key."""
    return any(
        isinstance(record, Entity)
        and labels.key(record.name) == key
        and record.properties.get("uri", uri) != uri
        for record in reads.records.lookup([key], edges=0)[key]
    )


# -- what is deleted -----------------------------------------------------------------------------


def _replaced(store: Reads, prepared: PreparedDocument) -> tuple[list[str], list[EdgeKey]]:
    """What was read from the same place before and is no longer in it: ids of records, and edges of
    those that reading makes."""
    before = _records_before(store, prepared)
    if not before:
        return [], []
    kept = set(prepared.ids)
    kept_links = {
        (labels.key(edge.src), edge.rel_type, labels.key(edge.dst)) for edge in prepared.edges
    }
    keys = list({labels.key(record.name) for record in before})
    ids = [record.id for record in before if record.id not in kept]
    stored = store.graph.edges(EdgeSpec(keys, direction="out"))
    links = [edge.key for edge in stored if edge.rel_type in edge_types.READ]
    return ids, [link for link in links if link not in kept_links]


def _records_before(store: Reads, prepared: PreparedDocument) -> list[Record]:
    """What a source became when it was read before; nothing of what it only goes on with."""
    before: list[Record] = []
    if prepared.whole:
        before += store.records.chunks(prepared.uri)
    if not before:
        return before
    for moment in store.records.referring([record.id for record in before]):
        if moment.metadata.get("uri") == prepared.uri:
            before.append(moment)
    for kind in ("document", "chat"):
        entity = store.records.get("entities", documents.identity(kind, prepared.uri))
        if entity is not None:
            before.append(entity)
    return before


def _with_orphans(
    reads: Reads,
    items: list[Record | Edge],
    deleted: Sequence[str],
    links: Sequence[EdgeKey],
) -> Items:
    """What is to be written and deleted; with it the entities that nothing leads to any more."""
    if not links:
        return items, deleted, links
    named: set[str] = set()
    for item in items:
        if isinstance(item, Edge):
            named.update((labels.key(item.src), labels.key(item.dst)))
        elif isinstance(item, Entity):
            named.update(keys_of(item))
    records = [reads.records.get(None, id) for id in deleted]
    removed = {record.id: record for record in records if record is not None}
    orphaned = orphans(reads, removed, links, named={dst for _, _, dst in links})
    lost = [entity.id for entity in orphaned if named.isdisjoint(keys_of(entity))]
    return items, [*deleted, *lost], links


def _describe(error: Exception) -> str:
    if isinstance(error, RemloomError):
        return f"{error.message}: {error.remedy}" if error.remedy else error.message
    return f"{type(error).__name__}: {error}"
